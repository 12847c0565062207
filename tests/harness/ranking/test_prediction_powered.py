from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from benchmarks.ranking_people_coverage import JUDGES, World, boards, draw, summary, truth
from harness.ranking import bradley_terry, prediction_powered
from harness.ranking.elo_intervals import LEAST_SHARE
from harness.ranking.prediction_powered import PeoplesFit, Sample, fit
from harness.statistics.arrays import Floats, Ints

CLOSE = 1e-6


def a_board(seed: int = 1, votes: int = 90, judge: str = "agrees on 80 %", world: World | None = None) -> Sample:
    world = world or World(contexts=40, raters=3)
    return draw(world, JUDGES[judge], votes, np.random.default_rng(seed))[0]


def with_rules(sample: Sample, seed: int = 3) -> Sample:
    """The sample with a tenth of its pairs decided by a rule, and without the votes on them."""
    rng = np.random.default_rng(seed)
    decided = np.where(rng.random(sample.first.size) < 0.1, (sample.first == 0).astype(float), np.nan)
    kept = np.isnan(decided[sample.voted])
    return replace(
        sample, decided=decided, voted=sample.voted[kept], vote=sample.vote[kept], rater=sample.rater[kept],
        weight=sample.weight[kept],
    )  # fmt: skip


def without_verdicts(sample: Sample, share: float) -> Sample:
    gone = np.random.default_rng(4).random(sample.stated.size) < share
    return replace(sample, stated=np.where(gone, np.nan, sample.stated))


def minimum(sample: Sample, power: float) -> Floats:
    """The minimum of the objective as its definition writes it, by a general optimiser."""
    predicted = prediction_powered._predictions(sample)
    ruled = ~np.isnan(sample.decided)

    def loss(apart: Floats, y: Floats) -> Floats:
        return np.asarray(y * np.logaddexp(0, -apart) + (1 - y) * np.logaddexp(0, apart))

    def objective(theta: Floats) -> float:
        apart = theta[sample.first] - theta[sample.second]
        verdicts = np.where(np.isnan(predicted), 0.0, loss(apart, np.nan_to_num(predicted)))
        rules = loss(apart, np.nan_to_num(sample.decided))[ruled].sum()
        differ = loss(apart[sample.voted], sample.vote) - power * verdicts[sample.voted]
        share = 1 - ruled.sum() / sample.pairs
        votes = share * (sample.weight * differ).sum() / sample.weight.sum()
        return float((power * verdicts.sum() + rules) / sample.pairs + votes + theta.sum() ** 2)

    found = minimize(objective, np.zeros(sample.systems), method="BFGS", options={"gtol": 1e-9}).x
    return np.asarray(found - found.mean())


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_the_fit_is_the_minimum_of_the_objective(power: float) -> None:
    weighted = replace(a_board(), weight=np.random.default_rng(2).uniform(0.5, 4, 90), pairs=500)
    for sample in (weighted, with_rules(weighted), without_verdicts(with_rules(weighted), 0.4)):
        assert np.abs(fit(sample, power).theta - minimum(sample, power)).max() < 1e-5


