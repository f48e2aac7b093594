"""Where the words lie: folders, formats and digests."""

from __future__ import annotations

import hashlib

import pytest

from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import BadFile, BadFormat


def test_shipped_folders_are_found() -> None:
    """The prompts are found wherever the package lies, with the questions of the setup."""
    assert (resources.prompts() / "setup.yaml").is_file()
    assert resources.folder("prompts") == resources.prompts()


def test_a_folder_that_is_not_shipped() -> None:
    """A folder that this installation lacks is told by its name."""
    with pytest.raises(BadFile, match=r"^This installation has no folder nonsense/"):
        resources.folder("nonsense")


def test_a_mapping_is_read_by_its_path() -> None:
    """A file of prompts/ is read by its path there."""
    assert resources.read_yaml("judges/research.yaml")["least"] == 1
    with pytest.raises(BadFile, match=r"judges/none\.yaml"):
        resources.read_yaml("judges/none.yaml")


def test_formats_have_names() -> None:
    """Every folder with a format.yaml is a format, in order."""
    names = resources.format_names()
    assert "adversarial" in names
    assert names == sorted(names)
    assert all((resources.format_folder(name) / "format.yaml").is_file() for name in names)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../formats/adversarial", "Adversarial", "adversarial/", "x\ny", "/tmp"]
)
def test_only_a_name_is_a_format(name: str) -> None:
    """A path or a name that is none is refused in one line, with the names there are."""
    with pytest.raises(BadFormat, match=r"adversarial.*`debate formats` lists them") as refused:
        resources.format_folder(name)
    assert "\n" not in refused.value.complaints[0]


def test_digests_are_those_of_the_bytes() -> None:
    """Every template that a brief of the format may be made of has the sha256 of its file, by its path in prompts/."""
    digests = resources.digests("adversarial")
    assert {"formats/adversarial/opening.md.j2", "shared/judge.md.j2"} <= set(digests)
    made = {name: hashlib.sha256((resources.prompts() / name).read_bytes()).hexdigest() for name in digests}
    assert digests == made
    assert not [name for name in digests if not name.endswith(".j2")]
