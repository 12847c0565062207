"""What the page says in words, and what it never says."""

from dataclasses import replace

import pytest

from harness.wording import milliseconds
from reports.board import board
from reports.cautions import cautions
from reports.conditions import conditions
from reports.payload import conversation
from reports.tables import tables
from reports.verdict import verdicts
from reports.view import NOT_JOINT, Estimate, LatencyView, PageView, RatingView
from reports.wording import latency, latency_interval
from tests.reports.invented import invented_view


@pytest.fixture
def view() -> PageView:
    return invented_view(agents=3, contexts=9)


def test_the_page_shows_the_runs_cautions_as_they_are_and_what_its_runs_differ_in(view: PageView) -> None:
    several = replace(view, differences=(("Machine", "one: small; two: big."), (NOT_JOINT, "No verdict connects them.")))
    assert set(view.cautions) < set(cautions(several))
    assert {c.code for c in cautions(several)} - {c.code for c in view.cautions} == {"runs_differ", "not_joint"}
    order = [c.level for c in cautions(several)]
    assert order == sorted(order, key=["bad", "warn", "note"].index)


def test_a_run_without_people_says_so_and_one_with_people_does_not(view: PageView) -> None:
    people = tuple(replace(r, author="human:7") for r in view.references)
    assert "none on this board" in conditions(view)
    assert "careful (human:7)" in conditions(replace(view, references=people))


def test_an_uncalibrated_run_never_claims_an_error(view: PageView) -> None:
    bare = replace(view, onset_error=None)
    assert all("not calibrated" in verdict.text for verdict in verdicts(bare))


def test_a_verdict_names_budget_band_cut_ins_error_and_judge(view: PageView) -> None:
    fast = verdicts(view)[0]
    assert fast.outcome == "within"
    for words in (
        "within the 500 ms budget",
        "Elo ",
        "cuts in on",
        "measured to within 6.2 ms (95 % of 64 trials)",
        "judge accuracy 58 % on our own pairs (not validated against people)",
    ):
        assert words in fast.text


def test_a_median_without_reply_is_over_budget_and_printed_as_a_limit(view: PageView) -> None:
    agent = view.agents[0]
    silent = LatencyView(p50_over=True, n=9)
    part = replace(agent.whole, latency={**agent.whole.latency, "ttfa": silent})
    changed = replace(view, agents=(replace(agent, slices={**agent.slices, "all": part}),))
    assert verdicts(changed)[0].outcome == "over"
    assert latency(silent) == "> 15 s"


def test_an_agent_without_a_rating_is_called_unrated_not_average(view: PageView) -> None:
    agent = view.agents[0]
    bare = replace(agent, slices={**agent.slices, "all": replace(agent.whole, rating=RatingView())})
    assert "not rated" in verdicts(replace(view, agents=(bare,)))[0].text


@pytest.mark.parametrize(
    ("value", "words"), [(None, "—"), (0.4, "0 ms"), (474.4, "474 ms"), (1_102.0, "1.10 s"), (-80.0, "−80 ms")]
)
def test_milliseconds(value: float | None, words: str) -> None:
    assert milliseconds(value) == words


def test_an_interval_shares_its_unit_where_it_can() -> None:
    assert latency_interval(Estimate(1, 400, 460)) == "400–460 ms"
    assert latency_interval(Estimate(1, 900, 1_050)) == "900 ms – 1.05 s"
    assert latency_interval(Estimate(1)) == ""


def test_openings_that_are_all_alike_stand_beside_the_latency_that_they_buy(view: PageView) -> None:
    agents = (replace(view.agents[0], common_opening=(7, 9)), *view.agents[1:])
    opened = replace(view, agents=agents)
    notes = {row.name: row.note for row in board(opened)}
    assert "7 of 9 replies open with the same three words" in notes[agents[0].name]
    assert "same three words" not in notes[agents[1].name]
    exported = {row["system"]: row for row in tables(opened)["systems"] if row.get("subset") == "all"}
    assert exported[agents[0].name]["replies_opening_alike"] == 7


def test_a_replay_shows_what_was_really_said(view: PageView) -> None:
    context = view.contexts[0]
    turn = replace(context.turns[0], mode="replay", replayed=(("seeker", "Hi <b>there</b>"), ("supporter", "Hello.")))
    shown = conversation(replace(context, turns=(turn, *context.turns[1:])))
    assert shown["turns"][0]["replayed"] == [["seeker", "Hi <b>there</b>"], ["supporter", "Hello."]]
    assert shown["turns"][1]["replayed"] == []
