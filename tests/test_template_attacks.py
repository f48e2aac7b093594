"""A stranger's template makes text out of plain data, and does nothing else: in a folder, and in a journal."""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import STATED, Run
from own_formats import write_format

from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import format_check
from debate_orchestrator.formats import loader
from debate_orchestrator.prompting import briefs, rendering, templates
from debate_orchestrator.prompting.templates import Function, FunctionContext, Sandbox
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.util import confine
from debate_orchestrator.util.errors import BadFormat, PermanentFailure

pytestmark = pytest.mark.slow

SETUP = (*STATED, "--output=r.md")
NAME = "formats/x/one.j2"


class _Touch:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.system, (f"touch {self.path}",)


@pytest.fixture
def ran(here: Path) -> Path:
    """A file that is there once a template has run a program."""
    return here / "ran"


@pytest.fixture
def attack(ran: Path) -> str:
    """A template that has a model unpickle what runs a program."""
    code = "".join(f"\\x{byte:02x}" for byte in pickle.dumps(_Touch(ran)))
    return f"{{{{ turn.phase.parse_raw('{code}'.encode('latin-1'), proto='pickle', allow_pickle=True) }}}}"


# Programs


def test_a_template_in_a_folder_runs_nothing(debate: Run, here: Path, ran: Path, attack: str) -> None:
    """Checking a format, and opening a debate by it, refuses a template that calls what it can't reach."""
    write_format(here / "mine", speech_md_j2=attack)

    for words in (["formats", "./mine"], ["open", "--format", "./mine", *SETUP]):
        found = debate(*words)
        assert found.code == 2 and "speech.md.j2:1: " in found.err
    assert not ran.exists()


@pytest.fixture
def hostile(debate: Run, here: Path, attack: str) -> str:
    """A journal whose templates were put in by a stranger, as if they had always been there."""
    write_format(here / "mine")
    assert debate("open", "--format", "./mine", *SETUP, "--a", "rehearse", "--b", "rehearse").code == 0
    first = read("r.journal.jsonl").events[0]
    put = dict.fromkeys(first.templates, attack)
    with JournalWriter.create("other.journal.jsonl", first.model_copy(update={"templates": put})):
        return "other.journal.jsonl"


def test_a_template_in_a_journal_runs_nothing(debate: Run, ran: Path, hostile: str) -> None:
    """A journal's templates run nothing, whichever verb continues with it, trusted or not."""
    for trusted in ([], ["--trust"]):
        for words in (
            ["step"],
            ["resume", "--judge", "rehearse"],
            ["judge", "--judge", "rehearse"],
            ["report"],
            ["check"],
        ):
            debate(words[0], hostile, *words[1:], *(trusted if words[0] not in ("report", "check") else []))
            assert not ran.exists(), words


# What can be reached


def debates(folder: Path) -> Iterator[DebateState]:
    """Debates by shipped formats and by one of a user's own, begun and halfway."""
    draft = loader.read_source(str(write_format(folder)))
    assert draft.format is not None
    own = draft.format, loader.own_templates(draft)
    for made, texts in (
        own,
        *(loader.load_with_templates(name) for name in ("adversarial", "claim")),
    ):
        for scenario in (format_check.PLAIN, *format_check.EDGE_CASES):
            yield fold([format_check.sample_opened(made, texts, 2, scenario=scenario)])


def reached(value: object) -> Iterator[object]:
    """A value, and everything that a template gets to from it by an attribute or an item."""
    sandbox, waiting, seen = Sandbox({}), [value], set[int]()
    while waiting:
        one = waiting.pop()
        yield one
        if isinstance(one, str) and id(one) in seen:
            continue
        seen.add(id(one))
        names = {*dir(one), "parse_raw", "__class__", "__globals__", "mro", "format", "gi_frame"}
        for name in names:
            for got in (sandbox.getattr(one, name), sandbox.getitem(one, name)):
                if not isinstance(got, templates.Undefined):
                    assert callable(got) or isinstance(one, dict), (one, name)
                    yield got
        if isinstance(one, dict | list):
            waiting += [sandbox.getitem(one, key) for key in (one if isinstance(one, dict) else range(len(one)))]


