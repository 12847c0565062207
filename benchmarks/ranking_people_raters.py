"""Coverage of head to head and of people's axis when raters differ in number, share and taste; and how soon a pair is apart.

Votes are drawn as the page draws them (`draw_pairs`): two agents and two references, each rater on a stretch of one circle from
a place of their own. Worlds are those of `ranking_people_coverage`; the agents are 0, 1.2 or 3 log-odds apart, in turn. The
judge has a taste of its own, against the better agent.

The truth of a head to head is the chance that a rater prefers an agent in a conversation, over all raters and conversations, or
over that rater's votes where the figure is one rater's. That of people's axis is over all people, or over these raters' votes
where they are worth fewer than eight raters.

    python -m benchmarks.ranking_people_raters coverage
    python -m benchmarks.ranking_people_raters power

No board of these seeds chose anything (`harness.ranking.head_to_head.ASSUMED_FREEDOM` names those that did).
"""

import argparse
import json
import sys
from collections import Counter
from itertools import combinations, product
from typing import Final
from unittest import mock

import numpy as np
from scipy.special import expit

from benchmarks.ranking_people_coverage import CONTEXT_SD, HEFT, NODES, PAIR_SD, TASTE_SD
from harness.errors import UserError
from harness.ranking import bradley_terry
from harness.ranking.board import SystemRating
from harness.ranking.draw_pairs import DrawnPair, drawn
from harness.ranking.head_to_head import HeadToHead, _bounds, _Votes, head_to_head
from harness.ranking.peoples_axis import Pairs, PeoplesAxis, axis_of
from harness.ranking.raters import raters_of
from harness.ranking.scale import on_scale
from harness.statistics.arrays import Floats, Ints
from harness.statistics.effective import ENOUGH
from harness.statistics.interval import TAIL
from harness.store.judgment_table import MILLION, NOT_MARKED, JudgmentTable

SEED: Final = 20_261_129
NAMES: Final = ("curt", "kind", "ref:a", "ref:b")
SIDES: Final = tuple(combinations(range(4), 2))
APART: Final = (0.0, 1.2, 3.0)
LIKING: Final = np.array([3.5, -3.0, 0.0, 0.0])
"""What the judge likes in each system for itself."""
RATERS: Final[dict[str, tuple[float, ...]]] = {
    "twelve, even": (1 / 12,) * 12,
    "one of twelve: 25 %": (0.25, *(0.75 / 11,) * 11),
    "one of twelve: 50 %": (0.5, *(0.5 / 11,) * 11),
    "one of twelve: 80 %": (0.8, *(0.2 / 11,) * 11),
    "one of twelve: 95 %": (0.95, *(0.05 / 11,) * 11),
    "three, even": (1 / 3,) * 3,
    "two, 10 to 9": (10 / 19, 9 / 19),
    "one": (1.0,),
}
MOST_VOTES: Final = 120
CHECKED: Final = 20
"""Boards of a row on which figures are computed in both ways."""
_FLAT: Final = ("subset", "presentation", "condition", "shown", "own_family", "purpose", "replicate", "repeat")


def _order(contexts: int) -> tuple[Ints, Ints]:
    """The page's circle: conversation and place in `SIDES` of each pair; one for all boards."""
    frame = [DrawnPair(f"{c}", "regular", NAMES[a], NAMES[b]) for c in range(contexts) for a, b in SIDES]
    found = drawn(frame, f"{SEED} {contexts}")
    return np.array([int(p.context) for p in found]), np.array(
        [SIDES.index((NAMES.index(p.first), NAMES.index(p.second))) for p in found]
    )


