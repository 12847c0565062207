import numpy as np
import pytest

from harness.ranking.structure import cronbach_alpha, factors, parallel_count, reply_marks, varimax
from harness.ranking.variants import variants
from tests.harness.conftest import Simulate


def test_reply_marks_are_antisymmetric_means(simulate: Simulate) -> None:
    found = reply_marks(simulate(20, 3, 2, axes=True))
    assert found.axes == ("H", "E", "A", "R", "T")
    assert len(found.replies) == 60
    assert np.abs(found.marks.reshape(20, 3, 5).sum(axis=1)).max() < 1e-12
    assert np.corrcoef(found.marks[:, 0], found.wins)[0, 1] > 0.4


def test_two_separate_qualities_are_found_and_rotated_apart() -> None:
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(2000, 2))
    table = np.column_stack([hidden[:, 0]] * 3 + [hidden[:, 1]] * 3) + 0.5 * rng.normal(size=(2000, 6))
    assert parallel_count(table) == 2
    loadings = np.abs(factors(table).loadings)
    own = loadings.argmax(axis=1)
    assert own.tolist() in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])
    assert loadings.min(axis=1).max() < 0.1
    assert loadings.max(axis=1).min() > 0.85


def test_one_quality_is_one_factor_with_high_alpha() -> None:
    rng = np.random.default_rng(1)
    table = rng.normal(size=(500, 1)) + 0.4 * rng.normal(size=(500, 5))
    assert parallel_count(table) == 1
    assert cronbach_alpha(table) > 0.95
    assert cronbach_alpha(rng.normal(size=(2000, 5))) == pytest.approx(0, abs=0.1)


def test_rotation_keeps_communalities() -> None:
    rng = np.random.default_rng(2)
    loadings = rng.normal(size=(6, 2))
    turned = varimax(loadings)
    assert (turned**2).sum(axis=1) == pytest.approx((loadings**2).sum(axis=1))
    assert (turned**2).var(axis=0).sum() > (loadings**2).var(axis=0).sum()


def test_what_cannot_be_factored_is_refused() -> None:
    with pytest.raises(ValueError, match="more replies than axes"):
        factors(np.ones((3, 5)))
    with pytest.raises(ValueError, match="constant"):
        factors(np.column_stack([np.arange(10.0), np.ones(10)]))


def test_variants_start_with_the_primary_and_label_the_rest(simulate: Simulate) -> None:
    rows = [*simulate(30, 3, 2, seed=4), *simulate(30, 3, 2, seed=4, source="human", ties=0.4)]
    found = variants(rows)
    assert found[0].name == "combined, all"
    assert found[0].kendall == 1
    assert {v.name for v in found if not v.exploratory} >= {"judges, regular", "people, adversarial"}
    assert all(v.exploratory == v.name.startswith("exploratory") for v in found)
    judges = next(v for v in found if v.name == "judges, all")
    assert judges.board.judgments == 180
    assert not any("people" in v.name for v in variants(simulate(9, 3, 1)))
