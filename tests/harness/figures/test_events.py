"""Rows of events: which calls count, of what a share is, and what stands beside it."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from harness.figures.events import HEAD, EventRow, event_rows, events_of
from harness.statistics.share_bounds import clopper_pearson
from harness.store.events import CallerEvent, EventSettings
from harness.timing.figures import EventTaken, TurnTiming

WENT_ON = EventTaken("events-1", "cough", 1_200, "went_on", lost_words=0)
STOPPED = EventTaken("events-1", "cough", 1_200, "stopped", 300, cleared=True, lost_words=9)
RESTARTED = EventTaken("events-1", "cough", 1_200, "spoke_again", 500, 900, lost_words=0, repeated_words=4)
LATER = EventTaken("events-1", "cough", 1_200, "spoke_again", 700, 900, lost_words=0)
ENDED = EventTaken("events-1", "cough", 1_200, "ended", lost_words=0)
SILENT = EventTaken("events-1", "cough", 1_200, "not_sounding")


def row_of(calls: Mapping[str, Sequence[EventTaken | None]], sound: str = "cough", **timing: Any) -> EventRow:
    settings = EventSettings(source="mine.yaml", events=(CallerEvent(sound=sound, at_ms=900),))  # type: ignore[arg-type]
    sessions = [
        SimpleNamespace(
            status="finished",
            key=SimpleNamespace(context_id=context, repeat=k),
            timing=TurnTiming("t", 0.0, 300.0, event=event, **timing),
        )
        for context, events in calls.items()
        for k, event in enumerate(events)
    ]
    manifest = SimpleNamespace(events=settings, planned_contexts=list(calls), seed=1)
    selection: Any = SimpleNamespace(manifest=manifest, apart=False, contexts=(), of=lambda *_: sessions)
    (row,) = events_of(selection, "a", "clean", set(calls))
    return row


def test_a_share_is_of_the_events_at_which_the_agent_could_choose() -> None:
    events = (WENT_ON, STOPPED, RESTARTED, LATER, ENDED, SILENT, None)
    row = row_of({f"c{k}": [event] for k, event in enumerate(events)})
    assert (row.stopped, row.of, row.share) == (3, 4, 0.75)
    assert row.interval == clopper_pearson(3, 4, 0.025) == pytest.approx((0.194, 0.994), abs=5e-4)
    assert (row.fell_silent, row.restarted, row.went_on_later) == (1, 1, 1)
    assert (row.ended, row.not_sounding, row.no_occasion, row.left_out) == (1, 1, 1, 0)
    assert row.stop_ms == 500
    assert row.lost_words == (1, 4)


def test_several_events_of_one_conversation_are_no_independent_trials() -> None:
    few = row_of({"c0": [STOPPED, WENT_ON], "c1": [WENT_ON, WENT_ON]})
    assert (few.share, few.interval) == (0.25, None)
    many = row_of({f"c{k}": [STOPPED, WENT_ON if k else STOPPED] for k in range(8)})
    assert many.interval is not None
    assert many.interval[0] < 9 / 16 < many.interval[1]


def test_a_stop_that_was_asked_for_is_right_and_loses_nothing() -> None:
    row = row_of({"c0": [STOPPED], "c1": [WENT_ON]}, "interruption")
    assert (row.asks, row.share, row.lost_words) == ("stop", 0.5, None)
    words = dict(zip(HEAD, event_rows([("a", [row])])[0], strict=True))
    assert words["Asks for"] == "a stop"
    assert words["Right"] == "50 %"
    assert words["Stopped"].startswith("1/2 50 %\n")
