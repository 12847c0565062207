"""A method is what it gives: the same recordings and marks give the same figures, or the method has another name."""

import json

import pytest

from harness.timing.measure import METHOD
from tests.harness.timing.same_method import FILE, alike, echoes, onsets, recording, staged, timed

KNOWN = json.loads(FILE.read_text(encoding="utf-8"))


def test_the_file_is_of_the_method_as_it_is() -> None:
    assert KNOWN["method"] == METHOD, "write it anew: python -m tests.harness.timing.same_method"
    assert len(KNOWN["recordings"]) > 50


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.long)])
def test_recordings_give_the_figures_that_they_gave(every: int) -> None:
    for seed, figures in list(KNOWN["recordings"].items())[::every]:
        assert alike(timed(recording(int(seed))), figures), f"recording {seed}: other figures; another method?"


def test_marks_give_the_stages_that_they_gave() -> None:
    for seed, stages in KNOWN["marks"].items():
        assert alike(staged(int(seed)), stages), f"marks {seed}: other stages; another method?"


def test_known_onsets_are_missed_by_as_much_as_they_were() -> None:
    for found, known in zip(onsets(), KNOWN["onsets"], strict=True):
        assert alike(found, known, 0.05), f"{known[0]}: {found[1:]} and not {known[1:]}; another method?"


def test_echoes_are_taken_away_as_they_were() -> None:
    for k, (found, known) in enumerate(zip(echoes(), KNOWN["echoes"], strict=True)):
        assert alike(found, known), f"echo {k}: other figures; another method?"
