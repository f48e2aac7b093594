"""What the tests share: a folder to be in, and the command line as a function."""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import settings

from debate_orchestrator.cli import main
from debate_orchestrator.host import turns_folder
from debate_orchestrator.util import redact, signals
from debate_orchestrator.util.redact import StreamRedactor

if TYPE_CHECKING:
    from evidence_site import Site
    from messages_server import Server
    from postgres import Postgres

# Where a change is judged, it is judged by the same examples every time; at a desk, others come with every run. There
# are more of them with `--hypothesis-profile=thorough`, as in `.ci/run`.
for _name, _examples in (("quick", 10), ("thorough", 25)):
    settings.register_profile(_name, deadline=None, max_examples=_examples, derandomize="CI" in os.environ)
settings.load_profile("quick")


class CommandResult(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., CommandResult]
MODEL_VARIABLES = {
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_FEDERATION_RULE_ID",
    "ANTHROPIC_BASE_URL", "OPENROUTER_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_API_KEY",
}  # fmt: skip
STATED = ("--topic=T", "--position-a=It is so.", "--position-b=It is not so.", "--no-issues", "--no-brief")
"""Flags of a debate in which nothing is to be settled before the first speech."""


@pytest.fixture(autouse=True)
def no_signal_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """No signal came in the second before a test."""
    monkeypatch.setattr(signals, "_last_signal", signals._LastSignal())


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def standard_input(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], None]]:
    """Puts a text on standard input."""
    folder = tmp_path_factory.mktemp("input")
    with ExitStack() as stack:

        def put(text: str) -> None:
            path = folder / "text"
            path.write_text(text, encoding="utf-8")
            monkeypatch.setattr(sys, "stdin", stack.enter_context(open(path, encoding="utf-8")))

        yield put


