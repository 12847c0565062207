"""Parts of a method on the edges of their rules: other results are another method."""

import json

import pytest

from harness.timing.measure import METHOD
from tests.harness.timing.same_method import alike
from tests.harness.timing.same_parts import CASES, FILE, PARTS, WITHIN, found

KNOWN = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("part", PARTS)
def test_a_part_gives_what_it_gave(part: str) -> None:
    assert KNOWN["method"] == METHOD, "write it anew: python -m tests.harness.timing.same_parts"
    assert len(KNOWN[part]) == CASES[part]
    for k, (now, known) in enumerate(zip(found(part), KNOWN[part], strict=True)):
        assert known is None or alike(now, known, WITHIN.get(part, 1e-6)), f"{part} {k}: {now} and not {known}; another method?"


def test_the_cases_are_of_every_kind() -> None:
    owed, turns, calls, *_ = zip(*KNOWN["machine"], strict=True)
    assert all(any(one is None for one in column) and any(one is not None for one in column) for column in (owed, turns, calls))
    assert any(row[4] for row in KNOWN["machine"])
    assert {row[0]["fate"] for row in KNOWN["event"]} == {"not_sounding", "went_on", "stopped", "spoke_again"}
    assert {mark[0] for row in KNOWN["chosen"] for mark in row} >= {"llm_requested", "tts_first_audio", "turn_decided"}
    assert sum(at_ms is not None for at_ms in KNOWN["onset"]) > CASES["onset"] // 2
    assert len({row[1] for row in KNOWN["pauses"]}) > 10