def test_a_template_reaches_plain_data_alone(tmp_path: Path) -> None:
    """From every name that a brief provides, nothing can be called but the functions and methods that are listed."""
    methods = {name for listed in templates.METHODS.values() for name in listed}
    count = 0
    for debate in debates(tmp_path / "mine"):
        for turn in debate.due:
            for value in briefs._template_values(debate, turn).values():
                for one in reached(value):
                    count += 1
                    if callable(one):
                        assert isinstance(one, Function)
                        method: Any = one._call
                        assert type(method.__self__) in (dict, str) and method.__name__ in methods
                    else:
                        assert one is None or type(one) in (dict, list, str, int, float, bool)
    assert count > 10_000


@pytest.mark.parametrize("value", [Function(str), object(), os, str.upper, {}.get, b"bytes", Sandbox, len])
def test_only_plain_values_are_handed_over(value: object) -> None:
    """What is not a mapping, list, text or number is not a value for a template."""
    with pytest.raises(TypeError):
        rendering.plain_data({"x": [value]})


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ name.__globals__ }}",
        "{{ name._call.__globals__ }}",
        "{{ fence.__call__.__func__.__globals__ }}",
        "{{ (topic | map(attribute='__class__') | list)[0] }}",
        "{{ ([topic] | groupby('__class__'))[0][0].mro() }}",
        "{{ topic['__class__'] }}",
        "{{ topic | attr('__class__') }}",
        "{{ '{0.__class__}'.format(topic) }}",
        "{{ '{0.__class__}'.format_map({}) }}",
        "{{ topic.encode() }}",
        "{{ positions.update({'a': 'x'}) }}",
        "{{ positions.pop('a') }}",
        "{{ heard.append(1) }}",
        "{{ dict.fromkeys('ab') }}",
        "{{ dict.mro() }}",
        "{{ lipsum() }}",
        "{{ cycler(1).__init__ }}",
        "{{ joiner.__init__.__globals__ }}",
        "{{ self.__init__.__globals__ }}",
        "{{ self._TemplateReference__context }}",
        "{{ self['_TemplateReference__context'] }}",
        "{% for x in [1] %}{{ loop._iterable }}{% endfor %}",
        "{% for x in [1] %}{{ loop.__init__.__globals__ }}{% endfor %}",
        "{% macro m() %}{% endmacro %}{{ m._func.__globals__ }}",
        "{% macro m() %}{{ caller.__init__.__globals__ }}{% endmacro %}{% call m() %}{% endcall %}",
        "{% set n = namespace() %}{{ n.__init__.__globals__ }}",
        "{% set n = namespace() %}{% set n.__class__ = 1 %}{{ n.__class__.mro() }}",
        '{% import "shared/feedback.md.j2" as m with context %}{{ m._body_stream }}',
        '{% include "../../../../etc/passwd" %}',
        '{% include "/etc/passwd" %}',
    ],
)
def test_a_template_gets_nowhere(text: str) -> None:
    """Each way that is known out of a sandbox of templates is refused, here and where a stranger's are rendered."""
    values = {"topic": "Tea", "positions": {"a": "x"}, "heard": [], "feedback": []}
    own = {NAME: text}

    with pytest.raises(
        Exception, match=r"(?i)unsafe|undefined|no attribute|not safely callable|no filter|not found|etc/passwd"
    ):
        Sandbox(own).render([NAME], values, FunctionContext())
    with pytest.raises(BadFormat, match="formats/x/one"):
        rendering.render([NAME], values, FunctionContext(), own)


def test_no_address_in_memory_is_shown() -> None:
    """A block, which can be called, is shown as a function wherever it is within plain data."""
    own = {NAME: "{% block x %}{% endblock %}{{ [self['x'], self.x] }}"}
    assert Sandbox(own).render([NAME], {}, FunctionContext()) == "[<function>, <function>]"
    task = "{% block x %}{{ [super] }}{{ super | trim }}{{ super() }}{% endblock %}"
    own = {NAME: f"{{% extends './base.j2' %}}{task}", "formats/x/base.j2": "{% block x %}Speak.{% endblock %}"}
    assert Sandbox(own).render([NAME], {}, FunctionContext()) == "[<function>]<function>Speak."


