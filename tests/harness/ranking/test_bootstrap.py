import time

import evalica
import numpy as np
import pytest
from numpy.typing import NDArray

from harness.ranking import bradley_terry, ordinal, ordinal_bootstrap, ordinal_design
from harness.ranking.bradley_terry import refit
from harness.ranking.connectivity import PRIOR_PRECISION, are_bounded, is_bounded
from harness.ranking.fits import fit_votes
from harness.ranking.scale import ELO_PER_LOGIT
from harness.ranking.verdicts import Votes, gather
from harness.statistics.bootstrap import draw_contexts, percentile_interval
from tests.harness.conftest import Simulate

WITHIN_ELO = 0.1


@pytest.mark.parametrize("contexts", [8, 12, 60])
def test_refits_are_within_a_tenth_of_an_elo_of_full_convergence(simulate: Simulate, contexts: int) -> None:
    votes = gather(simulate(contexts, 4, 2, seed=contexts, spread=1.5, position=0.3))
    wins = bradley_terry.wins_by_context(votes)
    often = draw_contexts(contexts, 150, np.random.default_rng(0))
    whole = bradley_terry.fit(wins.sum(axis=0))
    found = refit(wins, often, whole.theta, whole.precision)
    exact = np.array([bradley_terry.fit(np.tensordot(draw, wins, axes=1)).theta for draw in often])
    assert ELO_PER_LOGIT * np.abs(found - exact).max() < WITHIN_ELO

    fitted = ordinal.fit(ordinal_design.design(votes))
    found = ordinal_bootstrap.refit(fitted, votes, often)
    exact = np.array([_alone(fitted, votes, draw) for draw in often])
    assert ELO_PER_LOGIT * np.abs(found - exact).max() < WITHIN_ELO


def _alone(fitted: ordinal.OrdinalFit, votes: Votes, draw: NDArray[np.float64]) -> NDArray[np.float64]:
    ridge = fitted.design.ridge.copy()
    if not is_bounded(np.tensordot(draw, bradley_terry.wins_by_context(votes, weighted=False), axes=1)):
        ridge[: fitted.design.systems] = PRIOR_PRECISION
    return ordinal.fit(fitted.design, weights=draw, ridge=ridge).theta


def test_a_draw_that_is_separated_is_held_and_the_others_are_not(simulate: Simulate) -> None:
    # s1 loses once in one context: without that context it never loses.
    rows = [r.model_copy(update={"winner": "b"}) for r in simulate(10, 2, 2)]
    rows[0] = rows[0].model_copy(update={"winner": "a"})
    wins = bradley_terry.wins_by_context(gather(rows), weighted=False)
    often = draw_contexts(10, 200, np.random.default_rng(1))
    whole = bradley_terry.fit(wins.sum(axis=0))
    assert whole.precision == 0
    found = refit(wins, often, whole.theta, whole.precision)
    has_loss = often[:, 0] > 0
    assert 0 < has_loss.sum() < 200
    assert np.isfinite(found).all()
    free = found[has_loss, 1] - found[has_loss, 0]
    losses = often[has_loss, 0]
    assert free == pytest.approx(np.log((20 - losses) / losses), abs=1e-3)
    held = bradley_terry.fit(np.array([[0.0, 0.0], [20.0, 0.0]])).theta
    assert found[~has_loss] == pytest.approx(np.tile(held, ((~has_loss).sum(), 1)), abs=1e-3)


def test_stacked_reach_is_that_of_each() -> None:
    rng = np.random.default_rng(2)
    stack = (rng.random((300, 5, 5)) < 0.3) * (1 - np.eye(5))
    assert are_bounded(stack).tolist() == [is_bounded(one) for one in stack]
    assert 0 < are_bounded(stack).sum() < 300


def test_draws_are_multinomial() -> None:
    often = draw_contexts(50, 4000, np.random.default_rng(3))
    assert (often.sum(axis=1) == 50).all()
    assert often.mean(axis=0) == pytest.approx(1, abs=0.08)
    assert often.var(axis=0).mean() == pytest.approx(49 / 50, abs=0.05)


