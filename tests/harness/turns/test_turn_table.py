"""Rows of turns between a low and a high end: which rows give a figure, and the figures at both ends."""

import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from harness.statistics.interval import TURNS_FOR_P95
from harness.store.session import SessionKey, UnrecordedCall
from harness.timing.figures import Contention, Endpointing, InnerPause, TurnTiming, Utterance, UtteranceKind
from harness.timing.unknown_waits import NO_LATENCY
from harness.turns import TurnTable, change, estimate
from harness.turns.bounded import Bounded, bounded
from harness.turns.catalogue import BY_PATH
from harness.turns.estimate import Estimate
from harness.turns.of_run import rows_of_call
from harness.turns.table import Cluster, TurnKey, begins_with_filler
from tests.present import present


def turn(ttfa_ms: float | None, owed_ms: float = 0.0, **more: object) -> TurnTiming:
    parts = Contention(others_cores=0.1, waited_cores=0.1, stolen_cores=0.0, at_most_ms={"ttfa": owed_ms})
    return TurnTiming(method="timing-7", spoken_end_ms=0.0, ttfa_ms=ttfa_ms, contention=parts, **more)  # type: ignore[arg-type]


def table(turns: Sequence[TurnTiming], a_conversation: int = 1, **key: str) -> TurnTable:
    return TurnTable.of((TurnKey(agent="a", context=f"c{k // a_conversation}", **key), t) for k, t in enumerate(turns))  # type: ignore[arg-type]


def test_a_slow_turn_of_a_busy_machine_stays_in_every_figure() -> None:
    """Others took 6 % of each wait, as in a run whose p95 was once shown at a third of the truth."""
    rng = np.random.default_rng(1)
    truth = np.where(rng.random(120) < 0.55, rng.uniform(300, 410, 120), rng.uniform(900, 1600, 120))
    found = estimate(table([turn(float(ms), 0.06 * float(ms)) for ms in truth]), "ttfa_ms.p95")
    assert found is not None
    assert found.value == pytest.approx(np.percentile(truth, 95))
    assert found.ends == pytest.approx((np.percentile(truth * 0.94, 95), np.percentile(truth, 95)))
    assert found.turns == 120
    low, high = found.bounds(0.025)
    assert low < found.ends[0] < found.ends[1] < high


def test_a_share_within_the_budget_has_both_ends_and_the_measured_one_is_the_lower() -> None:
    turns = [turn(400.0)] * 5 + [turn(520.0, 30.0)] * 3 + [turn(1_200.0, 30.0)] * 2
    found = estimate(table(turns), "within_budget.ttfa")
    assert found is not None
    assert found.value == 0.5
    assert found.ends == (0.5, 0.8)


@pytest.mark.parametrize(
    ("ends", "speed"), [((430, 500), "fast"), ((430, 501), "cannot tell"), ((501, 700), "slow"), ((500, 500.1), "cannot tell")]
)
def test_a_turn_is_fast_slow_or_not_to_be_decided(ends: tuple[float, float], speed: str) -> None:
    assert Bounded(*ends).within(500.0) == speed


def test_a_silence_ranks_slowest_unless_others_could_have_had_most_of_the_wait() -> None:
    silent = turn(None, 400.0, no_reply=True)
    starved = turn(None, 9_000.0, no_reply=True)
    assert bounded(silent, "ttfa") == (np.inf, np.inf)
    assert bounded(starved, "ttfa") == (6_000.0, np.inf)
    found = estimate(table([silent, starved, turn(400.0)]), "no_reply_rate")
    assert found is not None
    assert found.ends == pytest.approx((1 / 3, 2 / 3))


def test_discarded_turns_take_the_figure_only_where_the_method_is_at_fault() -> None:
    good = [turn(400.0)] * 20
    assert estimate(table([*good, turn(None, discarded="detectors disagree")]), "ttfa_ms.p50") is not None
    assert estimate(table([*good, *[turn(None, discarded="detectors disagree")] * 2]), "ttfa_ms.p50") is None
    assert estimate(table([*good, *[turn(None, discarded=NO_LATENCY)] * 9]), "ttfa_ms.p50") is not None


