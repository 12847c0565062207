"""Whatever rows are given: finite ratings around 1500, JSON that can be written, and no warning from numpy."""

import json
import math
import warnings
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from harness.errors import UserError
from harness.ranking.leaderboard import leaderboard
from harness.ranking.model import Method, RatingModel
from harness.ranking.question import Measured, RatingQuestion
from harness.ranking.ranking import rank
from harness.ranking.ranking_object import as_object
from harness.store.judgment import Judgment

QUICK = (Phase.explicit, Phase.reuse, Phase.generate)
"""Without shrinking, which would take minutes here; a failing list is short enough to read."""

_row = st.builds(
    Judgment,
    context=st.sampled_from([f"c{k}" for k in range(10)]),
    subset=st.sampled_from(["regular", "adversarial"]),
    system_a=st.sampled_from(["u", "v"]),
    system_b=st.sampled_from(["w", "x", "human:p"]),
    source=st.sampled_from(["judge", "human"]),
    judge=st.sampled_from(["j1", "j2"]),
    winner=st.sampled_from(["a", "b", "tie"]),
    strength=st.integers(1, 5),
    shown_first=st.sampled_from(["a", "b", None]),
    rationale=st.just(""),
    axes=st.dictionaries(
        st.sampled_from("HEART"),
        st.fixed_dictionaries({"winner": st.sampled_from("ab"), "strength": st.integers(1, 5)}),
    ),
    own_family=st.booleans(),
    presentation=st.just("written"),
    repeat=st.just(0),
    purpose=st.just("main"),
)


@settings(max_examples=20, deadline=None, phases=QUICK)
@given(st.lists(_row, min_size=1, max_size=40))
@pytest.mark.parametrize("method", ["ordinal", "strength", "plain", "rao-kupper"])
def test_every_board_is_finite(method: Method, rows: list[Judgment]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        board = leaderboard(rows, RatingModel(method), bootstrap_draws=20)
    assert all(math.isfinite(r.elo) for r in board.systems)
    for part in range(1, board.parts + 1):
        mine = [r for r in board.systems if r.part == part]
        core = [r for r in mine if r.system not in board.separated] or mine
        assert sum(r.elo for r in core) / len(core) == pytest.approx(1500)
    for r in board.systems:
        if r.interval is not None:
            low, high = r.interval
            assert r.contexts >= 8
            assert (-math.inf if low is None else low) <= r.elo <= (math.inf if high is None else high)
            assert all(math.isfinite(end) for end in (*r.interval, *(r.band or ())) if end is not None)
            assert (low is None or high is None) == (r.system in board.separated) == (r.band is None)
        elif r.system not in board.separated:
            assert r.contexts < 8


@settings(max_examples=10, deadline=None, phases=QUICK)
@given(st.lists(_row, min_size=1, max_size=40))
def test_every_ranking_can_be_written(rows: list[Judgment]) -> None:
    latencies = {"u": {f"c{k}": [300.0 + k if k % 3 else math.inf] for k in range(10)}, "w": {}}
    asked = RatingQuestion(measured=Measured({"ttfa": latencies}), draws=20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [rank(rows, replace(asked, model=RatingModel()))]
        if any(row.source == "judge" for row in rows):
            found.append(rank(rows, asked))
        else:
            # Votes that give no interval are refused in one sentence where there is nothing else.
            with suppress(UserError):
                found.append(rank(rows, asked))
    for ranking in found:
        json.dumps(as_object(ranking), allow_nan=False)
