from typing import Literal

import numpy as np
import pytest

from harness.errors import UserError
from harness.ranking import RatingModel, leaderboard
from harness.ranking.leaderboard import paper_half_width
from harness.ranking.model import Method
from harness.store.judgment import Judgment, Winner
from tests.harness.conftest import Simulate
from tests.present import ends, present

METHODS: tuple[Method, ...] = ("ordinal", "strength", "plain", "rao-kupper")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_order_and_centres_at_1500(simulate: Simulate, method: Method) -> None:
    board = leaderboard(simulate(60, 4, 3, seed=1), RatingModel(method))
    assert [r.system for r in board.systems] == ["s3", "s2", "s1", "s0"]
    assert sum(r.elo for r in board.systems) / 4 == pytest.approx(1500)
    assert board.warnings == ()
    assert all(ends(r.interval)[0] < r.elo < ends(r.interval)[1] for r in board.systems)
    assert all(ends(r.band)[0] < ends(r.interval)[0] for r in board.systems)


def test_no_interval_under_eight_contexts_and_a_note_under_fifty(simulate: Simulate) -> None:
    few = leaderboard(simulate(7, 3, 2))
    assert all(r.interval is None and r.band is None and r.error is None and r.paper_interval is None for r in few.systems)
    assert few.difference("s0", "s1").interval is None
    assert "too few" in few.warnings[-1]
    assert any("small-sample" in w for w in leaderboard(simulate(20, 3, 2)).warnings)
    assert not leaderboard(simulate(50, 3, 2)).warnings


def test_presentations_never_share_a_fit(simulate: Simulate) -> None:
    rows = simulate(10, 3, 1)
    mixed = [*rows, rows[0].model_copy(update={"presentation": "audio"})]
    with pytest.raises(UserError, match="audio, written"):
        leaderboard(mixed)
    assert leaderboard(mixed, presentation="written").judgments == len(rows)


def test_position_bias_is_estimated_and_does_not_move_a_system(simulate: Simulate) -> None:
    biased = simulate(150, 3, 2, seed=2, position=1.5)
    # The weak system is always shown first, so a fit without the term would take the judge's lean for quality.
    unfair = [r for r in biased if r.shown_first == "a" or "s0" not in (r.system_a, r.system_b)]
    fair = leaderboard(simulate(150, 3, 2, seed=2))
    board = leaderboard(unfair)
    naive = leaderboard(unfair, RatingModel("plain"))
    assert board.terms["position:judge-0"] == pytest.approx(1.4, abs=0.35)
    assert abs(board["s0"].elo - fair["s0"].elo) < 40 < abs(naive["s0"].elo - fair["s0"].elo)


def test_length_term_takes_the_lean_to_long_replies(simulate: Simulate) -> None:
    rows = simulate(100, 3, 2, seed=3, spread=0.0)
    # All three are equally good; verdicts lean to the longer reply, and s2 is long-winded.
    rng = np.random.default_rng(0)
    lengths = {(f"c{c:03}", f"s{s}", 0): int(rng.integers(15, 60) * (2 if s == 2 else 1)) for c in range(100) for s in range(3)}

    def lean(row: Judgment) -> Judgment:
        y = 1.2 * np.log(lengths[row.context, row.system_a, 0] / lengths[row.context, row.system_b, 0]) + rng.logistic()
        return row.model_copy(update={"winner": "a" if y > 0 else "b", "strength": min(5, 1 + int(abs(y)))})

    swayed = [lean(row) for row in rows]
    board, naive = leaderboard(swayed, RatingModel(lengths=lengths)), leaderboard(swayed)
    assert board.terms["length"] == pytest.approx(1.2, abs=0.4)
    assert ends(naive["s2"].interval)[0] > 1530
    assert ends(board["s2"].interval)[0] < 1500 < ends(board["s2"].interval)[1]


def test_a_system_that_never_lost_is_named_and_finite(simulate: Simulate) -> None:
    rows = [
        r.model_copy(update={"winner": "b"}) if r.system_b == "s2" else r
        for r in simulate(12, 3, 1, seed=4)
        if r.system_a != "s2"
    ]
    for method in METHODS:
        board = leaderboard(rows, RatingModel(method))
        assert "s2 won every comparison" in board.warnings[0]
        assert "Normal(0, 2)" in board.warnings[0]
        assert board.systems[0].system == "s2"
        assert board.systems[0].elo < 2500


def test_systems_that_never_met_are_named(simulate: Simulate) -> None:
    rows = simulate(12, 2, 1, seed=5)
    apart = [r.model_copy(update={"system_a": "t0", "system_b": "t1"}) for r in rows]
    board = leaderboard([*rows, *apart])
    assert "2 groups that never met (s0, s1; t0, t1)" in board.warnings[0]


