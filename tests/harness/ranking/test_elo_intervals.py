import numpy as np
import pytest

from harness.ranking import bradley_terry, ordinal, ordinal_design
from harness.ranking.elo_intervals import Covariance, clustered, max_t, of_differences, two_way
from harness.ranking.fits import fit_votes
from harness.ranking.ordinal_design import EXACT
from harness.ranking.verdicts import gather
from harness.store.judgment import Judgment
from tests.harness.conftest import Simulate


def test_cr3_is_the_jackknife_over_contexts(simulate: Simulate) -> None:
    votes = gather(simulate(25, 3, 2, seed=1))
    wins = bradley_terry.wins_by_context(votes)
    whole = bradley_terry.fit(wins.sum(axis=0))
    scores = bradley_terry.scores_by_context(whole.theta, wins)
    breads = bradley_terry.breads_by_context(whole.theta, wins)
    found = clustered(whole.bread, scores, breads, 3)
    left = np.array([bradley_terry.fit(wins.sum(axis=0) - one).theta for one in wins])
    away = left - left.mean(axis=0)
    # One Newton step stands for each refit, which is right to second order.
    assert np.diag(found.matrix) == pytest.approx(np.diag(24 / 25 * away.T @ away), rel=0.05)
    assert found.freedom == 24


def test_scores_of_the_ordinal_fit_are_slopes_and_sum_to_the_penalty(simulate: Simulate) -> None:
    votes = gather(simulate(15, 3, 2, seed=2, ties=0.3, position=0.3))
    fitted = ordinal.fit(ordinal_design.design(votes, EXACT))
    scores, breads = ordinal.scores_by_context(fitted), ordinal.breads_by_context(fitted)
    assert np.abs(scores.sum(axis=0)).max() < 1e-6
    assert breads.sum(axis=0) == pytest.approx(fitted.bread, abs=1e-9)
    # Against differences of the log-likelihood of one context.
    one = fitted.design
    seen, raised = (counts[:, [3]].toarray()[:, 0] for counts in (one.seen, one.raised))
    spans = fitted.design.span_count * (np.arange(16) == 3)[:, None]
    step = 1e-5
    for k in range(fitted.design.size):
        ends = []
        for sign in (1, -1):
            beta = fitted.beta.copy()
            beta[k] += sign * step
            z = one.rows @ beta
            inside = -raised @ np.logaddexp(0, -z) - (seen - raised) @ np.logaddexp(0, z)
            ends.append(inside + (spans @ np.log(-np.expm1(-(one.spans @ beta)))).sum())
        assert scores[3, k] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-6)


def test_differences_from_the_covariance() -> None:
    matrix = np.array([[4.0, 1.0], [1.0, 9.0]])
    assert of_differences(matrix)[0, 1] == pytest.approx(np.sqrt(11))
    assert of_differences(matrix)[0, 0] == 0


def test_simultaneous_bands_are_wider_than_one_and_narrower_than_bonferroni() -> None:
    rng = np.random.default_rng(3)
    root = rng.normal(size=(6, 6))
    covariance = Covariance(root @ root.T, 40)
    one, bonferroni = covariance.quantile(), covariance.quantile(1 - 0.05 / 6)
    assert one < max_t(covariance) < bonferroni
    alike = Covariance(np.ones((6, 6)), 40)
    assert max_t(alike) == pytest.approx(one, abs=0.05)


def test_two_ways_add_and_never_turn_negative() -> None:
    a, b, both = (Covariance(m * np.eye(2), f) for m, f in ((2.0, 20), (1.0, 9), (0.5, 99)))
    assert two_way(a, b, both).matrix == pytest.approx(2.5 * np.eye(2))
    assert two_way(a, b, both).freedom == 9
    assert np.linalg.eigvalsh(two_way(both, both, a).matrix).min() >= 0


def test_raters_of_strong_taste_widen_the_interval(simulate: Simulate) -> None:
    rng = np.random.default_rng(4)
    taste = {f"human-{k}": rng.normal(0, 1.5) for k in range(10)}

    def swayed(row: Judgment) -> Judgment:
        lean = taste[row.judge] * ((row.system_a == "s0") - (row.system_b == "s0"))
        return row.model_copy(update={"winner": "a" if lean + rng.logistic() > 0 else "b"})

    people = [swayed(r) for r in simulate(60, 3, 10, seed=4, spread=0.0, source="human")]
    judges = [r.model_copy(update={"source": "judge"}) for r in people]
    by_rater, by_context = fit_votes(gather(people)), fit_votes(gather(judges))
    assert np.sqrt(by_rater.covariance.matrix[0, 0]) > 2 * np.sqrt(by_context.covariance.matrix[0, 0])
    assert by_rater.covariance.freedom == 9