# Time and memory

LOOPS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}" * 9
ENDLESS = {
    "time": "{{ 10 ** (10 ** 10) }}",
    "memory": "{{ ('a' * 100000) | replace('', 'b' * 100000) }}",
    "calls": "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
    "length": "{{ 'a' * 5000000 }}",
    "depth": "{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}",
}
"""A template that takes more of something than it may."""


@pytest.mark.parametrize("what", ENDLESS)
def test_a_template_has_its_limits(what: str) -> None:
    """A template that takes too long, too much memory or makes too much is refused; the next one is rendered."""
    own = {NAME: ENDLESS[what]}

    with pytest.raises(BadFormat, match="formats/x/one"):
        rendering.render([NAME], {}, FunctionContext(), own)
    problems = rendering.template_problems({"formats/x/a": "a"} | own, [])
    assert [problem.partition(":")[0] for problem in problems] == [NAME] * (what in ("time", "depth"))  # when compiled
    assert rendering.render([NAME], {"y": "still here"}, FunctionContext(), {NAME: "{{ y }}"}) == "still here"


def test_a_format_that_takes_too_long_is_reported(debate: Run, here: Path) -> None:
    """`formats` says which template takes too long, and ends; the next one is rendered."""
    write_format(here / "mine", speech_md_j2=LOOPS)
    found = debate("formats", "./mine")

    assert found.code == 2 and "speech.md.j2: the template takes too long" in found.err
    assert rendering.render([NAME], {}, FunctionContext(), {NAME: "still here"}) == "still here"

    folded = "{{ 'x' * 200_000_000 }}"  # takes the memory when it is compiled
    found = rendering.template_problems({"formats/x/first": "a", "formats/x/second": folded}, [])
    assert found == ["formats/x/second: the template takes too long, or too much memory."]


def test_the_time_of_a_template_includes_reading_its_values() -> None:
    """A template that does little, over so much data that reading it takes long, is measured with that."""
    values = {"heard": [{"text": "word"}] * 500_000}
    with rendering.measured() as seconds:
        rendering.render([NAME], {}, FunctionContext(), {NAME: "x"})
        before = seconds.total()
        rendering.render([NAME], values, FunctionContext(), {NAME: "x"})
    assert before < 0.05 < seconds.total()


def test_templates_that_take_too_long_only_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """No template is blamed that is within the limits by itself."""

    class Worker:
        def do(self, task: dict[str, Any]) -> dict[str, Any] | None:
            return {"problems": [], "seconds": 0.1} if len(task["templates"]) == 1 else None

    monkeypatch.setattr(rendering, "_worker", Worker)
    found = rendering.template_problems({"formats/x/a": "a", "formats/x/b": "b"}, [])
    assert found == ["The templates together take too long, or too much memory."]


# The process


INSIDE = """
import json, os, socket, subprocess, sys
from debate_orchestrator.prompting import rendering
answer = rendering._answer
def attempt(sandbox, task):
    if "code" not in task["values"]:
        return answer(sandbox, task)
    try:
        return {"text": str(eval(task["values"]["code"]))}
    except PermissionError as error:
        return {"text": f"refused: {error}"}
rendering._answer = attempt
rendering.main()
"""
"""The process that renders templates, with something else done in it when it is as confined as ever."""


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch, here: Path) -> Iterator[Callable[[str], str]]:
    """What becomes of some Python in the process that renders strangers' templates."""
    program = here / "inside.py"
    program.write_text(INSIDE, encoding="utf-8")
    monkeypatch.setattr(confine, "command", lambda module: [sys.executable, "-P", str(program)])
    rendering.end_workers()
    yield lambda code: rendering.render([NAME], {"code": code}, FunctionContext(), {NAME: "x"})
    rendering.end_workers()


