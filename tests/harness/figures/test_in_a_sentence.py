"""The sentence that says what a run found, and the one that says how sure it is."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.figures.cells import BoardSummary, Cell
from harness.figures.circumstances import Circumstances, OnsetError
from harness.figures.head_to_head import Preferred
from harness.figures.in_a_sentence import found, how_sure
from harness.figures.seat import SeatSummary
from harness.figures.summary import RunSummary
from harness.store.judgment import reference_name
from harness.timing.quantiles import Quantiles
from harness.wording import milliseconds

EIGHT = frozenset(f"c{n}" for n in range(8))
KNOWN = Circumstances(contexts=EIGHT, played=EIGHT, onset_error=OnsetError(within_ms=1.14, trials=64))


def cell(agent: str = "echo-bot", p50_ms: float | None = 1_214.0, **more: Any) -> Cell:
    place = {"agent": agent, "condition": "clean", "mode": "seeded", "presentation": "heard_text", "subset": "all"}
    figure = "ttft_ms" if more.get("kind") == "text" else "ttfa_ms"
    figures = {"turns": 40, "no_reply": 0, figure: Quantiles(p50=p50_ms)}
    return Cell.model_validate(figures | place | more)


def summary(*cells: Cell, known: Circumstances = KNOWN, **more: Any) -> RunSummary:
    return RunSummary.model_validate({"run": "here", "cells": list(cells), "circumstances": known} | more)


def preferred(agent: str, over: str, at_least: float = 0.69, **more: Any) -> Preferred:
    given = {
        "agent": agent, "over": over, "condition": "clean", "presentation": "heard_text", "in_words": "", "preferred": 7,
        "conversations": 8, "tied": 0, "votes": 24, "votes_for": 21, "votes_tied": 0, "share": 0.875, "at_least": at_least,
        "interval": (0.66, 0.97), "compared": 1, "raters": 3, "effective_raters": 3.0,
    }  # fmt: skip
    return Preferred.model_validate(given | more)


def board(state: str, **more: Any) -> BoardSummary:
    place = {"condition": "clean", "mode": "seeded", "presentation": "heard_text", "subset": "all"}
    return BoardSummary.model_validate(place | {"method": "m", "judgments": 24, "contexts": 8, "quality_state": state} | more)


def test_one_agent_is_said_as_people_say_it() -> None:
    run = summary(cell(inner_pauses_cut=(2, 40), pauses_cut=(2, 40)))
    assert found(run) == (
        "echo-bot answers half of its callers within 1.21 s, and cuts into one pause in twenty; nobody has rated it."
    )


def test_how_sure_names_the_level_of_its_intervals() -> None:
    sure = Quantiles(p50=1_214.0, p50_interval=(1_202.0, 1_231.0))
    run = summary(cell(ttfa_ms=sure, inner_pauses_cut=(2, 40), pauses_cut_interval=(0.02, 0.09)))
    assert how_sure(run) == (
        "8 conversations; the first sound timed to within 1.2 ms (95 % of 64 trials); 95 % interval of the median 1.20–1.23 s; "
        "95 % interval of the pauses cut 2–9 %."
    )


@pytest.mark.parametrize(
    ("cut", "of", "words"),
    [(0, 12, "none of 12 pauses"), (3, 12, "3 of 12 pauses"), (1, 40, "one pause in 40"), (10, 40, "one pause in four"),
     (6, 27, "one pause in five"),
     (18, 40, "45 % of pauses"), (40, 40, "each of 40 pauses")],
)  # fmt: skip
def test_a_rate_is_promised_of_enough_pauses_only(cut: int, of: int, words: str) -> None:
    assert f"cuts into {words};" in found(summary(cell(inner_pauses_cut=(cut, of))))


def test_two_to_four_agents_are_each_named_soonest_first() -> None:
    slow, quick = cell("slow", 1_900.0, pauses_cut=(0, 12)), cell("quick", 480.0, pauses_cut=(6, 12))
    assert found(summary(slow, quick)) == (
        "quick answers half of its callers within 480 ms and slow within 1.90 s; quick cuts into 6 of 12 pauses and slow into "
        "none; nobody has rated them."
    )


def test_of_many_the_soonest_the_slowest_and_their_number_are_said() -> None:
    many = [cell(f"a{n:02}", 500.0 + n, pauses_cut=(n, 12)) for n in range(19)]
    said = found(summary(*many, cell("mute", None, ttfa_ms=Quantiles(p50_over_limit=True), no_reply=30)))
    assert said.startswith("Of 20 agents, a00 is the soonest: it answers half of its callers within 500 ms and cuts into none ")
    assert "the slowest, a18, within 518 ms; 1 leaves at least half of its callers without an answer for 15 s;" in said
    assert "a07" not in said


def test_one_that_writes_is_said_to_write() -> None:
    said = found(summary(cell(kind="text", p50_ms=180.0)))
    assert said == "Half of the written answers of echo-bot begin within 180 ms; nobody has rated it."
    assert "TTFA" not in how_sure(summary(cell(kind="text", p50_ms=180.0)))


def test_those_that_write_and_those_that_speak_have_no_common_soonest() -> None:
    cells = [cell(f"t{n}", 90.0 + n, kind="text") for n in range(3)] + [cell(f"s{n}", 600.0 + n) for n in range(3)]
    said = found(summary(*cells))
    assert "s0 is the soonest: it answers half of its callers within 600 ms" in said
    assert "t0 is the soonest: it begins half of its written answers within 90 ms" in said


def test_an_agent_that_is_silent_gets_no_time() -> None:
    mute = cell(ttfa_ms=Quantiles(p50_over_limit=True), no_reply=40)
    assert found(summary(mute)).startswith("echo-bot answers none of 40 turns within 15 s;")
    half = cell(ttfa_ms=Quantiles(p50_over_limit=True, p50_at_least=900.0), no_reply=21)
    assert found(summary(half)).startswith("echo-bot leaves at least half of its callers without an answer for 15 s;")
    assert "leaves one turn in eight unanswered" in found(summary(cell(no_reply=5)))
    assert found(summary(cell(p50_ms=None))).startswith("No answer of echo-bot could be timed;")
    assert "nothing was found" in found(summary(cell(turns=0)))


def test_a_filler_buys_no_speed() -> None:
    filled = cell(p50_ms=412.0, answer_ms=Quantiles(p50=1_900.0), filler_first=(30, 40))
    assert "within 1.90 s (after a filler at 412 ms)" in found(summary(filled))


def test_an_invalid_run_says_first_that_it_must_not_be_quoted() -> None:
    run = summary(cell(valid=False), valid=False, invalid=["pacing p99 9.1 ms"])
    assert found(run).startswith("These figures must not be quoted: echo-bot answers")
    voted = summary(cell(valid=False), cell("b", valid=False), valid=False, head_to_head=[preferred("b", "echo-bot")])
    assert found(voted).startswith("These figures must not be quoted, except the ratings of replies that were read: ")
    one = summary(cell(valid=False), cell("b"), valid=False)
    assert found(one).startswith("These figures of echo-bot must not be quoted: ")


def test_a_judges_opinion_decides_nothing() -> None:
    said = found(summary(cell(elo=1_700.0, quality_state="opinion"), boards=[board("opinion")]))
    assert "a judge's opinion alone, which decides nothing: no person has rated it" in said
    assert "1700" not in said


def test_peoples_preference_is_said_by_its_conversations() -> None:
    two = cell("a", 500.0), cell("b", 600.0)
    assert found(summary(*two, head_to_head=[preferred("b", "a")])).endswith("people prefer b in 7 of 8 conversations.")
    unclear = summary(*two, head_to_head=[preferred("b", "a", 0.4)])
    assert found(unclear).endswith("people prefer neither b nor a clearly (b in 7 of 8 conversations).")
    alone = summary(*two, head_to_head=[preferred("b", "a", whose="r1")])
    assert found(alone).endswith("one person prefers b in 7 of 8 conversations.")
    assert "95 % interval of 24 votes of 3 people: b preferred in 66–97 % of votes" in how_sure(alone)


def test_of_many_the_one_that_people_prefer_most_often_is_named() -> None:
    rows = [preferred("c", "a", 0.6), preferred("c", "b", 0.55), preferred("a", "b", 0.9)]
    said = found(summary(cell("a"), cell("b"), cell("c"), head_to_head=rows))
    assert said.endswith("people prefer c to a in 7 of 8 conversations, and to 1 other as surely.")
    none = [row.model_copy(update={"at_least": 0.3}) for row in rows]
    assert found(summary(cell("a"), cell("b"), cell("c"), head_to_head=none)).endswith(
        "people's votes tell none of them clearly apart."
    )


def test_one_agent_is_placed_among_the_references_by_people() -> None:
    over = {reference_name("good"): {"value": -90.0, "interval": (-150.0, -20.0)},
            reference_name("plain"): {"value": 80.0, "interval": (10.0, 160.0)}}  # fmt: skip
    rated = cell(elo=1_510.0, elo_over=over, quality_state="people")
    said = found(summary(rated, boards=[board("people")]))
    assert "people rate it above “plain”, and below “good”" in said


def test_votes_that_rate_nobody_yet_are_no_silence_of_people() -> None:
    assert found(summary(cell(), people_refused={"clean": "five votes"})).endswith("people's votes do not yet rate it.")


def test_calls_that_happened_are_said_to_be_recorded() -> None:
    known = KNOWN.model_copy(update={"calls": {"run": "calls/"}, "onset_error": None})
    run = summary(cell(), known=known)
    assert found(run).startswith("In 8 recorded calls, echo-bot answers")
    assert "found in the sound" in how_sure(run)


def test_people_in_the_seat_are_no_agent() -> None:
    def seat(agent: str) -> SeatSummary:
        return SeatSummary(
            agent=agent, condition="clean", persons=12, conversations=8, replies=36, sittings=12, not_calibrated=0,
            over_limit=0, largest_error_ms=3.0, unrated=0, with_losses=0,
        )  # fmt: skip

    run = summary(cell(), cell("people", 2_300.0), seats=[seat("people")])
    assert "; 12 people who took the same calls answer half of them within 2.30 s; nobody has rated it." in found(run)
    rehearsed = summary(cell(), cell("rehearsal", 2_300.0), seats=[seat("rehearsal")])
    assert "people" not in found(rehearsed)


def test_too_few_conversations_are_said_to_be_too_few() -> None:
    few = KNOWN.model_copy(update={"contexts": frozenset({"a", "b", "c"})})
    assert how_sure(summary(cell(), known=few)).startswith("3 conversations, too few for an interval, which takes 8;")


STATES = st.sampled_from(["none", "opinion", "borne_out", "people"])
NAMES = st.text(min_size=1, max_size=20).filter(lambda name: name.strip() != "")


@st.composite
def drawn(draw: st.DrawFn) -> tuple[Cell, ...]:
    names = draw(st.lists(NAMES, min_size=1, max_size=7, unique_by=lambda name: " ".join(name.split())))
    return tuple(
        cell(
            name,
            draw(st.none() | st.floats(1.0, 20_000.0)),
            kind=draw(st.sampled_from(["cascade", "text"])),
            valid=draw(st.booleans()),
            no_reply=draw(st.integers(0, 40)),
            pauses_cut=draw(st.sampled_from([(0, 0), (0, 9), (3, 9), (1, 300), (40, 40)])),
            quality_state=draw(STATES),
            elo=draw(st.none() | st.floats(1_000.0, 2_000.0)),
        )
        for name in names
    )


@given(cells=drawn(), data=st.data())
def test_any_run_is_one_sentence_whatever_the_names_and_the_order_of_its_agents(
    cells: Sequence[Cell], data: st.DataObject
) -> None:
    run = summary(*cells, valid=all(one.valid for one in cells))
    shuffled = summary(*data.draw(st.permutations(cells)), valid=run.valid)
    for words, again in ((found(run), found(shuffled)), (how_sure(run), how_sure(shuffled))):
        assert words == again
        assert words.endswith(".")
        assert words.isprintable()
    assert found(run).startswith("These figures") == (not run.valid)


@given(cells=drawn())
def test_each_named_time_is_that_of_an_agent(cells: Sequence[Cell]) -> None:
    said = found(summary(*cells))
    p50s = [p50 for one in cells if (p50 := (one.ttft_ms if one.kind == "text" else one.ttfa_ms).p50) is not None]
    if len(cells) <= 4:
        assert all(milliseconds(p50) in said for p50 in p50s)
    elif spoken := [one.ttfa_ms.p50 for one in cells if one.kind != "text" and one.ttfa_ms.p50 is not None]:
        assert f"within {milliseconds(min(spoken))}" in said
        assert milliseconds(max(spoken)) in said
