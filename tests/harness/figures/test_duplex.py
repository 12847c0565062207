"""The figures of a full-duplex agent: shares of time and of units, backchannels a minute, intervals by conversation."""

from dataclasses import replace

import pytest

from harness.figures.duplex import DuplexFigures, duplex_figures, duplex_words
from harness.timing.figures import Duplex, TurnTiming
from harness.turns import TurnTable, estimate

BLANK = TurnTiming(method="test", spoken_end_ms=0, ttfa_ms=400.0)
ONE = Duplex(
    6_000.0,
    3_000.0,
    600.0,
    300.0,
    ("over_speech", "in_pause", "after_turn"),
    cadence_ms=80.0,
    unit_gaps_ms=(200.0, 130.0),
    units=100,
)


def figures(*turns: Duplex | None) -> DuplexFigures | None:
    return duplex_figures({f"c{k}": [replace(BLANK, duplex=turn)] for k, turn in enumerate(turns)})


def test_shares_are_of_time_and_backchannels_of_minutes() -> None:
    found = figures(ONE, replace(ONE, caller_ms=2_000.0, overlap_ms=0.0, where=(), unit_gaps_ms=()))
    assert found is not None
    assert found.overlap_share == pytest.approx(600 / 8_000, abs=0.001)
    assert found.agent_overlap_share == pytest.approx(600 / 6_000, abs=0.001)
    assert found.murmured_share == pytest.approx(600 / 8_000)
    assert found.backchannels_per_minute == pytest.approx(2 / (8_000 / 60_000))
    assert found.backchannels_where == {"over_speech": 1, "in_pause": 1, "after_turn": 1}
    assert (found.late_units_share, found.unit_ms, found.longest_unit_gap_ms) == (2 / 200, 80, 200)
    assert "80 ms" in duplex_words(found)


def test_under_eight_conversations_there_is_no_interval() -> None:
    names = ("overlap_interval", "agent_overlap_interval", "late_units_interval", "backchannels_per_minute_interval")
    seven, eight = figures(*[ONE] * 7), figures(*[ONE] * 8)
    assert [getattr(seven, name) for name in names] == [None] * 4
    assert None not in [getattr(eight, name) for name in names]


def test_other_agents_and_discarded_turns_have_none() -> None:
    assert figures(None, None) is None
    assert duplex_figures({"c": [replace(BLANK, duplex=ONE, discarded="why")]}) is None
    assert duplex_words(None) == ""
    assert estimate(TurnTable.of_groups({"c": [BLANK]}), "duplex.overlap_share") is None


def test_of_an_agent_that_never_speaks_only_its_own_share_is_unknown() -> None:
    found = figures(replace(ONE, agent_ms=0.0, overlap_ms=0.0, units=0, unit_gaps_ms=(), cadence_ms=None))
    assert found is not None
    assert (found.overlap_share, found.agent_overlap_share, found.late_units_share, found.unit_ms) == (0, None, None, None)
