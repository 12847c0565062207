"""Every interval covers the truth as often as it says, however alike the turns of a conversation are."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from scipy.special import ndtr

from harness.statistics.arrays import Floats
from harness.statistics.bounds import Share, percentile_of, share_of_flags
from harness.statistics.interval import TAIL

SAMPLES = 100
LEAST = 0.89
"""A hundred samples that cover with 95 % cover fewer in one case of two hundred."""


def ranks(rng: np.random.Generator, sizes: Sequence[int], icc: float) -> dict[str, Floats]:
    """Conversation → the rank of each of its turns among all, 0 to 1."""
    return {
        str(k): np.asarray(ndtr(np.sqrt(icc) * rng.standard_normal() + np.sqrt(1 - icc) * rng.standard_normal(size)))
        for k, size in enumerate(sizes)
    }


QUICK = ((8, 1.0, (1, 7)), (24, 0.5, (4, 5)))
WORLDS = tuple(product((8, 24), (0.0, 0.5, 1.0), ((4, 5), (1, 7))))


@pytest.mark.parametrize(
    ("conversations", "icc", "lengths"),
    [pytest.param(*world, marks=() if world in QUICK else pytest.mark.long) for world in WORLDS],
)
def test_percentiles_and_shares_cover_the_truth(conversations: int, icc: float, lengths: tuple[int, int]) -> None:
    rng = np.random.default_rng([conversations, round(10 * icc), *lengths])
    covered = dict.fromkeys((0.5, 0.95), 0)
    of_share = dict.fromkeys((0.05, 0.5), 0)
    for _ in range(SAMPLES):
        turns = ranks(rng, rng.integers(*lengths, conversations).tolist(), icc)
        for share in covered:
            found = percentile_of({name: group.tolist() for name, group in turns.items()}, share)
            assert found is not None
            low, high = found.bounds(TAIL)
            covered[share] += low <= share <= high
        for share in of_share:
            seen = share_of_flags({name: (group < share).tolist() for name, group in turns.items()})
            assert seen is not None
            low, high = seen.bounds(TAIL)
            of_share[share] += low <= share <= high
    assert min(*covered.values(), *of_share.values()) / SAMPLES >= LEAST


def test_a_shown_interval_and_a_gate_at_its_level_agree() -> None:
    seen = Share(np.array([1.0, 0, 2, 0, 0, 1, 0, 0, 3]), np.array([4.0, 2, 2, 1, 6, 3, 3, 1, 4]))
    assert seen.interval == seen.bounds(TAIL)


def test_too_few_conversations_for_an_upper_end_have_none_and_keep_the_lower() -> None:
    turns = {str(k): [400.0 + k, 410.0 + k, 420.0 + k, 430.0 + k] for k in range(80)}
    few, many = percentile_of(dict(list(turns.items())[:60]), 0.95), percentile_of(turns, 0.95)
    assert few is not None
    assert many is not None
    assert few.bounds(TAIL)[0] > 400
    assert few.bounds(TAIL)[1] == np.inf
    assert many.bounds(TAIL)[1] < np.inf
