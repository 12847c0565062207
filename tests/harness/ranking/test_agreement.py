from typing import Any, Literal

import numpy as np
import pytest

from harness.ranking.agreement import agreement
from harness.ranking.ballot_figures import Equivalence
from harness.ranking.ballots import ballots, is_ambiguous, label, majority
from harness.ranking.consistency import consistency
from harness.store.judgment import Judgment, Winner
from tests.harness.conftest import Simulate
from tests.present import present


def _row(
    context: str,
    winner: Winner,
    judge: str,
    source: Literal["judge", "human"] = "judge",
    strength: int = 1,
    turned: bool = False,
    **more: Any,
) -> Judgment:
    a, b = ("y", "x") if turned else ("x", "y")
    return Judgment(
        context=context,
        subset="regular",
        system_a=a,
        system_b=b,
        source=source,
        judge=judge,
        winner=winner,
        strength=strength,
        **more,
    )


def _panel(contexts: int, judge_winners: str, human_winners: str) -> list[Judgment]:
    """Every context has the same panel; winners are strings of a, b and t."""
    name: dict[str, Winner] = {"a": "a", "b": "b", "t": "tie"}
    voices: tuple[tuple[Literal["judge", "human"], str], ...] = (("judge", judge_winners), ("human", human_winners))
    return [
        _row(f"c{c}", name[w], f"{source}{k}", source)
        for c in range(contexts)
        for source, winners in voices
        for k, w in enumerate(winners)
    ]


def test_majorities_need_three_voters_and_a_leader() -> None:
    assert majority({"p": 1.0, "q": 2.0, "r": -1.0}) == label(1.0)
    assert majority({"p": 1.0, "q": 2.0}) is None
    assert majority({"p": 1.0, "q": -1.0, "r": 0.0}) is None


def test_a_judge_asked_in_both_orders_is_one_voice() -> None:
    one, two = _row("c", "a", "j", strength=3), _row("c", "a", "j", strength=1, turned=True)
    (ballot,) = ballots([one, two])
    assert ballot.judges == {"j": 1.0}


def test_agreement_by_hand() -> None:
    rows = _panel(10, "aab", "aaaab")
    found = agreement(rows, draws=200)
    assert present(found.judge_human).value == 1.0
    # Of ten pairs of raters six agree, in every context.
    assert present(found.inter_human).value == pytest.approx(0.6)
    assert present(found.judges_with_one_human).value == pytest.approx(0.8)
    assert found.cross_judge["judge0", "judge1"].value == 1.0
    assert found.cross_judge["judge0", "judge2"].value == 0.0
    assert found.three_way["judge0", "judge1", "judge2"].value == 0.0
    assert found.subsampling[1] == pytest.approx(2 / 3)
    assert found.subsampling[3] == 1.0
    assert found.judges_per_pair == {3: 10}


def test_ambiguous_pairs_are_counted_apart() -> None:
    clear, torn = (
        _panel(9, "aaa", "aaaaa"),
        [r.model_copy(update={"context": "t" + r.context}) for r in _panel(9, "bbb", "aaabb")],
    )
    found = agreement([*clear, *torn], draws=200)
    assert present(found.judge_human).value == pytest.approx(0.5)
    assert present(found.judge_human_ambiguous).value == 0.0
    assert present(found.judge_human_ambiguous).pairs == 9
    (one,) = ballots(_panel(1, "aab", "aaabb"))
    assert is_ambiguous(one)
    marked = _row("c0", "a", "judge0", axes={"H": {"winner": "a"}, "E": {"winner": "a"}})
    (decided,) = ballots([marked, *_panel(1, "", "aaabb")])
    assert not is_ambiguous(decided)


def test_intervals_resample_contexts_and_need_eight(simulate: Simulate) -> None:
    few = [*simulate(7, 3, 3, seed=1), *simulate(7, 3, 5, seed=1, source="human", ties=0.4)]
    assert present(agreement(few, draws=100).judge_human).interval is None
    many = [*simulate(60, 3, 3, seed=1), *simulate(60, 3, 5, seed=1, source="human", ties=0.4)]
    found = agreement(many, draws=500)
    for found_or_none in (
        found.judge_human,
        found.inter_human,
        found.fleiss_kappa_humans,
        found.krippendorff_alpha_judges,
        found.cohen_kappa,
    ):
        figure = present(found_or_none)
        low, high = present(figure.interval)
        assert low < figure.value < high


def test_equivalence_is_a_test_and_not_an_absence_of_difference() -> None:
    rng = np.random.default_rng(0)

    def vote(lean: Winner, chance: float) -> Winner:
        return lean if rng.random() < chance else "b" if lean == "a" else "a"

    def world(contexts: int, judge_chance: float) -> Equivalence:
        rows = []
        for c in range(contexts):
            lean: Winner = "a" if rng.random() < 0.5 else "b"
            rows += [_row(f"c{c}", vote(lean, 0.9), f"h{k}", "human") for k in range(5)]
            verdict = vote(lean, judge_chance)
            rows += [_row(f"c{c}", verdict, f"j{k}") for k in range(3)]
        return present(agreement(rows, draws=500).equivalence)

    assert world(600, 0.9).equivalent is True
    assert world(600, 0.75).equivalent is False
    # Thirty contexts cannot show it, though the truth is the same.
    assert world(30, 0.9).equivalent is False
    assert world(7, 0.9).equivalent is None


def test_without_people_or_with_one_judge_figures_are_absent(simulate: Simulate) -> None:
    found = agreement(simulate(10, 3, 1), draws=50)
    assert found.judge_human is None
    assert found.inter_human is None
    assert found.equivalence is None
    assert found.cross_judge == {}
    assert agreement([], draws=50).judge_human is None


def test_kappa_on_one_axis(simulate: Simulate) -> None:
    found = agreement(simulate(30, 3, 3, seed=5, axes=True), draws=100)
    assert set(found.fleiss_kappa_by_axis) == set("HEART")
    # Marks of different judges share the replies' worth and nothing else, so they agree beyond chance and not perfectly.
    assert all(0 < f.value < 0.9 for f in found.fleiss_kappa_by_axis.values())
    one = [_row(f"c{c}", "a", f"j{k}", axes={"E": {"winner": "a" if c % 2 else "b"}}) for c in range(10) for k in range(3)]
    assert agreement(one, draws=50).fleiss_kappa_by_axis["E"].value == 1.0


def test_flips_and_slips() -> None:
    rows = [
        _row("c1", "a", "j", shown_first="a"),
        _row("c1", "b", "j", shown_first="b", purpose="swapped"),
        _row("c2", "a", "j", shown_first="a"),
        _row("c2", "b", "j", shown_first="a", turned=True, purpose="swapped"),
        _row("c3", "a", "j", shown_first="a"),
        _row("c3", "a", "j", shown_first="a", repeat=1, purpose="repeat"),
        _row("c1", "a", "k", shown_first="a"),
    ]
    one, two = consistency(rows)
    assert (one.flip_rate, one.swapped_pairs, one.self_consistency, one.repeated_pairs) == (0.5, 2, 1.0, 1)
    assert (two.flip_rate, two.self_consistency) == (None, None)