def oracle_data(pairs: int) -> tuple[Sample, Floats]:
    """The data of the oracle's figures, and the judge's chances; every pair is a context."""
    k = np.arange(pairs)
    first = k % 4
    second = (first + 1 + (k // 4) % 3) % 4
    worth = np.array([0.5, 0.1, -0.2, -0.4])
    apart = worth[first] - worth[second]
    voted = np.arange(3, pairs, 5)[:90]
    vote = (np.sin(7.0 * voted) / 2 + 0.5 < expit(apart[voted] + np.sin(voted))).astype(float)
    nothing = np.full(pairs, np.nan)
    sample = Sample(
        pairs, 4, pairs, first, second, k, nothing, nothing, voted, vote, np.zeros(90, np.int64),
        (1 + voted % 3).astype(np.float64),
    )  # fmt: skip
    return sample, np.asarray(expit(1.2 * apart + 1.5 * np.sin(k)))


PPI_PYTHON = (
    (600, 0.0, False, (-0.43802095, -0.59261787, -0.56115817), (0.38284211, 0.36878843, 0.37367717)),
    (600, 0.0, True, (-0.48312129, -0.64338566, -0.59287343), (0.42221986, 0.40061724, 0.40823682)),
    (600, 0.4, False, (-0.41573800, -0.56743965, -0.53155697), None),
    (600, 0.4, True, (-0.44188391, -0.62053048, -0.52321923), None),
    (600, 1.0, False, (-0.38215976, -0.52860174, -0.48618774), None),
    (600, 1.0, True, (-0.39902222, -0.60625863, -0.41610365), None),
    (40_000, 1.0, False, (-0.40779508, -0.54875236, -0.49536440), (0.37695634, 0.38156671, 0.38386159)),
)
"""Pairs, λ, whether weighted, and `ppi_logistic_pointestimate` and the standard errors of `ppi_logistic_ci`, ppi-python 0.2.3,
on x = e_first − e_second without the first system. It takes frame and votes for separate samples, so that errors compare
for λ = 0, and for a frame so large that it makes no difference."""


@pytest.mark.parametrize(("pairs", "power", "weighted", "theta", "errors"), PPI_PYTHON)
def test_the_fit_is_ppi_pythons(
    pairs: int, power: float, weighted: bool, theta: tuple[float, ...], errors: tuple[float, ...] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    sample, predicted = oracle_data(pairs)
    monkeypatch.setattr(prediction_powered, "_predictions", lambda _: predicted)
    found = fit(sample if weighted else replace(sample, weight=np.ones(90)), power)
    assert found.theta[1:] - found.theta[0] == pytest.approx(theta, abs=CLOSE)
    if errors is not None:
        contrast = np.hstack([-np.ones((3, 1)), np.eye(3)])
        own = np.sqrt(np.diag(contrast @ found.covariance.matrix @ contrast.T))
        assert own == pytest.approx(errors, abs=CLOSE if power == 0 else 0.01)


def test_without_a_judge_it_is_plain_bradley_terry() -> None:
    sample = a_board()
    wins = np.zeros((5, 5))
    np.add.at(wins, (sample.first[sample.voted], sample.second[sample.voted]), sample.vote)
    np.add.at(wins, (sample.second[sample.voted], sample.first[sample.voted]), 1 - sample.vote)
    plain = bradley_terry.fit(wins).theta
    nobody = fit(without_verdicts(sample, 1.1))
    assert nobody.theta == pytest.approx(plain, abs=CLOSE)
    assert fit(sample, 0.0).theta == pytest.approx(plain, abs=CLOSE)
    assert (nobody.power, nobody.worth) == (0.0, 90.0)


def same(one: PeoplesFit, other: PeoplesFit, order: Ints) -> None:
    assert one.power == pytest.approx(other.power, abs=CLOSE)
    assert one.worth == pytest.approx(other.worth, rel=CLOSE)
    assert one.theta == pytest.approx(other.theta[order], abs=CLOSE)
    assert one.covariance.matrix == pytest.approx(other.covariance.matrix[np.ix_(order, order)], abs=CLOSE)


@pytest.mark.parametrize("raters", [3, 12])
def test_sides_names_and_units_make_no_difference(raters: int) -> None:
    sample = with_rules(a_board(world=World(contexts=40, raters=raters)))
    found = fit(sample)
    every = np.arange(5)
    swapped = np.random.default_rng(5).random(sample.first.size) < 0.5
    vote = np.where(swapped[sample.voted], 1 - sample.vote, sample.vote)
    turned = replace(
        sample, first=np.where(swapped, sample.second, sample.first), second=np.where(swapped, sample.first, sample.second),
        stated=np.where(swapped, -sample.stated, sample.stated), vote=vote,
        decided=np.where(swapped, 1 - sample.decided, sample.decided),
    )  # fmt: skip
    same(fit(turned), found, every)
    names = np.array([3, 0, 4, 1, 2])
    same(found, fit(replace(sample, first=names[sample.first], second=names[sample.second])), names)
    same(fit(replace(sample, context=np.random.default_rng(6).permutation(40)[sample.context])), found, every)
    same(fit(replace(sample, stated=sample.stated / 100, weight=sample.weight * 7)), found, every)


def test_a_census_needs_no_judge() -> None:
    sample = a_board(votes=400)
    assert np.unique(sample.voted).size == 400 == sample.pairs
    alone = fit(sample, 0.0)
    for power in (0.4, 1.0):
        assert fit(sample, power).theta == pytest.approx(alone.theta, abs=CLOSE)
        assert np.diag(fit(sample, power).covariance.matrix) == pytest.approx(np.diag(alone.covariance.matrix), rel=1e-6)


def test_verdicts_on_none_of_the_voted_pairs_have_no_weight() -> None:
    sample = a_board()
    stated = sample.stated.copy()
    stated[sample.voted] = np.nan
    assert fit(replace(sample, stated=stated)).power == 0.0


def test_a_good_judge_saves_votes_and_an_inverted_one_none() -> None:
    sample = a_board(judge="perfect", votes=120)
    assert fit(sample).worth > 150
    assert fit(replace(sample, stated=-sample.stated)).worth < 130


@pytest.mark.parametrize("judge", ["agrees on 80 %", "agrees on 66 %"])
def test_the_weight_is_the_one_with_the_narrowest_intervals(judge: str) -> None:
    sample = a_board(judge=judge, votes=500, world=World(contexts=150, raters=3))
    weights = np.linspace(0, 1, 51)
    traces = [np.trace(fit(sample, float(power)).covariance.matrix) for power in weights]
    assert fit(sample).power == pytest.approx(weights[int(np.argmin(traces))], abs=0.08)


def test_a_constant_bias_that_cancels_costs_nothing() -> None:
    sample = replace(a_board(), stated=np.full(400, 3.0))
    assert np.trace(fit(sample).covariance.matrix) <= 1.02 * np.trace(fit(sample, 0.0).covariance.matrix)


def test_rules_have_the_share_of_their_pairs() -> None:
    """System 0 wins every pair that a rule decides, and those are half of all pairs."""
    rng = np.random.default_rng(7)
    sample = a_board(votes=200)
    decided = np.where(rng.random(400) < 0.5, np.where(sample.first == 0, 1.0, 0.5), np.nan)
    kept = np.isnan(decided[sample.voted])
    few = replace(
        sample, decided=decided, voted=sample.voted[kept], vote=sample.vote[kept], rater=sample.rater[kept],
        weight=sample.weight[kept],
    )  # fmt: skip
    more = replace(few, pairs=40_000)
    assert fit(few, 0.0).theta[0] > fit(more, 0.0).theta[0]
    votes_alone = replace(few, decided=np.full(400, np.nan))
    assert fit(more, 0.0).theta == pytest.approx(fit(votes_alone, 0.0).theta, abs=0.02)


@pytest.mark.parametrize("power", [0.0, None])
def test_rates_correct_a_biased_draw(power: float | None) -> None:
    """Pairs that system 0 wins clearly are drawn rarely: its rating is right with the rates, and too low without them."""
    world = World(contexts=3000, raters=3)
    whole = draw(world, JUDGES["perfect"], 30_000, np.random.default_rng(8))[0]
    rng = np.random.default_rng(9)
    rate = np.where((whole.first[whole.voted] == 0) & (whole.stated[whole.voted] > 2), 0.2, 1.0)
    kept = rng.random(30_000) < rate
    drawn = replace(
        whole, voted=whole.voted[kept], vote=whole.vote[kept], rater=whole.rater[kept], weight=1 / rate[kept]
    )  # fmt: skip
    want = truth(world)
    assert np.abs(fit(drawn, power).theta - want).max() < 0.1
    if power == 0.0:
        assert fit(replace(drawn, weight=np.ones_like(drawn.weight)), power).theta[0] < want[0] - 0.3


def test_the_covariance_is_the_jackknifes_on_many_conversations() -> None:
    """Left out with their verdicts and their votes, N and n included."""
    sample = without_verdicts(with_rules(a_board(votes=900, world=World(contexts=150, raters=3))), 0.2)
    power = 0.7
    found = fit(sample, power)
    predicted = prediction_powered._predictions(sample)
    left = []
    for context in range(sample.contexts):
        pairs, votes = sample.context != context, sample.context[sample.voted] != context
        fewer = replace(
            sample, pairs=int(pairs.sum()), first=sample.first[pairs], second=sample.second[pairs],
            context=sample.context[pairs], decided=sample.decided[pairs],
            voted=(np.cumsum(pairs) - 1)[sample.voted[votes]], vote=sample.vote[votes], rater=sample.rater[votes],
            weight=sample.weight[votes],
        )  # fmt: skip
        theta = prediction_powered._Terms(fewer, predicted[pairs], power).solve(found.theta)
        assert theta is not None
        left.append(theta)
    away = np.array(left) - np.mean(left, axis=0)
    assert np.diag(found.covariance.matrix) == pytest.approx(np.diag(149 / 150 * away.T @ away), rel=0.05)
    assert found.by_context == pytest.approx(found.theta - np.array(left), abs=0.15 * np.abs(found.by_context).max())


def test_no_variance_is_under_a_quarter_of_that_of_independent_votes() -> None:
    ties = replace(a_board(), vote=np.full(90, 0.5))
    found = fit(ties, 0.0)
    met = np.zeros((5, 5))
    np.add.at(met, (ties.first[ties.voted], ties.second[ties.voted]), 0.25)
    bread = np.diag((met + met.T).sum(axis=0)) - met - met.T
    assert found.theta == pytest.approx(np.zeros(5), abs=CLOSE)
    assert np.diag(found.covariance.matrix) == pytest.approx(LEAST_SHARE * np.diag(np.linalg.pinv(bread)), rel=CLOSE)


def test_eight_raters_and_more_are_a_sample_too() -> None:
    world = World(contexts=60, raters=8, taste_sd=2.0)
    sample = draw(world, JUDGES["useless"], 300, np.random.default_rng(10))[0]
    both, contexts = fit(sample, 0.0), fit(replace(sample, rater=sample.rater % 7), 0.0)
    sizes = np.bincount(sample.rater)
    assert both.covariance.freedom == pytest.approx(sizes.sum() ** 2 / (sizes**2).sum() - 1)
    assert contexts.covariance.freedom == np.unique(sample.context[sample.voted]).size - 1
    assert np.trace(both.covariance.matrix) > 1.3 * np.trace(contexts.covariance.matrix)


def test_twelve_raters_of_whom_one_leads_are_no_sample_and_a_moderate_leader_is_seen_by_leaving() -> None:
    world = World(contexts=60, raters=12, taste_sd=0.7)
    sample = draw(world, JUDGES["useless"], 240, np.random.default_rng(10))[0]
    contexts = np.unique(sample.context[sample.voted]).size
    for lead, freedom in ((0.8, contexts - 1), (0.5, contexts - 1), (0.25, 1 / (0.25**2 + 0.75**2 / 11) - 1)):
        many = round(lead * 240)
        rater = np.concatenate([np.zeros(many, np.int64), 1 + np.arange(240 - many) % 11])
        assert fit(replace(sample, rater=rater), 0.0).covariance.freedom == pytest.approx(freedom, rel=0.01)


def test_the_raters_part_is_the_change_when_each_leaves() -> None:
    sample = draw(World(contexts=60, raters=9, taste_sd=2.0), JUDGES["useless"], 300, np.random.default_rng(10))[0]
    rater = np.concatenate([np.zeros(75, np.int64), 1 + np.arange(225) % 8])
    sample = replace(sample, rater=rater)
    terms = prediction_powered._Terms(sample, np.full(sample.stated.size, np.nan), 0.0)
    theta = fit(sample, 0.0).theta
    left = []
    for one in range(9):
        stays = rater != one
        fewer = replace(
            sample, voted=sample.voted[stays], vote=sample.vote[stays], rater=rater[stays], weight=sample.weight[stays]
        )
        left.append(fit(fewer, 0.0).theta)
    away = np.array(left) - np.mean(left, axis=0)
    found = terms._without_each(theta, rater, 9, 7.0)
    assert np.diag(found.matrix) == pytest.approx(np.diag(8 / 9 * away.T @ away), rel=0.2)
    assert found.freedom == 6.0


def test_votes_without_an_end_are_refused_and_a_judge_cannot_remove_the_end() -> None:
    sample = a_board()
    with pytest.raises(ValueError, match="connect"):
        fit(replace(sample, vote=(sample.first[sample.voted] == 0) | (sample.second[sample.voted] == 4)), 0.0)
    with pytest.raises(ValueError, match="no votes"):
        fit(replace(sample, voted=np.zeros(0, np.int64), vote=np.zeros(0), rater=np.zeros(0, np.int64), weight=np.zeros(0)))


def test_a_judge_that_leaves_no_minimum_has_no_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    """System 0 won nearly all votes, the judge is against it on the very pairs voted on, and for it on all others."""
    sample = a_board()
    side = np.where(sample.first == 0, 1.0, np.where(sample.second == 0, -1.0, 0.0))
    predicted = np.asarray(0.5 + 0.4 * side)
    predicted[sample.voted] = 1 - predicted[sample.voted]
    vote = (1 + side[sample.voted]) / 2
    vote[np.flatnonzero(side[sample.voted])[0]] = 0.5
    monkeypatch.setattr(prediction_powered, "_predictions", lambda _: predicted)
    assert prediction_powered._Terms(replace(sample, vote=vote), predicted, 1.0).solve(np.zeros(5)) is None
    found = fit(replace(sample, vote=vote), 1.0)
    assert (found.power, found.worth) == (0.0, 90.0)
    assert found.theta == pytest.approx(fit(replace(sample, vote=vote), 0.0).theta)


@pytest.mark.long
@pytest.mark.parametrize("judge", ["perfect", "a taste of its own", "length"])
def test_the_interval_covers_the_truth_whatever_the_judge(judge: str) -> None:
    """150 boards, of 2,000 in benchmarks/ranking_people_coverage.py: the limit is four standard errors under 95 %."""
    world = World()
    found = summary(list(boards(world, JUDGES[judge], 120, 150, [11])), 120, world)
    assert found["covered"] > 91.5
    assert found["worth_by_error"] > (150 if judge == "perfect" else 110)