def test_difference_is_tighter_than_two_intervals_and_antisymmetric(simulate: Simulate) -> None:
    board = leaderboard(simulate(60, 4, 2, seed=6))
    there, back = board.difference("s3", "s0"), board.difference("s0", "s3")
    assert there.elo == pytest.approx(-back.elo)
    assert there.error == pytest.approx(back.error)
    assert present(there.p_value) < 1e-6
    assert there.elo == pytest.approx(board["s3"].elo - board["s0"].elo)


def test_regular_and_adversarial_apart_and_together(simulate: Simulate) -> None:
    rows = simulate(40, 3, 1, seed=7)
    parts = [leaderboard(row for row in rows if row.subset == s) for s in ("regular", "adversarial")]
    assert [p.contexts for p in parts] == [36, 4]
    assert leaderboard(rows).judgments == sum(p.judgments for p in parts)


def test_axis_boards_and_weights(simulate: Simulate) -> None:
    rows = simulate(40, 3, 1, seed=8, axes=True)
    board = leaderboard(rows)
    for axis in "HEART":
        assert sum(r.axes[axis] for r in board.systems) / 3 == pytest.approx(0.5)
    only = leaderboard(rows, RatingModel(axis_weights={"E": 2.0}))
    assert {r.system: r.elo for r in only.systems} == pytest.approx(
        {r.system: r.elo for r in leaderboard(rows, RatingModel(axis_weights={"E": 1.0})).systems}
    )
    with pytest.raises(UserError, match="unknown axis 'X'"):
        leaderboard(rows, RatingModel(axis_weights={"X": 1.0}))


def test_swapping_the_names_of_the_sides_changes_nothing(simulate: Simulate) -> None:
    rows = simulate(20, 3, 2, seed=9, position=0.5)
    other: dict[Winner, Winner] = {"a": "b", "b": "a", "tie": "tie"}
    place: dict[str | None, Literal["a", "b"]] = {"a": "b", "b": "a"}
    swapped = [
        Judgment(
            **r.model_dump(exclude={"system_a", "system_b", "winner", "shown_first"}),
            system_a=r.system_b,
            system_b=r.system_a,
            winner=other[r.winner],
            shown_first=place[r.shown_first],
        )
        for r in rows
    ]
    one, two = leaderboard(rows), leaderboard(swapped)
    for r in one.systems:
        assert two[r.system].elo == pytest.approx(r.elo, abs=1e-6)
        assert two[r.system].interval == pytest.approx(r.interval, abs=1e-5)


def test_the_papers_rule_is_the_square_root_of_one_over_n() -> None:
    assert paper_half_width(2333) == pytest.approx(1.96 * 173.72 / 2333**0.5, rel=1e-4)


def test_no_rows_is_a_users_error() -> None:
    with pytest.raises(UserError, match="no judgments"):
        leaderboard([])


@pytest.mark.parametrize("method", ["ordinal", "strength"])
def test_the_bootstrap_stands_beside_the_sandwich(simulate: Simulate, method: Method) -> None:
    board = leaderboard(simulate(60, 3, 2, seed=11), RatingModel(method), bootstrap_draws=500)
    for r in board.systems:
        width, other = (
            ends(r.interval)[1] - ends(r.interval)[0],
            present(r.bootstrap_interval)[1] - present(r.bootstrap_interval)[0],
        )
        assert other == pytest.approx(width, rel=0.25)
        assert present(r.bootstrap_interval)[0] < r.elo < present(r.bootstrap_interval)[1]
    assert leaderboard(simulate(7, 3, 2), bootstrap_draws=100).systems[0].bootstrap_interval is None


def test_differences_of_all_pairs_are_one_family(simulate: Simulate) -> None:
    board = leaderboard(simulate(40, 4, 1, seed=12, spread=0.3))
    found = board.differences()
    assert len(found) == 6
    assert all(d.elo >= 0 and present(d.p_value) <= present(d.p_adjusted) <= 1 for d in found.values())
    assert any(present(d.p_adjusted) > present(d.p_value) for d in found.values())
    assert all(d.p_adjusted is None for d in leaderboard(simulate(7, 3, 1)).differences().values())


def test_a_system_judged_in_few_contexts_has_no_interval_of_its_own(simulate: Simulate) -> None:
    rows = [r for r in simulate(30, 3, 2, seed=13) if "s0" not in (r.system_a, r.system_b) or r.context < "c005"]
    board = leaderboard(rows, bootstrap_draws=50)
    assert board["s0"].contexts == 5
    assert board["s0"].interval is None
    assert board["s0"].bootstrap_interval is None
    assert board["s1"].interval is not None
    assert board.difference("s0", "s1").interval is None
    assert any("without an interval: s0" in w for w in board.warnings)