def test_a_reply_without_transcript_has_no_word_and_one_without_answer_is_slowest() -> None:
    worded = [turn(400.0, first_word_ms=450.0, transcribed=True)] * 30
    found = estimate(table([*worded, turn(410.0)]), "first_word_ms.p50")
    assert found is not None
    assert found.turns == 30
    assert estimate(table([turn(410.0)] * 30), "first_word_ms.p50") is None


def test_chances_of_a_turn_count_one_by_one_and_those_without_a_choice_do_not() -> None:
    def pause(fate: str) -> InnerPause:
        return InnerPause(0.0, 300.0, fate, True, 0)  # type: ignore[arg-type]

    ends = Endpointing("endpointing-2", (pause("cut"), pause("kept"), pause("already_talking")), 400.0)
    found = estimate(table([turn(400.0, endpointing=ends), turn(500.0)]), "pauses_cut_share")
    assert found is not None
    assert found.value == 0.5
    assert found.turns == 1


def test_groups_are_rows_by_their_keys() -> None:
    rows = [
        (TurnKey(agent=a, context=f"c{k}", condition=c), turn(ms))
        for a, c, ms in (("x", "clean", 300.0), ("x", "noisy", 500.0), ("y", "clean", 700.0))
        for k in range(9)
    ]
    whole = TurnTable.of(rows)
    medians = {names: estimate(group, "ttfa_ms.p50") for names, group in whole.groups("agent", "condition")}
    assert {names: found and found.value for names, found in medians.items()} == {
        ("x", "clean"): 300.0, ("x", "noisy"): 500.0, ("y", "clean"): 700.0,
    }  # fmt: skip
    found = estimate(whole, "ttfa_ms.p50", {"agent": "x", "condition": ("clean", "noisy")})
    assert found is not None
    assert found.turns == 18


def test_turns_of_a_session_at_fault_may_have_had_any_value() -> None:
    whole = TurnTable.of((TurnKey(agent="a", context=f"c{k}", session=f"s{k}"), turn(400.0)) for k in range(10))
    found = estimate(whole.with_unknown({"s0"}), "within_budget.ttfa")
    assert found is not None
    assert found.ends == (0.9, 1.0)
    assert found.value == 1.0
    median = estimate(whole.with_unknown({"s0"}), "ttfa_ms.p50")
    assert median is not None
    assert median.ends == (400.0, 400.0)


@pytest.mark.parametrize("newly_cut", [5, 9])
def test_a_change_is_one_answer_for_every_reader(newly_cut: int) -> None:
    """Five of 24 pauses newly cut are not yet a change for the worse; nine are."""

    def run(cut: int) -> TurnTable:
        ends = [
            Endpointing("endpointing-2", (InnerPause(0.0, 300.0, "cut" if k < cut else "kept", True, 0),), 400.0)
            for k in range(24)
        ]
        return table([turn(400.0, endpointing=e) for e in ends])

    found = change(run(newly_cut), run(0), "pauses_cut_share")
    assert found is not None
    assert found.paired
    assert found.value == pytest.approx(newly_cut / 24)
    assert found.verdict == ("unclear" if newly_cut == 5 else "worse")


def test_a_change_weighs_each_pause_alike_however_long_its_conversation() -> None:
    def run(cuts: Sequence[Sequence[bool]]) -> Iterator[tuple[TurnKey, TurnTiming]]:
        for k, each in enumerate(cuts):
            pauses = tuple(InnerPause(0.0, 300.0, "cut" if cut else "kept", True, 0) for cut in each)
            yield TurnKey(agent="a", context=f"c{k}"), turn(400.0, endpointing=Endpointing("endpointing-2", pauses, 400.0))

    before = [[True] * 8 if k < 4 else [False] for k in range(24)]
    now = [[False] * 8 if k < 4 else [bool(k % 2)] for k in range(24)]
    found = change(TurnTable.of(run(now)), TurnTable.of(run(before)), "pauses_cut_share")
    assert found is not None
    assert found.value == pytest.approx((10 - 32) / 52)


def test_a_pause_is_compared_with_the_same_pause_also_where_the_agent_could_not_choose_before_it() -> None:
    def run(*fates: str) -> TurnTable:
        pauses = tuple(InnerPause(0.0, 300.0, fate, True, 0) for fate in fates)  # type: ignore[arg-type]
        return table([turn(400.0, endpointing=Endpointing("endpointing-2", pauses, 400.0))] * 9)

    found = change(run("cut", "already_talking", "kept"), run("cut", "cut", "kept"), "pauses_cut_share")
    assert found is not None
    assert found.value == 0.0