@pytest.fixture
def no_models(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, profile, server or program by which a model could be called."""
    for name in os.environ.keys() & MODEL_VARIABLES:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(here / "nothing"))
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    monkeypatch.setenv("PATH", str(here / "no programs"))


@pytest.fixture
def debate(here: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs `debate` in the working directory, with nothing at its terminal."""

    def run(*arguments: str) -> CommandResult:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        out, err = capfd.readouterr()
        return CommandResult(int(ended.value.code or 0), out, err)

    return run


@pytest.fixture
def answers(here: Path) -> Path:
    """An answers file for a strict debate of two rounds that the host runs, without issues and decision brief."""
    path = here / "answers.yaml"
    path.write_text(
        "topic: Tabs are better than spaces.\n"
        "positions: {a: Indent with tabs., b: Indent with spaces.}\n"
        "rounds: 2\nstrictness: strict\noutput: report.md\nissues: false\nbrief: false\n",
        encoding="utf-8",
    )
    return path


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that is not below the working folder, with a file in it."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "private.md").write_text("private words", encoding="utf-8")
    return folder


@pytest.fixture
def site() -> Iterator[Site]:
    """A web site on this machine with an article."""
    from evidence_site import ARTICLE, answer, serving

    with serving() as site:
        site.says["/"] = answer(ARTICLE)
        yield site


def stream_text(*pieces: str) -> str:
    """What a listener hears of these pieces of an answer, without secrets."""
    heard: list[str] = []
    redactor = StreamRedactor(heard.append)
    for piece in pieces:
        redactor.feed(piece)
    redactor.end()
    return "".join(heard)


@pytest.fixture
def opened(debate: Run, answers: Path) -> dict[str, Any]:
    """A debate whose first brief is in the turns folder."""
    ran = debate("open", "--answers", "answers.yaml", "--json")
    assert ran.code == 0, ran.err
    output: dict[str, Any] = ran.json
    return output


def finish(debate: Run, output: dict[str, Any], say: Any = None, **terms: Any) -> dict[str, Any]:
    """Plays a host-run debate to its end from what `open` or `step` printed; every step must be clean."""
    import scripted_replies

    while output["status"] == "waiting":
        scripted_replies.answer(output["turns"], say, root=Path(os.curdir), **terms)
        ran = debate("step", output["journal"], "--json")
        assert ran.code == 0, ran.err
        output = ran.json
    return output


_FINISHED_FILES: dict[Path, bytes] = {}
_KEY = Path("debate-orchestrator", "reply.key")
"""The machine's secret, in the state folder, by which the replies of a debate were read."""


def place_finished_debate(debate: Run) -> None:
    """Lays here all that the debate of `answers` leaves when it is finished; it is held once for all that ask."""
    if not _FINISHED_FILES:
        finish(debate, debate("open", "--answers", "answers.yaml", "--json").json, rounds=2)
        _FINISHED_FILES.update({path: path.read_bytes() for path in Path().rglob("*") if path.is_file()})
        _FINISHED_FILES[_KEY] = (Path(os.environ["XDG_STATE_HOME"]) / _KEY).read_bytes()
    for path, data in _FINISHED_FILES.items():
        target = Path(os.environ["XDG_STATE_HOME"]) / path if path == _KEY else path
        target.parent.mkdir(exist_ok=True, parents=True)
        target.write_bytes(data)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file of slow tests alone is not even imported where they are not run."""
    if config.option.markexpr != "not slow" or collection_path.suffix != ".py":
        return None
    return "\npytestmark = pytest.mark.slow\n" in collection_path.read_text(encoding="utf-8") or None


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are cores, and four at most: while one waits for a server or for a process, another
    goes on."""
    return min(4, (os.cpu_count() or 1) + 1)


def pytest_configure() -> None:
    """The workers of a run and the commands that its tests start don't compile the same files again and again, and
    nothing that they write has to outlast a power cut."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    os.fsync = os.fdatasync = lambda handle: None
    os.environ["LANGUAGE"] = "C"  # argparse looks for translations of every word of every help, on the disk
    gc.disable()  # until all is collected: what is imported stays


def pytest_sessionfinish() -> None:
    """What the last test left is given back as the process ends, without a search for garbage before that."""
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests begin first: a worker that began one of them last would keep the others waiting."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """What is there before the first test is there after the last: the collector need not look through it. It looks
    through the rest more rarely than it would in a program that runs for long, since a test leaves little
    after, and more often than while many debates run, which is told apart."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def session_environment(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What fixtures of a wider scope do is not remembered in the state folder of the person who runs the tests, whose
    own Ollama decides about no price. A reply that a test writes is whole: no step waits for its end."""
    turns_folder._QUIET_SECONDS = 0.0
    for name in ("OLLAMA_HOST", "OLLAMA_API_KEY"):
        os.environ.pop(name, None)
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.getbasetemp() / "state")


_NUMBERS = count()


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret that was learned from a file or a header, and what is remembered between conversations, is known to one
    test alone. The folder for it is made when something is remembered: most tests remember nothing."""
    monkeypatch.setattr(redact, "_learned", set())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / f"state{next(_NUMBERS)}"))


@pytest.fixture
def plain_server(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server in the vendor's place, which says what it says by itself."""
    from messages_server import Server, serving

    with serving(Server()) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
        yield server


@pytest.fixture
def server(plain_server: Server) -> Server:
    """A server in the vendor's place, whose models take part in tournaments."""
    import small_tournaments

    plain_server.say = small_tournaments.replied
    return plain_server


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals of ratings, where a test does not look at their exact ends, are made of few draws."""
    monkeypatch.setattr("debate_orchestrator.tournament.ratings._RESAMPLE_COUNT", 20)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    """A PostgreSQL server; skips where it is not installed, and fails there where CI=true."""
    import postgres

    programs = postgres.binaries()
    if programs is None:
        assert os.environ.get("CI") != "true", "PostgreSQL is not installed"
        pytest.skip("PostgreSQL (initdb, pg_ctl) is not installed")
    with postgres.running(programs) as server:
        yield server


@pytest.fixture
def database(postgres_server: Postgres) -> str:
    """The name of an empty database."""
    return postgres_server.database()


@pytest.fixture
def url(postgres_server: Postgres) -> str:
    """The address of an empty database."""
    return postgres_server.url(postgres_server.database())