def test_expanded_percentiles_widen_few_contexts_and_vanish_with_many() -> None:
    draws = np.random.default_rng(4).standard_normal(200_000)
    few, many = percentile_interval(draws, 10), percentile_interval(draws, 100_000)
    # sqrt(10/9) times Student's quantile with nine degrees of freedom.
    assert few[1] == pytest.approx(np.sqrt(10 / 9) * 2.262, abs=0.03)
    assert many[1] == pytest.approx(1.96, abs=0.02)


def test_bootstrap_and_sandwich_agree_on_many_contexts(simulate: Simulate) -> None:
    votes = gather(simulate(200, 3, 2, seed=5))
    fitted = ordinal.fit(ordinal_design.design(votes))
    drawn = ordinal_bootstrap.refit(fitted, votes, draw_contexts(200, 1500, np.random.default_rng(6)))
    errors = np.sqrt(np.diag(fit_votes(votes).covariance.matrix))
    assert drawn.std(axis=0) == pytest.approx(errors, rel=0.08)


def test_a_refit_costs_a_fraction_of_a_librarys(simulate: Simulate) -> None:
    rows = simulate(60, 6, 3, seed=7)
    votes = gather(rows)
    wins = bradley_terry.wins_by_context(votes)
    whole = bradley_terry.fit(wins.sum(axis=0))
    often = draw_contexts(60, 1000, np.random.default_rng(8))
    start = time.process_time()
    refit(wins, often, whole.theta, whole.precision)
    ours = (time.process_time() - start) / 1000
    sides = [r.system_a for r in rows], [r.system_b for r in rows]
    winner = [evalica.Winner.X if r.winner == "a" else evalica.Winner.Y for r in rows]
    start = time.process_time()
    for draw in often[:10]:
        evalica.bradley_terry(*sides, winner, weights=draw[votes.context].tolist(), limit=1000)
    theirs = (time.process_time() - start) / 10
    assert theirs > 5 * ours


def _skewed(seed: int = 0, *, systems: int = 26, contexts: int = 89, rows: int = 8_000) -> Votes:
    """A board of very unequal conversations, each between few systems: some draws have half of its verdicts, some have none."""
    rng = np.random.default_rng(seed)
    theta = rng.permutation(np.linspace(-3.0, 3.0, systems))
    share = 1 / np.arange(1, contexts + 1) ** 1.5
    often_seen = 1 / np.arange(1, systems + 1) ** 1.2
    first, second, context = [], [], []
    for c, part in enumerate(share / share.sum()):
        here = rng.choice(systems, 4 if c else 8, replace=False, p=often_seen / often_seen.sum())
        pair = rng.choice(here, (max(3, int(rows * part)), 2))
        pair = pair[pair[:, 0] != pair[:, 1]]
        first.append(pair[:, 0])
        second.append(pair[:, 1])
        context.append(np.full(len(pair), c))
    a, b, where = (np.concatenate(part) for part in (first, second, context))
    shown, judge = rng.choice([-1, 1], a.size), rng.integers(0, 3, a.size)
    lean = rng.normal(0, 1, (contexts, systems))
    y = (theta + lean[where])[np.arange(a.size), a] - (theta + lean[where])[np.arange(a.size), b] + 0.3 * shown
    y = y + rng.logistic(size=a.size)
    level = np.sign(y).astype(int) * (1 + np.searchsorted([0.5, 1.0, 1.8, 3.0], np.abs(y)))
    met, place = np.unique(np.concatenate([a, b]), return_inverse=True)
    return Votes(
        tuple(f"s{k:02}" for k in met), tuple(f"c{k:02}" for k in range(contexts)), ("j0", "j1", "j2"), place[: a.size],
        place[a.size :], level, where, judge, np.zeros(a.size, dtype=np.int64), shown, np.zeros(a.size),
    )  # fmt: skip


def test_a_skewed_board_is_refitted_without_one_full_fit_and_each_draw_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    votes = _skewed()
    fitted = ordinal.fit(ordinal_design.design(votes))
    often = draw_contexts(len(votes.contexts), 200, np.random.default_rng(1))

    def alone(*_: object, **__: object) -> None:
        raise AssertionError("a draw was fitted alone")

    monkeypatch.setattr(ordinal, "fit", alone)
    found = ordinal_bootstrap.refit(fitted, votes, often)
    monkeypatch.undo()
    exact = np.array([_alone(fitted, votes, often[k]) for k in range(0, 200, 20)])
    assert ELO_PER_LOGIT * np.abs(found[::20] - exact).max() < WITHIN_ELO