def test_a_repeat_that_one_run_lost_leaves_the_other_repeats_compared() -> None:
    def run(repeats: int) -> TurnTable:
        return TurnTable.of(
            (TurnKey(agent="a", context=f"c{k}", repeat=str(r)), turn(400.0 + 100 * r))
            for k in range(9)
            for r in range(repeats)
        )

    found = change(run(2), run(1), "ttfa_ms.p50")
    assert found is not None
    assert found.paired
    assert found.value == 0.0


def test_a_p95_is_compared_unpaired() -> None:
    found = change(table([turn(500.0)] * 200), table([turn(400.0)] * 200), "ttfa_ms.p95")
    assert found is not None
    assert not found.paired
    assert found.value == 100.0


def test_a_row_takes_under_700_bytes() -> None:
    """A million turns of a load test fit into 700 MB."""
    rows = 4_000
    ends = Endpointing("endpointing-2", (InnerPause(0.0, 300.0, "cut", True, 0),) * 2, 400.0)
    one = turn(400.0, 12.0, endpointing=ends, first_word_ms=450.0, transcribed=True)
    tracemalloc.start()
    found = TurnTable.of((TurnKey(agent="a", context=f"c{k % 40}", step="2", began_ns=k), one) for k in range(rows))
    estimate(found, "ttfa_ms.p95", {"agent": "a"}, "conversation")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak / rows < 700


def test_a_p95_over_stretches_of_time_needs_sixty_turns_and_other_figures_do_not() -> None:
    def over(figure: str, turns: int, cluster: Cluster = "stretch") -> Estimate | None:
        rows = ((TurnKey(agent="a", context=f"c{k}", stretch=f"s{k % 10}"), turn(300.0 + k)) for k in range(turns))
        return estimate(TurnTable.of(rows), figure, cluster=cluster)

    assert over("ttfa_ms.p95", TURNS_FOR_P95 - 1) is None
    assert present(over("ttfa_ms.p95", TURNS_FOR_P95)).turns == 60
    assert present(over("ttfa_ms.p50", 20)).value == pytest.approx(309.5)
    assert present(over("cut_in_rate", 20)).value == 0
    assert present(over("ttfa_ms.p95", 20, "conversation")).turns == 20


@pytest.mark.parametrize(
    ("answer_ms", "kind", "filler"),
    [(500.0, "answer", False), (900.0, "answer", True), (None, "answer", False), (None, "filler", True)],
)
def test_a_reply_begins_with_a_filler_where_its_answer_is_later_or_missing(
    answer_ms: float | None, kind: UtteranceKind, filler: bool
) -> None:
    assert begins_with_filler(turn(500.0, answer_ms=answer_ms, utterances=(Utterance(500.0, 900.0, kind),))) is filler
    assert not begins_with_filler(turn(None, answer_ms=answer_ms))


def test_a_turn_of_a_load_test_begins_at_the_end_of_its_caller_s_words() -> None:
    key = SessionKey("c", "h", "my", "p", "seeded", "noisy", 3, "step-1")

    def rows(failure: str | None) -> list[tuple[TurnKey, TurnTiming]]:
        call = UnrecordedCall(key, 5_000_000_000, (turn(400.0), replace(turn(None), spoken_end_ms=2_500.0)), failure)
        return list(rows_of_call(call))

    found = [of for of, _ in rows(None)]
    assert [one.began_ns for one in found] == [5_000_000_000, 7_500_000_000]
    assert {(one.agent, one.context, one.condition, one.step, one.repeat) for one in found} == {
        ("my", "c", "noisy", "step-1", "3")
    }
    assert (len(rows("agent_died")), len(rows("defect"))) == (2, 0)


def test_only_these_figures_are_better_when_higher() -> None:
    assert {path for path, figure in BY_PATH.items() if figure.higher_is_better} == {
        "within_budget.ttfa", "within_budget.answer", "within_budget.ttft", "continuity", "win_rate", "people.win_rate",
    }  # fmt: skip
