"""Agreement to 1e-6 with libraries that define the same thing."""

from typing import Any

import arenakit
import evalica
import krippendorff
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from statsmodels.miscmodels.ordinal_model import OrderedModel
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss
from statsmodels.stats.multitest import multipletests

from harness.ranking import bradley_terry, ordinal, ordinal_design
from harness.ranking.elo_intervals import clustered
from harness.ranking.fits import rao_kupper
from harness.ranking.ordinal_design import EXACT
from harness.ranking.verdicts import Votes, gather
from harness.statistics.correlation import benjamini_hochberg
from harness.statistics.reliability import cohen_kappa, coincidences, fleiss_kappa, fleiss_sums, krippendorff_alpha
from harness.store.judgment import Judgment
from tests.harness.conftest import Simulate
from tests.present import present

CLOSE = 1e-6


@pytest.fixture(scope="module")
def rows(simulate: Simulate) -> list[Judgment]:
    return simulate(40, 4, 2, seed=3, position=0.4, ties=0.3, spread=0.6)


@pytest.fixture(scope="module")
def votes(rows: list[Judgment]) -> Votes:
    return gather(rows)


def _evalica_arguments(rows: list[Judgment]) -> tuple[list[str], list[str], list[Any]]:
    winner = {"a": evalica.Winner.X, "b": evalica.Winner.Y, "tie": evalica.Winner.Draw}
    return [r.system_a for r in rows], [r.system_b for r in rows], [winner[r.winner] for r in rows]


def test_strength_weighted_fit_is_evalicas(rows: list[Judgment], votes: Votes) -> None:
    found = bradley_terry.fit(bradley_terry.wins_by_context(votes).sum(axis=0)).theta
    result = evalica.bradley_terry(
        *_evalica_arguments(rows), weights=[float(r.strength) for r in rows], tolerance=1e-14, limit=100_000
    )
    theirs = np.log(result.scores[list(votes.systems)].to_numpy())
    assert np.abs(found - (theirs - theirs.mean())).max() < CLOSE


def test_plain_fit_is_arenakits(rows: list[Judgment], votes: Votes) -> None:
    arena = arenakit.Arena(
        [arenakit.Battle(model_a=r.system_a, model_b=r.system_b, winner=r.winner, item_id=r.context) for r in rows]
    )
    theirs = arenakit.fit_bt(arena.counts(), ties="half", prior=0.0).scores
    order = [list(arena.models).index(s) for s in votes.systems]
    found = bradley_terry.fit(bradley_terry.wins_by_context(votes, weighted=False).sum(axis=0)).theta
    assert np.abs(found - (theirs[order] - theirs.mean())).max() < CLOSE


def test_rao_kupper_is_arenakits(rows: list[Judgment], votes: Votes) -> None:
    arena = arenakit.Arena(
        [arenakit.Battle(model_a=r.system_a, model_b=r.system_b, winner=r.winner, item_id=r.context) for r in rows]
    )
    theirs = arenakit.fit_rao_kupper(arena.counts(), prior=0.0)
    order = [list(arena.models).index(s) for s in votes.systems]
    found = rao_kupper(votes, EXACT)
    assert np.abs(found.theta - (theirs.scores[order] - theirs.scores.mean())).max() < CLOSE
    assert found.terms["cut:judge:1"] == pytest.approx(np.log(present(theirs.tie_theta)), abs=CLOSE)


def test_ordinal_fit_is_statsmodels_on_mirrored_rows(simulate: Simulate) -> None:
    rows = simulate(25, 3, 2, seed=5, position=0.5, ties=0.3, spread=0.7)
    votes = gather(rows)
    d = ordinal_design.design(votes, EXACT)
    fitted = ordinal.fit(d)
    # Each row once as it is and once with its sides exchanged makes the free cuts of statsmodels symmetric.
    x = np.zeros((len(votes), 4))
    for k in (1, 2):
        x[:, k - 1] = (votes.first == k).astype(float) - (votes.second == k)
    for j in (0, 1):
        x[:, 2 + j] = np.where(votes.judge == j, votes.shown, 0)
    both, level = np.vstack([x, -x]), np.concatenate([votes.level, -votes.level])
    model = OrderedModel(pd.Series(pd.Categorical(level, ordered=True)), both, distr="logit")
    theirs = model.fit(method="newton", maxiter=200, gtol=1e-10, disp=False)
    assert np.abs((fitted.theta - fitted.theta[0])[1:] - theirs.params.to_numpy()[:2]).max() < CLOSE
    assert fitted.terms["position:judge-0"] == pytest.approx(theirs.params.to_numpy()[2], abs=CLOSE)
    assert fitted.terms["position:judge-1"] == pytest.approx(theirs.params.to_numpy()[3], abs=CLOSE)
    assert 2 * fitted.log_likelihood == pytest.approx(theirs.llf, abs=1e-5)
    cuts = model.transform_threshold_params(theirs.params.to_numpy())[1:-1]
    ours = [v for name, v in fitted.terms.items() if name.startswith("cut:")]
    assert cuts[len(cuts) // 2 :] == pytest.approx(ours, abs=CLOSE)


def test_clustered_covariance_is_statsmodels(votes: Votes) -> None:
    wins = bradley_terry.wins_by_context(votes)
    fitted = bradley_terry.fit(wins.sum(axis=0))
    own = clustered(fitted.bread, bradley_terry.scores_by_context(fitted.theta, wins), None, 4, "none").matrix
    x = np.zeros((len(votes), 4))
    x[np.arange(len(votes)), votes.first] = 1
    x[np.arange(len(votes)), votes.second] = -1
    y, weight = (1 + np.sign(votes.level)) / 2, np.maximum(np.abs(votes.level), 1)
    model = sm.GLM(y, x[:, 1:], family=sm.families.Binomial(), freq_weights=weight)
    theirs = model.fit(cov_type="cluster", cov_kwds={"groups": votes.context, "use_correction": False}, tol=1e-14)
    contrast = np.hstack([-np.ones((3, 1)), np.eye(3)])
    assert np.abs(contrast @ own @ contrast.T - theirs.cov_params()).max() < CLOSE


def test_coefficients_are_the_libraries() -> None:
    rng = np.random.default_rng(1)
    ratings = rng.integers(0, 4, (5, 60)).astype(float)
    ratings[rng.random(ratings.shape) < 0.2] = np.nan
    ratings[:, 40:] = np.where(np.isnan(ratings[:, 40:]), np.nan, ratings[0, 40:])
    counts = np.stack([(ratings == v).sum(axis=0) for v in range(4)], axis=1).astype(float)
    for metric in ("nominal", "ordinal", "interval"):
        theirs = krippendorff.alpha(ratings, level_of_measurement=metric, value_domain=[0.0, 1.0, 2.0, 3.0])
        assert float(krippendorff_alpha(coincidences(counts), metric)) == pytest.approx(theirs, abs=CLOSE)
    full = rng.multinomial(5, [0.5, 0.2, 0.3], size=50).astype(float)
    assert float(fleiss_kappa(fleiss_sums(full))) == pytest.approx(statsmodels_fleiss(full), abs=CLOSE)
    confusion = rng.integers(1, 30, (3, 3)).astype(float)
    assert float(cohen_kappa(confusion)) == pytest.approx(cohens_kappa(confusion).kappa, abs=CLOSE)


def test_benjamini_hochberg_is_statsmodels() -> None:
    p = {"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.5}
    theirs = multipletests(list(p.values()), method="fdr_bh")[1]
    assert list(benjamini_hochberg(p).values()) == pytest.approx(theirs.tolist(), abs=CLOSE)
    assert benjamini_hochberg({}) == {}
