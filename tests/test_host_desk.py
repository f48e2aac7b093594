"""The turns folder: a reply counts only beside the very brief that is due."""

from __future__ import annotations

from pathlib import Path

import pytest

from debate_orchestrator.host.turns_folder import TurnFiles, TurnsFolder
from debate_orchestrator.util.errors import BadReply


@pytest.fixture
def desk(here: Path) -> TurnsFolder:
    return TurnsFolder("d.turns")


@pytest.fixture
def laid(desk: TurnsFolder) -> TurnFiles:
    return desk.place("1.opening.a", "text")


def test_places_are_named_after_the_turn(desk: TurnsFolder) -> None:
    """Brief and reply lie in the folder under the turn's id; a structured reply ends in .json."""
    assert desk.place("1.opening.a", "text")[1:] == ("d.turns/1.opening.a.brief.md", "d.turns/1.opening.a.reply.md")
    assert desk.place("1.verdict.judge", "json").reply == "d.turns/1.verdict.judge.reply.json"


def test_nothing_is_made_before_a_brief_is_laid(desk: TurnsFolder, laid: TurnFiles) -> None:
    """Looking for a reply makes no folder."""
    assert desk.collect(laid, "brief") is None
    assert not Path("d.turns").exists()


def test_a_reply_beside_its_brief_counts(desk: TurnsFolder, laid: TurnFiles) -> None:
    """A reply is collected where the brief in place is the one that is due, and laying it again changes nothing."""
    desk.lay(laid, "brief")
    Path(laid.reply).write_text("speech")

    assert desk.lay(laid, "brief") is None
    assert desk.collect(laid, "brief") == "speech"


def test_a_reply_to_another_brief_does_not_count(desk: TurnsFolder, laid: TurnFiles) -> None:
    """A reply to an earlier brief of the same turn is not taken; it is kept aside when the new one is laid."""
    desk.lay(laid, "old brief")
    Path(laid.reply).write_text("old speech")

    assert desk.collect(laid, "new brief") is None
    assert "this reply was there before its brief, or answers an earlier one" in (desk.lay(laid, "new brief") or "")
    assert Path("d.turns/1.opening.a.reply.aside-1.md").read_text() == "old speech"
    assert not Path(laid.reply).exists()


def test_nothing_kept_aside_is_lost(desk: TurnsFolder, laid: TurnFiles) -> None:
    """Every reply that is set aside keeps a file of its own."""
    for n in range(3):
        desk.lay(laid, f"brief {n}")
        Path(laid.reply).write_text(f"speech {n}")
    desk.lay(laid, "the last brief")

    assert sorted(path.read_text() for path in Path("d.turns").glob("*aside*")) == ["speech 0", "speech 1", "speech 2"]


def test_a_folder_in_place_of_a_reply(desk: TurnsFolder, laid: TurnFiles) -> None:
    """What can't be read as a file is a complaint that names it."""
    desk.lay(laid, "brief")
    Path(laid.reply).mkdir()

    with pytest.raises(BadReply, match=r"reply\.md can't be read as a reply \(Is a directory\)"):
        desk.collect(laid, "brief")
