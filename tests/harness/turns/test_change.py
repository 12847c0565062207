"""The change between two runs of the same conversations, against simulated truth."""

from collections.abc import Sequence

import numpy as np
import pytest

from harness.statistics.bounds import Worsening
from harness.timing.figures import TurnTiming
from harness.turns import TurnTable, change, estimate
from harness.turns.table import TurnKey

TAIL = 0.05
Times = Sequence[Sequence[float | None]]


def run(times: Times) -> TurnTable:
    """One conversation each, with the TTFA of its turns; None: no reply."""
    return TurnTable.of(
        (TurnKey(agent="a", context=f"c{k}"), TurnTiming("timing-7", 0.0, ttfa_ms=ms, no_reply=ms is None))
        for k, turns in enumerate(times)
        for ms in turns
    )


def test_a_median_change_is_bounded_as_often_as_promised_and_far_more_tightly_than_two_medians() -> None:
    """Two turns a conversation; callers differ by far more than the two runs do."""
    rng = np.random.default_rng(11)
    missed, widths, unpaired = 0, [], []
    for _ in range(60):
        turns = rng.lognormal(6.5, 0.5, (40, 1)) * rng.lognormal(0, 0.2, (40, 2))
        before, now = (run((turns + late + rng.normal(0, 30, turns.shape)).tolist()) for late in (0.0, 60.0))
        found = change(now, before, "ttfa_ms.p50")
        assert found is not None
        low, high = found.bounds(TAIL)
        missed += not low <= 60.0 <= high
        widths.append(high - low)
        medians = [estimate(each, "ttfa_ms.p50") for each in (now, before)]
        assert medians[0] is not None
        assert medians[1] is not None
        apart = Worsening(medians[0], medians[1], lower_is_better=True).bounds(TAIL)
        unpaired.append(apart[1] - apart[0])
    assert missed / 60 <= 2 * TAIL + 0.03
    assert np.median(widths) < np.median(unpaired) / 5


def test_a_share_s_change_is_bounded_as_often_as_promised() -> None:
    rng = np.random.default_rng(12)
    missed = 0
    for _ in range(60):
        chance = rng.beta(2, 3, (40, 1))
        now, before = (np.where(rng.random((40, 3)) < level * chance, 400.0, 900.0) for level in (0.8, 1.0))
        found = change(run(now.tolist()), run(before.tolist()), "within_budget.ttfa")
        assert found is not None
        low, high = found.bounds(TAIL)
        missed += not low <= 0.2 * 0.4 <= high
    assert missed / 60 <= 2 * TAIL + 0.03


def test_silence_that_was_there_before_is_no_change_and_new_silence_is_the_worst() -> None:
    heard, silent, one = run([[500.0]] * 8), run([[None]] * 8), run([[None], *[[500.0]] * 7])
    changes = [change(now, before, "ttfa_ms.p50") for now, before in ((one, one), (silent, heard), (heard, silent))]
    assert [found and found.value for found in changes] == [0.0, float("inf"), float("-inf")]


@pytest.mark.parametrize(("conversations", "paired"), [(7, False), (8, True)])
def test_under_eight_conversations_nothing_is_paired(conversations: int, paired: bool) -> None:
    same = run([[500.0]] * conversations)
    found = change(same, same, "ttfa_ms.p50")
    assert found is not None
    assert found.paired is paired
