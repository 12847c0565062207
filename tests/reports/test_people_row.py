"""People on the page: a point of their own look beside the agents, on no frontier and with no verdict."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from harness.figures.seat import BesideSeat, Bounded, SeatSummary
from harness.reports.board import board
from harness.reports.charts.elo_latency_chart import WIDE, draw
from harness.reports.charts.elo_latency_points import default_choice, frontier, points, references
from harness.reports.conditions import conditions
from harness.reports.markdown import markdown
from harness.reports.tables import tables
from harness.reports.verdict import verdicts
from harness.reports.view import PageView
from tests.reports.invented import invented_view

SEAT = SeatSummary(
    agent="people", condition="clean", persons=12, conversations=12, replies=36, sittings=12, not_calibrated=0, over_limit=0,
    largest_error_ms=6.5, unrated=0, with_losses=0, mean=Bounded(value=1502.0, interval=(1480.0, 1520.0)),
    best=Bounded(value=1544.0, interval=(1500.0, 1580.0)),
)  # fmt: skip
BESIDE = BesideSeat(
    seat="people", persons=12, conversations=12, later_ms=Bounded(value=240.0, interval=(120.0, 380.0)),
    preferred=Bounded(value=0.41, interval=(0.3, 0.49)), comparisons=36, by_people=True,
)  # fmt: skip


def with_seat(name: str = "people") -> PageView:
    """An invented page whose quickest system is people, or a rehearsal."""
    view = invented_view(names=(name, "one", "two", "three"))
    mine = replace(view.agents[0], seat=name, condition=view.agents[0].condition)
    seat = SEAT.model_copy(update={"agent": name, "condition": mine.condition})
    others = (replace(agent, beside=BESIDE.model_copy(update={"seat": name})) for agent in view.agents[1:])
    return replace(view, agents=(mine, *others), seats=(seat,))


def test_people_are_a_point_with_both_intervals_and_on_no_frontier() -> None:
    view = with_seat()
    found = points(view, default_choice(view))
    mine = next(point for point in found if point.seat)
    assert (mine.agent, mine.seat) == ("people", "people")
    assert None not in (mine.latency.low, mine.latency.high, mine.elo.low, mine.elo.high)
    assert min(found, key=lambda p: p.latency.value or 0.0) is mine
    assert all(not point.seat for point in frontier(found))
    svg = str(draw(view, default_choice(view), WIDE))
    assert "people, who are no agent" in svg or "in a judge&#39;s opinion" in svg
    assert 'data-agent="people"' in svg
    assert [line.label for line in references(view, default_choice(view)) if "person" in line.label] == [
        "best person",
        "mean person",
    ]


def test_people_get_no_verdict_and_every_agent_is_compared_with_them() -> None:
    view = with_seat()
    found = verdicts(view)
    assert [verdict.agent for verdict in found if verdict.agent == "people"] == []
    assert len(found) == 3
    for verdict in found:
        assert "answers 240 ms later than people do here (95 % interval 120 ms to 380 ms)" in verdict.sentence
    assert "3 agents" in conditions(view)
    row = next(row for row in board(view) if row.name == "people")
    assert "12 persons" in row.note
    systems = {row["system"]: row for row in tables(view)["systems"] if row["subset"] == "all" and row["kind"] != "authored"}
    assert systems["people"]["persons"] == 12
    assert systems["people"]["kind"] == "people"
    assert systems["one"]["later_ms"] == 240.0
    assert "12 persons gave 36 replies" in markdown(view)


@pytest.mark.parametrize("made", [markdown, conditions])
def test_a_rehearsal_is_never_people(made: Callable[[PageView], str]) -> None:
    text = made(with_seat("rehearsal"))
    assert "| people |" not in text
    assert "people do here" not in text
    assert "person's reply" not in text
    assert "Human baseline: none" in text