FORBIDDEN = (
    "open('/etc/passwd').read()",
    "open('/proc/self/environ').read()",
    "open('made', 'w')",
    "os.listdir('/')",
    "os.mkdir('made')",
    "os.remove('inside.py')",
    "os.chown('inside.py', 0, 0)",
    "os.system('true')",
    "os.fork()",
    "os.kill(os.getppid(), 0)",
    "subprocess.run(['true'])",
    "socket.socket()",
    "socket.getaddrinfo('localhost', 80)",
    "__import__('ctypes').CDLL(None)",
)


def test_the_process_can_do_nothing_else(inside: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a stranger's templates are rendered, no file, program, process or socket is to be had, and nothing of the
    environment but where Python finds its modules."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret-of-mine")

    assert set(inside("' '.join(os.environ)").split()) <= {"PYTHONPATH", "PYTHONUTF8", "LC_CTYPE"}
    assert [code for code in FORBIDDEN if not inside(code).startswith("refused: ")] == []


def test_an_interrupt_leaves_no_answer_behind() -> None:
    """After an interrupt while a template is rendered, the next one gets its own text, not that of the one before."""
    slow = {NAME: "{% for n in range(99999) %}{% for m in range(20) %}{% endfor %}{% endfor %}slow"}
    rendering.render([NAME], {}, FunctionContext(), {NAME: "x"})  # it is there by now
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGALRM)).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            rendering.render([NAME], {}, FunctionContext(), slow)
            time.sleep(60)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert rendering.render([NAME], {}, FunctionContext(), {NAME: "fast"}) == "fast"


def test_a_process_that_does_not_start_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken installation is reported as that, not as a template's fault."""
    code = "raise ImportError('no module named jinja2')"
    monkeypatch.setattr(confine, "command", lambda module: [sys.executable, "-c", code])
    rendering.end_workers()

    with pytest.raises(PermanentFailure, match="can't be started: ImportError: no module named jinja2"):
        rendering.render([NAME], {}, FunctionContext(), {NAME: "x"})


# What comes out

ODD = ("{{ fence }}", "{{ 'x'.upper }}", "{{ dict }}", "{% for n in [1] %}{{ loop }}{% endfor %}")


@pytest.mark.parametrize("text", ODD)
def test_only_plain_values_come_out(text: str) -> None:
    """A template that puts out anything but text, numbers and what is made of them is refused, with its line."""
    with pytest.raises(BadFormat, match=r"one.j2:1: .*plain"):
        rendering.render([NAME], {}, FunctionContext(), {NAME: text})


def test_an_imported_namespace_is_forgotten() -> None:
    """Of what one rendering sets there no other sees anything: it would be the words of another brief."""
    keeps = "{% import './store.j2' as store %}{% set ns = store.ns %}{{ ns.seen }}{% set ns.seen = code %}"
    own = {"mine/store.j2": "{% set ns = namespace(seen='') %}", "mine/one.j2": keeps}
    texts = [rendering.render(["mine/one.j2"], {"code": code}, FunctionContext(), own) for code in ("GZHTTM", "KLMNPQ")]
    assert texts == ["", ""]


# Labels


@pytest.mark.parametrize("label", ["{round.__class__.__init__.__globals__}", "{round:>3000000000}", "{"])
def test_a_label_is_no_program(debate: Run, here: Path, label: str) -> None:
    """A label that a journal carries is shown as it is, but for the numbers of rounds."""
    write_format(here / "mine")
    assert debate("open", "--format", "./mine", *SETUP).code == 0
    first = read("r.journal.jsonl").events[0]
    labels = first.format.announcements.model_copy(update={"round": f"{label} {{round}}", "intervention": label})
    made = first.format.model_copy(update={"announcements": labels})
    with JournalWriter.create("other.journal.jsonl", first.model_copy(update={"format": made})):
        pass
    assert debate("resume", "other.journal.jsonl", "--trust").code == 3  # the host's turns are due
    stepped = debate("step", "other.journal.jsonl", "--json")

    assert stepped.code == 0, stepped.err
    assert f"{label} 1" in json.loads(stepped.out)["show"]
