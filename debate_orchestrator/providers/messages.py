"""An answer of the Messages API, put together from its stream, with every field looked at before it is believed."""

from __future__ import annotations

from typing import Any, Literal

from debate_orchestrator.core.events import FoundPage, Reply, Usage
from debate_orchestrator.providers import pricing
from debate_orchestrator.providers.sse import clean
from debate_orchestrator.util.data import strict_json

_ENDED: dict[str, Literal["whole", "cut", "refused"]] = {
    "end_turn": "whole",
    "stop_sequence": "whole",
    "pause_turn": "cut",
    "max_tokens": "cut",
    "model_context_window_exceeded": "cut",
    "refusal": "refused",
}
_ADDED_BY = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial", "partial_json"),
}
"""The kind of a delta to the field of a block that it adds to, and its own field that holds what it adds."""
_PAGES, _CITED = 40, 200
"""Pages that were found, and citations, of which a reply tells: a search returns ten pages, and there are five."""
_LONGEST = 10_000
"""Characters that such a page may have in it, and that a server may say of itself and of how an answer ended."""


class Answer:
    """One answer, as far as it has come; it goes on from `before` where that was handed back to be continued."""

    def __init__(self, before: Answer | None = None):
        self.stop: str | None = None
        self.odd: str | None = None
        """What can't be part of an answer, where something of that kind came."""
        self.length = self.came = 0
        self._model: str | None = None
        self._ended = False
        self._why = ""
        self._blocks: dict[int, dict[str, Any]] = {}
        """The blocks as they began, by their numbers."""
        self._added: dict[int, dict[str, list[str]]] = {}
        """What was added to fields of a block since, in pieces, so that many small ones take no longer than a few."""
        self._cited: list[FoundPage] = []
        self._usage: dict[str, int] = {}
        self._counted = False
        self._earlier = before if before is not None and before.stop else None
        if self._earlier is not None:
            self.length, self.came = self._earlier.length, self._earlier.came

    def take(self, event: Any) -> list[str]:
        """Takes one event of the stream; what it adds to the text. What is of no known kind adds nothing."""
        match getattr(event, "type", None):
            case "message_start":
                message = getattr(event, "message", None)
                self._model = _text(getattr(message, "model", None))[:_LONGEST] or None
                self._count(getattr(message, "usage", None))
                return [""]
            case "content_block_start":
                return self._begin(_number(getattr(event, "index", None)), getattr(event, "content_block", None))
            case "content_block_delta":
                return self._grow(_number(getattr(event, "index", None)), getattr(event, "delta", None))
            case "message_delta":
                delta = getattr(event, "delta", None)
                self.stop = _text(getattr(delta, "stop_reason", None))[:_LONGEST] or self.stop
                details = getattr(delta, "stop_details", None)
                self._why = _text(getattr(details, "explanation", None))[:_LONGEST] or self._why
                self._count(getattr(event, "usage", None))
            case "message_stop":
                self._ended = True
        return []

    def _begin(self, index: int, block: Any) -> list[str]:
        dump = getattr(block, "model_dump", dict)
        try:
            kept = dump(mode="json", exclude_none=True, warnings=False)  # a warning quotes what a server sent
        except ValueError:
            self.odd = "a block that is no plain data"
            return []
        self._blocks[index], self._added[index] = kept, {}
        self.came += sum(len(str(value)) for name, value in kept.items() if name != "type")
        text = _text(kept.get("text")) if kept.get("type") == "text" else ""
        self.length += len(text)
        return [text] if text else []

    def _grow(self, index: int, delta: Any) -> list[str]:
        if getattr(delta, "type", None) == "citations_delta":
            self._cite(getattr(delta, "citation", None))
            return []
        field, name = _ADDED_BY.get(_text(getattr(delta, "type", None)), ("", ""))
        if not (piece := _text(getattr(delta, name, None)) if name else ""):
            return []
        self._blocks.setdefault(index, {"type": "text", "text": ""})
        added = self._added.setdefault(index, {})
        if field == "signature":
            added.pop(field, None)  # it comes whole
        added.setdefault(field, []).append(piece)
        self.came += len(piece)
        if field != "text":
            return []
        self.length += len(piece)
        return [piece]

    def _cite(self, citation: Any) -> None:
        url, title, quote = (_text(getattr(citation, name, None)) for name in ("url", "title", "cited_text"))
        if url and len(url + title + quote) <= _LONGEST and len(self._cited) < _CITED:
            self._cited.append(FoundPage(url=url, title=title, quote=quote))
        self.came += len(url + title + quote)

    def _whole(self) -> list[dict[str, Any]]:
        """The blocks with all that was added to them."""
        return [
            block | {field: _text(block.get(field)) + "".join(pieces) for field, pieces in self._added[index].items()}
            for index, block in self._blocks.items()
        ]

    def _count(self, usage: Any) -> None:
        """Takes the counts of an event; those of a stream are sums so far."""
        if usage is None:
            return
        self._counted = self._counted or isinstance(getattr(usage, "input_tokens", None), int)
        counts = {name: getattr(usage, name, None) for name in ("input_tokens", "output_tokens")}
        counts["cached"] = getattr(usage, "cache_read_input_tokens", None)
        counts["written"] = getattr(usage, "cache_creation_input_tokens", None)
        kept = getattr(usage, "cache_creation", None)
        counts["written_hour"] = getattr(kept, "ephemeral_1h_input_tokens", None)
        tools = getattr(usage, "server_tool_use", None)
        counts["searches"] = getattr(tools, "web_search_requests", None)
        self._usage |= {name: n for name, n in counts.items() if type(n) is int and 0 <= n < 1 << 53}

    def wrong(self) -> str | None:
        """Why this is no answer; None where it is one."""
        if self.odd:
            return self.odd
        if not self._ended:
            return "a stream that ended in the middle" if self._model or self._blocks else "nothing that is an answer"
        return "an answer that does not say how it ended" if self.stop is None else None

    @property
    def text(self) -> str:
        """The text of the answer, of all its blocks."""
        earlier = self._earlier.text if self._earlier else ""
        return earlier + "".join(_text(one.get("text")) for one in self._whole() if one.get("type") == "text")

    @property
    def usage(self) -> Usage | None:
        """What was counted; None where the server counted nothing."""
        n = self._usage
        hour = min(n.get("written_hour", 0), n.get("written", 0))
        own = Usage(
            fresh=n.get("input_tokens", 0),
            cached=n.get("cached", 0),
            written=n.get("written", 0) - hour,
            written_hour=hour,
            output=n.get("output_tokens", 0),
            searches=n.get("searches", 0),
        )
        earlier = self._earlier.usage if self._earlier else None
        return own + earlier if earlier else own if self._counted else None

    def reply(self, spec: str, lacked: list[str]) -> Reply:
        """The answer as a reply. A refusal's words are its explanation where it said nothing else."""
        usage = self.usage
        ended = _ENDED.get(self.stop or "", "whole")
        return Reply(
            text=self.text or (self._why if ended == "refused" else ""),
            brief="",
            by=spec,
            model=self._model,
            usage=usage,
            stop=self.stop,
            ended=ended,
            cost=pricing.cost(spec, usage) if usage else 0.0 if pricing.free(spec) else None,
            found=tuple(self._pages().values()),
            lacked=tuple(lacked),
        )

    def partial(self, spec: str) -> Reply | None:
        """What has come of an answer that broke off; None where nothing had, so that nothing can have cost."""
        return self.reply(spec, []) if self._model or self._blocks else None

    def _pages(self) -> dict[str, FoundPage]:
        """The pages that searches returned, by address, with what the text cites of them."""
        pages = dict(self._earlier._pages()) if self._earlier else {}
        for block in self._blocks.values():
            content = block.get("content")
            for one in content if isinstance(content, list) else ():
                if not isinstance(one, dict) or len(pages) == _PAGES:
                    continue
                url, title = _text(one.get("url")), _text(one.get("title"))
                if url and len(url + title) <= _LONGEST:
                    pages.setdefault(url, FoundPage(url=url, title=title))
        return pages | {one.url: one for one in self._cited}

    def blocks_to_resend(self) -> list[dict[str, Any]]:
        """The blocks as the provider takes them back to go on: without citations, and with whole inputs."""
        made = []
        for block in self._whole():
            kept = {key: value for key, value in block.items() if key not in ("partial", "citations")}
            if "partial" in block:
                kept["input"] = _json(block["partial"])
            if kept.get("type") != "text" or kept.get("text"):
                made.append(kept)
        return made


def _json(text: str) -> Any:
    try:
        return strict_json(text)
    except ValueError:
        return {}


def _text(value: Any) -> str:
    """`value` if it is text, with halves of characters replaced, which no file could hold."""
    return clean(value) if isinstance(value, str) else ""


def _number(value: Any) -> int:
    return value if type(value) is int else 0
