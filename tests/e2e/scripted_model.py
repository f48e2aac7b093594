"""A stand-in for the Messages API that plays a host's model and its sub-agents from a script.

It knows only what the client sends: the turns and the paths come from the tool results in a request, never from the
disk. What it says next follows from the conversation so far, so a request that is sent again gets the same answer.
"""

from __future__ import annotations

import json
import re
import shlex
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from local_http import Answer, Asked, answering
from reply_codes import coded

Block = dict[str, Any]
"""One content block of a message."""
BRIEF = re.compile(r"\S+\.brief\.md")
ISSUES = {
    "key": "issues",
    "question": "Continue with this list of issues?",
    "header": "Issues",
    "options": [{"label": label, "description": label} for label in ("Go on", "Change it")],
}
"""The question that the skill has the model put after the rapporteur's list."""
JOURNAL = re.compile(r"\S+\.journal\.jsonl")
"""A brief's path, which a sub-agent is handed in its first message and the host's model is not."""


@dataclass(frozen=True)
class Call:
    """One use of a tool, and what it gave back."""

    id: str
    tool: str
    given: dict[str, Any]
    result: str
    failed: bool


@dataclass(frozen=True)
class Conversation:
    """What a request tells about its conversation."""

    begun: str
    """What the user said first."""
    heard: str
    """What the user said last."""
    shown: str
    """All text in messages of the user's, among them what the client puts there."""
    last: tuple[Call, ...]
    """The uses of tools in the model's last message."""
    calls: tuple[Call, ...]
    """All uses of tools."""

    @classmethod
    def of(cls, request: dict[str, Any]) -> Conversation:
        """The conversation that a request carries on."""
        messages = request["messages"]
        user = [_blocks(one["content"]) for one in messages if one["role"] == "user"]
        model = [_blocks(one["content"]) for one in messages if one["role"] == "assistant"]
        results = {block["tool_use_id"]: block for said in user for block in said if block["type"] == "tool_result"}
        calls = [tuple(_call(use, results) for use in said if use["type"] == "tool_use") for said in model]
        texts = [_text(said) for said in user]
        return cls(
            begun=_words(texts[0]),
            heard=_words(texts[-1]),
            shown="\n".join(texts),
            last=calls[-1] if calls else (),
            calls=tuple(call for said in calls for call in said),
        )


def _call(use: Block, results: dict[str, Block]) -> Call:
    result = results.get(use["id"], {})
    text, failed = _text(result.get("content", "")), bool(result.get("is_error"))
    return Call(id=use["id"], tool=use["name"], given=use["input"], result=text, failed=failed)


def _blocks(content: str | list[Block]) -> list[Block]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _text(content: str | list[Block]) -> str:
    return "\n".join(block["text"] for block in _blocks(content) if block["type"] == "text")


def _words(text: str) -> str:
    """The text without what the client put there."""
    return re.sub(r"(?s)<system-reminder>.*?</system-reminder>", "", text).strip()


def say(text: str) -> Block:
    """Words for the user."""
    return {"type": "text", "text": text}


