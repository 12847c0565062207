"""What the list of dependencies says of licences is what the installed packages say of themselves."""

from importlib.metadata import distribution

import pytest

from tests.installation.conftest import ROOT

LISTED = (ROOT / "docs" / "decisions" / "dependencies.md").read_text(encoding="utf-8")


def row(name: str) -> str:
    return next(line for line in LISTED.splitlines() if line.startswith("| ") and f"`{name}`" in line.split("|")[1])


@pytest.mark.parametrize("name", ["piper-tts", "praat-parselmouth", "krippendorff"])
def test_a_package_under_the_gpl_is_listed_as_such(name: str) -> None:
    facts = distribution(name).metadata
    said = " ".join(text for field in ("License-Expression", "License", "Classifier") for text in facts.get_all(field) or [])
    assert "GPL" in said
    assert "GPL" in row(name)


def test_codecs_under_the_gpl_that_a_wheel_holds_are_named() -> None:
    held = {codec for file in distribution("av").files or [] for codec in ("x264", "x265") if f"lib{codec}" in file.name}
    assert {codec for codec in ("x264", "x265") if codec in row("av")} >= held
    assert not held or "GPL" in row("av")
