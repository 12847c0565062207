"""The change between two runs of the same conversations, against simulated truth."""

import numpy as np
import pytest

from harness.statistics.bounds import Worsening, percentile_of
from harness.statistics.paired import change_of_shares, change_of_times

TAIL = 0.05


def bunch(turn: str) -> str:
    return turn.rpartition(" ")[0]


def _runs(rng: np.random.Generator, contexts: int, slower_ms: float) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Two turns a conversation; callers differ by far more than the two runs do."""
    now, before = {}, {}
    for c in range(contexts):
        own = rng.lognormal(6.5, 0.5)
        for k in range(2):
            turn = own * rng.lognormal(0, 0.2)
            before[f"c{c} {k}"] = [turn + rng.normal(0, 30)]
            now[f"c{c} {k}"] = [turn + slower_ms + rng.normal(0, 30)]
    return now, before


def test_a_median_change_is_bounded_as_often_as_promised_and_far_more_tightly_than_two_medians() -> None:
    rng = np.random.default_rng(11)
    missed, widths, unpaired = 0, [], []
    for _ in range(200):
        now, before = _runs(rng, 40, 60.0)
        change = change_of_times(now, before, bunch)
        assert change is not None
        low, high = change.bounds(TAIL)
        missed += not low <= 60.0 <= high
        widths.append(high - low)
        medians = [percentile_of(run, 0.5) for run in (now, before)]
        assert medians[0] is not None
        assert medians[1] is not None
        apart = Worsening(medians[0], medians[1], lower_is_better=True).bounds(TAIL)
        unpaired.append(apart[1] - apart[0])
    assert missed / 200 <= 2 * TAIL + 0.03
    assert np.median(widths) < np.median(unpaired) / 5


def test_a_share_s_change_is_bounded_as_often_as_promised() -> None:
    rng = np.random.default_rng(12)
    missed = 0
    for _ in range(200):
        now, before = {}, {}
        for c in range(40):
            chance = rng.beta(2, 3)
            before[f"c{c} 0"] = list((rng.random(3) < chance).astype(float))
            now[f"c{c} 0"] = list((rng.random(3) < 0.8 * chance).astype(float))
        change = change_of_shares(now, before, bunch, lower_is_better=False)
        assert change is not None
        low, high = change.bounds(TAIL)
        missed += not low <= 0.2 * 0.4 <= high
    assert missed / 200 <= 2 * TAIL + 0.03


def test_silence_that_was_there_before_is_no_change_and_new_silence_is_the_worst() -> None:
    inf = float("inf")
    before = {f"c{k} 0": [500.0] for k in range(8)}
    now = dict(before)
    now["c0 0"] = before["c0 0"] = [inf]
    same = change_of_times(now, before, bunch)
    assert same is not None
    assert same.value == 0
    worse = change_of_times({turn: [inf] for turn in before}, before, bunch)
    assert worse is not None
    assert worse.value == inf
    healed = change_of_times(before, {turn: [inf] for turn in before}, bunch)
    assert healed is not None
    assert healed.value == -inf


def test_chances_that_only_one_run_had_take_no_part() -> None:
    before: dict[str, list[float | None]] = {f"c{k} 0": [0.0, 0.0, 0.0] for k in range(8)}
    now: dict[str, list[float | None]] = {**before, "c0 0": [1.0, None, None]}
    change = change_of_shares(now, before, bunch, lower_is_better=True)
    assert change is not None
    assert change.value == pytest.approx(1 / 22)


def test_under_eight_conversations_there_is_no_change() -> None:
    seven = {f"c{k} 0": [1.0] for k in range(7)}
    assert change_of_times(seven, seven, bunch) is None
    assert change_of_shares(seven, seven, bunch, lower_is_better=True) is None