def use(tool: str, **given: Any) -> Block:
    """A use of a tool."""
    return {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": tool, "input": given}


class Lost(Exception):
    """The client sent something that the script has no answer to."""


@dataclass
class Script:
    """The host's model does what the skill says; each of its sub-agents takes the one turn that it was given."""

    reply: Callable[[str, str], str]
    """A turn's id and a sub-agent's name to the sub-agent's reply."""
    skill: str = "debate-orchestrator"
    agent: str = "general-purpose"
    """The type of its sub-agents."""
    background: bool | None = False
    """Whether its sub-agents are started in the background; None at the terminal, where the model can't choose."""
    stops_at: str = ""
    """The turn before which it ends the session, if there is one."""
    written: dict[str, dict[str, str]] = field(default_factory=dict)
    """By turn: the replies that were written, by the sub-agent that wrote them."""
    printed: list[dict[str, Any]] = field(default_factory=list)
    """What `debate` printed in the last session, in order."""

    def __call__(self, request: dict[str, Any]) -> list[Block]:
        talk = Conversation.of(request)
        for call in talk.last:
            if call.failed:
                raise Lost(f"{call.tool} {call.given} failed: {call.result}")
        handed = BRIEF.search(talk.begun)
        return self._sub_agent(talk, handed[0]) if handed else self._host(talk)

    def _host(self, talk: Conversation) -> list[Block]:
        if not talk.calls:
            return [use("Skill", skill=self.skill)]
        self.printed = [_printed(call) for call in talk.calls if call.tool == "Bash"]
        if not self.printed:
            begun = JOURNAL.search(talk.begun)
            return [_bash(f"debate step {begun[0]} --json") if begun else _ask(topic=talk.begun)]
        now = self.printed[-1]
        if now["complaints"]:
            raise Lost(f"debate complained: {now['complaints']}")
        if talk.last[-1].tool == "AskUserQuestion" and "questions" not in now:
            return self._settle_issues(now, talk)
        if talk.last[-1].tool == "AskUserQuestion":
            return [_ask(**_answers(now["questions"], talk.last[-1].result))]
        return [say(line) for line in ["\n".join(now.get("show", []))] if line] + self._next(now, talk)

    def _next(self, now: dict[str, Any], talk: Conversation) -> list[Block]:
        match now["status"]:
            case "ask":
                return [_dialog(now["questions"])]
            case "ready":
                return [_bash(f"debate open --answers {shlex.quote(now['answers'])} --json")]
            case "waiting" if _lists_issues(now):
                return [_dialog([ISSUES])]
            case "propose" | "waiting":
                if self.stops_at in [turn["turn"] for turn in now["turns"]]:
                    return [say("I stop here.")]
                handed = [call.given["description"] for call in talk.calls if call.tool == "Agent"]
                agents = [_agent(turn, talk, self) for turn in now["turns"] if turn["turn"] not in handed]
                return [*agents, _bash("debate ask debate.yaml --dialog --wait") if "answers" in now else _step(now)]
            case "done":
                return [say(now["summary"])]
        raise Lost(f"debate printed the status {now['status']}")

    def _settle_issues(self, now: dict[str, Any], talk: Conversation) -> list[Block]:
        """What the user wants of the list of issues, of which the script's user strikes all but two."""
        if _answers([ISSUES], talk.last[-1].result)["issues"] == "Go on":
            return self._next({**now, "accepted": []}, talk)
        return [_bash(f"debate step {shlex.quote(now['journal'])} --json --issues I2 I1 'Who pays?'")]

    def _sub_agent(self, talk: Conversation, brief: str) -> list[Block]:
        if not talk.last:
            return [use("Read", file_path=brief)]
        if talk.last[0].tool == "Write":
            return [say("done")]
        # Only one answer to a sub-agent's first request goes on: the id of the tool use in it names the sub-agent.
        name = talk.last[0].id
        text = " ".join(re.sub(r"(?m)^\s*\d+[\t→]", "", talk.last[0].result).split())
        turn, place = re.search(r"\(turn ([\w.-]+)\)", text), re.search(r"file `([^`]+)` in the folder of this", text)
        if not turn or not place:
            raise Lost(f"this brief names no turn, or no place for its reply: {text[:500]}")
        words = coded(text, self.reply(turn[1], name))
        self.written.setdefault(turn[1], {})[name] = words
        return [use("Write", file_path=str(PurePath(brief).with_name(place[1])), content=words)]


def _lists_issues(now: dict[str, Any]) -> bool:
    return any(reply["turn"].startswith("start.issues.") for reply in now["accepted"])


def _ask(**answers: str) -> Block:
    given = [shlex.quote(f"{key}={answer}") for key, answer in answers.items()]
    return _bash(" ".join(["debate ask debate.yaml --dialog", *given]))


def _dialog(questions: list[dict[str, Any]]) -> Block:
    """All questions in one dialog, as they were printed but for their keys."""
    named = ("question", "header", "options")
    asked = [{name: one[name] for name in named} | {"multiSelect": False} for one in questions]
    return use("AskUserQuestion", questions=asked)


def _answers(questions: list[dict[str, Any]], text: str) -> dict[str, str]:
    """By key, what the tool tells that the user chose."""
    chosen = {one["key"]: re.search(re.escape(f'"{one["question"]}"="') + '([^"]*)"', text) for one in questions}
    if lost := [key for key, answer in chosen.items() if answer is None]:
        raise Lost(f"the dialog gave no answer to {lost}: {text}")
    return {key: answer[1] for key, answer in chosen.items() if answer}


def _step(now: dict[str, Any]) -> Block:
    return _bash(f"debate step {shlex.quote(now['journal'])} --json --wait")


def _bash(command: str) -> Block:
    return use("Bash", command=command, description="Continue with the debate")


def _agent(turn: dict[str, Any], talk: Conversation, script: Script) -> Block:
    wording = re.search(r"(?m)^ {4,}(.*<turn\.brief>.*)$", talk.shown)
    if wording is None:
        raise Lost("the skill does not say how to put a turn to a sub-agent")
    prompt = wording[1].replace("<turn.brief>", turn["brief"])
    chosen = {} if script.background is None else {"run_in_background": script.background}
    return use("Agent", description=turn["turn"], prompt=prompt, subagent_type=script.agent, **chosen)


def _printed(call: Call) -> dict[str, Any]:
    try:
        # What the launcher says while it installs the command is before.
        value: dict[str, Any] = json.loads(call.result[call.result.index("{") :])
    except ValueError:
        raise Lost(f"{call.given['command']} printed no JSON: {call.result[:2000]}") from None
    return value


class Served:
    """A running stand-in: where it is, what it was sent, and what it could not answer."""

    def __init__(self, decide: Callable[[dict[str, Any]], list[Block]]):
        self.decide = decide
        self.url = ""
        self.requests: list[dict[str, Any]] = []
        self.problems: list[str] = []
        self._lock = threading.Lock()

    def answer(self, request: dict[str, Any]) -> list[Block] | None:
        """What the model says to a request; None if it has no answer, which is then among the problems."""
        with self._lock:
            self.requests.append(request)
            try:
                return self.decide(request)
            except Exception as error:
                self.problems.append(f"{type(error).__name__}: {error}")
                return None


@contextmanager
def serve(decide: Callable[[dict[str, Any]], list[Block]]) -> Iterator[Served]:
    """Answers on a free port of this machine for as long as the context lasts."""
    served = Served(decide)

    def respond(asked: Asked) -> Answer:
        path = asked.path.partition("?")[0]
        if asked.method != "POST" or path != "/v1/messages":
            return _answer(200, {"input_tokens": 1} if asked.method == "POST" else {})
        request = json.loads(asked.body)
        if (blocks := served.answer(request)) is None:
            error = {"type": "invalid_request_error", "message": served.problems[-1]}
            return _answer(400, {"type": "error", "error": error})
        message = _message(blocks, request)
        if request.get("stream"):
            return 200, {"Content-Type": "text/event-stream"}, _stream(message)
        return _answer(200, message)

    with answering(respond) as served.url:
        yield served


def _answer(status: int, value: dict[str, Any]) -> Answer:
    body = json.dumps(value).encode()
    return status, {"Content-Type": "application/json", "Content-Length": str(len(body))}, [body]


def _message(blocks: list[Block], request: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"msg_{uuid.uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": blocks,
        "stop_reason": "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _stream(message: dict[str, Any]) -> Iterator[bytes]:
    start = {**message, "content": [], "stop_reason": None}
    yield _event("message_start", message=start)
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            partial = json.dumps(block["input"])
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": partial}
        yield _event("content_block_start", index=index, content_block=empty)
        yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    end = {key: message[key] for key in ("stop_reason", "stop_sequence")}
    yield _event("message_delta", delta=end, usage=message["usage"])
    yield _event("message_stop")


def _event(name: str, **data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()