def _dealt(length: int, shares: tuple[float, ...], most: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """(votes,): the place on the circle and the rater of each vote. Nobody votes on a pair twice, so shares scale the total."""
    total = min(most, length / max(shares))
    ends = np.cumsum(shares) * total + rng.random()
    sizes = np.diff(np.floor(np.concatenate([[ends[0] - shares[0] * total], ends]))).astype(int).clip(0, length)
    places = [(rng.integers(length) + np.arange(size)) % length for size in sizes]
    return np.concatenate(places), np.repeat(np.arange(sizes.size), sizes)


def _table(contexts: int, context: Ints, side: Ints, winner: Ints, judge: Ints, raters: int) -> JudgmentTable:
    """Votes of `raters`, and verdicts of the judge that comes after them."""
    one, other = np.array(SIDES)[side].T
    same = np.zeros(side.size, dtype=np.int64)
    columns = {
        "context": context, "first": one, "second": other, "judge": judge, "winner": winner, "human": (judge < raters) * 1,
        "draw_rate": (judge < raters) * MILLION, "strength": same + 1,
    }  # fmt: skip
    columns |= dict.fromkeys(_FLAT, same)
    return JudgmentTable(
        tuple(f"c{k:03}" for k in range(contexts)), NAMES, (*(f"r{k:02}" for k in range(raters)), "the judge"), ("regular",),
        ("heard_text",), ("",), columns, np.full((side.size, 5), NOT_MARKED, dtype=np.int8),
    )  # fmt: skip


def chances(worth: Floats, taste_sd: float) -> Floats:
    """(systems, systems): chance that row is preferred, over conversations, and over people with tastes of this spread."""
    sd = np.sqrt(2 * CONTEXT_SD**2 + PAIR_SD**2 + 2 * taste_sd**2)
    return np.asarray(expit(worth[:, None, None] - worth[None, :, None] + sd * NODES) @ HEFT / HEFT.sum(), dtype=np.float64)


def coverage(contexts: int, shares: tuple[float, ...], taste_sd: float, many: int, seed: list[int]) -> dict[str, object]:
    """Figures of a row."""
    rng, raters, (circle, sides) = np.random.default_rng(seed), len(shares), _order(contexts)
    at_least: list[bool] = []
    interval: list[bool] = []
    apart: list[bool] = []
    on_axis: list[bool] = []
    boards: Counter[str] = Counter()
    for number in range(many):
        worth = np.array([-0.5, 0.5, 0.0, 0.0]) * APART[number % len(APART)] + np.array([0.0, 0.0, 0.6, 0.0])
        taste = rng.normal(0, taste_sd, (raters, 4))
        place, rater = _dealt(circle.size, shares, MOST_VOTES, rng)
        a, b = np.array(SIDES).T
        reply = worth + rng.normal(0, CONTEXT_SD, (contexts, 4))
        eta = reply[:, a] - reply[:, b] + rng.normal(0, PAIR_SD, (contexts, a.size))
        context, side = circle[place], sides[place]
        drawn_to = taste[rater, a[side]] - taste[rater, b[side]] + rng.logistic(size=side.size)
        voted = np.sign(eta[context, side] + drawn_to).astype(np.int64)
        stated = np.sign(0.5 * eta + LIKING[a] - LIKING[b] + rng.normal(0, 1.5, eta.shape)).astype(np.int64)
        everywhere = np.indices(eta.shape).reshape(2, -1)
        table = _table(
            contexts, np.concatenate([context, everywhere[0]]), np.concatenate([side, everywhere[1]]),
            np.concatenate([voted, stated.ravel()]), np.concatenate([rater, np.full(eta.size, raters)]), raters,
        )  # fmt: skip
        of_agents = side == 0
        seen = _head_to_head(voted[of_agents], context[of_agents], rater[of_agents], worth, taste, taste_sd)
        if number < CHECKED:
            (found,) = head_to_head(table)
            assert seen == _as_printed(found, worth, taste, taste_sd), (seen, found)
        for figure, value in zip((at_least, interval, apart), seen, strict=True):
            figure.append(value)
        kinds = np.bincount(side == 0, minlength=2)
        try:
            axis = axis_of(table, None, None, Pairs(contexts, 6 * contexts, read_of_agents=contexts))
        except UserError:
            boards["none"] += 1
            continue
        boards["intervals" if axis.by_context is not None else "bounds"] += 1
        if axis.by_context is not None or len(axis.systems) == 2:
            on_axis += _covered(axis, worth, taste, taste_sd, rater, kinds)
    return {
        "head to head, at least": _percent(at_least), "interval": _percent(interval), "apart": _percent(apart),
        "axis": _percent(on_axis), "boards": dict(boards),
    }  # fmt: skip


def _head_to_head(
    winner: Ints, context: Ints, rater: Ints, worth: Floats, taste: Floats, taste_sd: float
) -> tuple[bool, bool, bool]:
    """Whether `at_least` and the interval cover the truth, and whether the agents are apart: from the tails at the truth, which
    takes a tenth of the time of the bounds. They are compared with the printed figures on `CHECKED` boards of each row."""
    raters = raters_of(rater, [str(k) for k in range(taste.shape[0])])
    given = _Votes((1 - winner) / 2, np.ones(winner.size), context, rater)
    true = chances(worth, taste_sd)[1, 0]
    if raters.alone is not None:
        given, true = given.of(int(raters.alone)), chances(worth + taste[int(raters.alone)], 0.0)[1, 0]
    both = [(_bounds(given), float(true)), (_bounds(given.turned), float(1 - true))]
    # Of an even share the agent that is first by name is printed, as `_found` does: that is the other one here.
    (ahead, at), (behind, _) = both if given.share > 0.5 else both[::-1]
    interval = ahead.tail(at) >= TAIL and behind.tail(1 - at) >= TAIL
    if apart := 2 * ahead.tail(0.5) <= 0.05:
        return at > 0.5 and ahead.tail(at) + ahead.tail(1 - at) >= 0.05, interval, apart
    return ahead.tail(at) >= TAIL, interval, apart


def _as_printed(found: HeadToHead, worth: Floats, taste: Floats, taste_sd: float) -> tuple[bool, bool, bool]:
    own = found.whose is not None
    chance = chances(worth + taste[int(found.whose[1:])] if found.whose else worth, 0.0 if own else taste_sd)
    true = float(chance[NAMES.index(found.agent), NAMES.index(found.over)])
    return found.at_least <= true, found.interval[0] <= true <= found.interval[1], found.is_apart


def _covered(axis: PeoplesAxis, worth: Floats, taste: Floats, taste_sd: float, rater: Ints, kinds: Ints) -> list[bool]:
    """Whether each interval or bound has the truth between its ends."""
    if axis.effective_raters >= ENOUGH:
        chance = chances(worth, taste_sd)
    else:
        parts = np.bincount(rater, minlength=taste.shape[0]) / rater.size
        chance = sum(
            (part * chances(worth + own, 0.0) for part, own in zip(parts, taste, strict=True) if part), np.zeros((4, 4))
        )
    at = [NAMES.index(name) for name in axis.systems]
    weight = np.full((4, 4), kinds[0] / 5.0)
    weight[0, 1] = weight[1, 0] = kinds[1]
    np.fill_diagonal(weight, 0.0)
    true = dict(
        zip(axis.systems, on_scale(bradley_terry.fit((chance * weight)[np.ix_(at, at)], precision=0.0).theta), strict=True)
    )
    return [_between(row, float(true[row.system])) for row in axis.board.systems]


def _between(row: SystemRating, true: float) -> bool:
    low, high = row.interval or (None, None)
    return (low is None or low <= true) and (high is None or true <= high)


def _percent(given: list[bool]) -> float:
    return round(100 * float(np.mean(given)), 1) if given else float("nan")


def power(contexts: int, raters: int, votes: int, share: float, many: int, seed: list[int]) -> dict[str, object]:
    """How often a pair is apart when every vote is for one agent with the chance `share`, each rater with as many votes."""
    rng, (circle, sides) = np.random.default_rng(seed), _order(contexts)
    apart, of_agents = [], []
    for _ in range(many):
        place, rater = _dealt(circle.size, (1 / raters,) * raters, votes, rng)
        winner = np.where(rng.random(place.size) < share, -1, 1)
        table = _table(contexts, circle[place], sides[place], winner, rater, raters)
        (found,) = head_to_head(table)
        apart.append(found.is_apart and found.agent == "kind")
        of_agents.append(found.votes)
    return {"votes": int(place.size), "on agents": round(float(np.mean(of_agents)), 1), "apart": _percent(apart)}


POWER: Final = (
    (8, 1, 8, 1.0),
    (8, 1, 8, 0.95),
    (16, 3, 48, 0.8),
    (16, 6, 48, 0.8),
    (16, 3, 27, 0.8),
    (80, 1, 27, 0.8),
    (80, 1, 48, 0.8),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("coverage", "power"))
    parser.add_argument("--boards", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--conversations", type=int, nargs="*", default=[8, 20, 80])
    parser.add_argument("--tastes", type=float, nargs="*", default=[0.0, TASTE_SD])
    parser.add_argument("--raters", nargs="*", default=list(RATERS))
    given = parser.parse_args()
    if given.what == "power":
        for at, (contexts, raters, votes, share) in enumerate(POWER):
            row = {"conversations": contexts, "raters": raters, "share": share}
            print(json.dumps(row | power(contexts, raters, votes, share, given.boards, [given.seed, at])), flush=True)
        return
    # The bands of a board, which nothing here reads, take a third of the time.
    with mock.patch.object(sys.modules["harness.ranking.peoples_axis"], "max_t", return_value=3.0):
        for contexts, taste, name in product(given.conversations, given.tastes, given.raters):
            seed = [given.seed, contexts, round(10 * taste), list(RATERS).index(name)]
            row = {"conversations": contexts, "raters": name, "tastes": taste}
            print(json.dumps(row | coverage(contexts, RATERS[name], taste, given.boards, seed)), flush=True)


if __name__ == "__main__":
    main()
