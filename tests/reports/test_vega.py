"""The drawing code that ships is what vl-convert makes, and pages need nothing else; pictures say which extra they need."""

import sys
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import pytest

from benchmarks.vega_bundle import PLACE, bundle
from harness import installation
from harness.cli import main
from harness.installation import install_command
from harness.reports.page_files import LICENCES, vega_script


def test_the_file_that_ships_is_what_vl_convert_makes() -> None:
    assert PLACE.read_text(encoding="utf-8") == bundle(), (
        f"vl-convert {version('vl-convert-python')}: benchmarks/vega_bundle.py"
    )


def test_its_licences_lie_beside_it() -> None:
    text = files("harness.reports").joinpath("page", LICENCES).read_text(encoding="utf-8")
    assert all(name in text for name in ("Vega-Lite", "Vega-Embed", "D3", "BSD-3-Clause", "University of Washington"))


def test_it_can_stand_in_a_page() -> None:
    assert "</script" not in vega_script()
    assert "window.vegaEmbed" in vega_script()


@pytest.mark.parametrize(
    "asked",
    [
        ["scenarios", "check", "heart-mini", "--turn-taking", "--picture", "told.png"],
    ],
)
def test_pictures_without_their_extra_are_refused_in_one_line(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["harness", *asked])
    monkeypatch.setattr(installation, "find_spec", lambda _: None)
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    told = capsys.readouterr().err
    assert install_command("pictures") in told
    assert len(told.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())
