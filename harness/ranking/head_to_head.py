"""Head to head: which of two agents people prefer, from their votes on pairs of these two alone.

A rating needs every system to have won and lost, and eight conversations; the question which of two is preferred needs neither.
So nothing is modelled here. Conversations are the units, and the bound of the share is Gaffke's (`share_bounds`), exact
for one vote a conversation at any number of them. No judge and no reference takes part.

*Whose preference it is.* With several raters the bound must hold for others, too: it is the lower of that one and of a
Student's bound whose variance is over conversations and raters at once. How far raters differ is seen as the share without each
of them (a leader is one rater). But two or three say little of it: what they happen to show covers 80 % of boards where 95 % is
promised, and its own degrees of freedom leave no answer. So what is seen counts as `effective − 1` degrees beside
`ASSUMED_FREEDOM` of an assumed spread, which a dozen raters outvote. Where one rater has nearly all votes (`raters.ALONE`) the
figure is that rater's preference, from that rater's votes, and says so.

*The votes choose the direction.* "At least" may also be wrong because the other agent is the better one, so the chances of both
errors share the 5 %: 8 of 8 conversations give 69 %, as a direction named beforehand would, and 7 of 8 give none. With more
than two agents all pairs share the 5 %.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np
from scipy.optimize import brentq
from scipy.special import stdtr, stdtrit

from harness.ranking.board_rows import each_once
from harness.ranking.chosen_votes import PREFERRED, by_rule, voted_presentations, votes_on
from harness.ranking.raters import Raters, raters_of, shown_name
from harness.statistics.arrays import Floats, Ints
from harness.statistics.bounds import Bounds
from harness.statistics.interval import TAIL
from harness.statistics.share_bounds import lowest, tail_of
from harness.store.judgment import is_reference
from harness.store.judgment_table import MILLION, JudgmentTable
from harness.wording import counted

ASSUMED_SPREAD: Final = 0.7
"""Assumed spread of a preference over raters, in log-odds: by so much raters of the simulated boards like a system more or less
(`benchmarks/ranking_people_coverage.py`). Where tastes are nearly twice as far apart, bounds of two or three
raters are too narrow (docs/evidence/raters.md)."""
ASSUMED_FREEDOM: Final = 6.0
"""Degrees of freedom with which it counts. Three raters tell an 80:20 pair apart in 42 votes on 87 % of boards; without
it on 50 %, with 3 degrees and a spread of 1 on 67 % (300 boards of seed 11, which are not reported)."""
_EVEN: Final = 1e-9
"""Weights are ratios of stored millionths, so sums that should be equal differ by rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class _Votes:
    """Votes on one pair of agents: 1 for the first, ½ for a tie."""

    vote: Floats
    weight: Floats
    context: Ints
    rater: Ints

    def of(self, rater: int) -> "_Votes":
        mine = self.rater == rater
        return _Votes(self.vote[mine], self.weight[mine], self.context[mine], self.rater[mine])

    @property
    def turned(self) -> "_Votes":
        return replace(self, vote=1.0 - self.vote)

    def by_context(self) -> tuple[Floats, Floats]:
        """Mean weight · vote and mean weight of each conversation, however many votes it has: raters who begin at places of
        their own leave one conversation with six votes and the next with one, and a bound that counts votes loses by it."""
        place = np.unique(self.context, return_inverse=True)[1]
        votes = np.bincount(place)
        return _sums(place, self.weight * self.vote) / votes, _sums(place, self.weight) / votes

    @property
    def share(self) -> float:
        return float((self.weight * self.vote).sum() / self.weight.sum())


@dataclass(frozen=True, slots=True, eq=False)
class HeadToHead:
    """People's preference between two agents, from votes on pairs of these two alone."""

    agent: str
    """The one preferred in more of the votes, where no other is asked about."""
    over: str
    conversations: int
    """Those with a vote on this pair."""
    preferred: int
    """Conversations in which the votes prefer `agent`."""
    tied: int
    votes: int
    votes_for: int
    votes_tied: int
    share: float
    """Share of votes for `agent`, a tie half, each weighted by the inverse of the rate at which its pair was drawn."""
    at_least: float
    """95 % bound of `share`, with the choice of direction and of the pair paid for."""
    interval: tuple[float, float]
    """Two-sided, 95 % for all pairs together."""
    compared: int
    """Pairs of agents on this board."""
    raters: int
    effective_raters: float
    whose: str | None
    """The one rater whose preference it is; None where it is people's."""
    presentation: str
    _given: _Votes
    _voters: Raters

    @property
    def is_apart(self) -> bool:
        """True if people surely prefer `agent`."""
        return self.at_least > 0.5

    @property
    def value(self) -> float:
        """The share, as the gate reads it."""
        return self.share

    @property
    def contexts(self) -> int:
        """Number of conversations, as the gate reads it."""
        return self.conversations

    def bounds(self, tail: float) -> Bounds:
        """Low and high of the share, each missed with a chance of at most `tail`; for a pair and direction named beforehand."""
        return _bounds(self._given).lowest(tail), 1.0 - _bounds(self._given.turned).lowest(tail)

    def oriented(self, agent: str, over: str) -> "HeadToHead":
        """The same, seen from `agent`.

        Raises ValueError: it is about two others.
        """
        if (agent, over) == (self.agent, self.over):
            return self
        if (over, agent) != (self.agent, self.over):
            raise ValueError(f"{agent!r} over {over!r}: this is about {self.agent!r} and {self.over!r}")
        low, high = self.interval
        return replace(
            self,
            agent=self.over,
            over=self.agent,
            preferred=self.conversations - self.preferred - self.tied,
            votes_for=self.votes - self.votes_for - self.votes_tied,
            share=1.0 - self.share,
            at_least=_bounds(self._given.turned).at_least(0.05 / self.compared),
            interval=(1.0 - high, 1.0 - low),
            _given=self._given.turned,
        )

    @property
    def as_object(self) -> dict[str, Any]:
        """Its figures by name, and in words, as JSON shows them."""
        shown = (each.name for each in fields(self) if not each.name.startswith("_"))
        return {name: getattr(self, name) for name in shown} | {"in_words": self.in_words}

    @property
    def in_words(self) -> str:
        """The preference in one sentence without its full stop."""
        ties = f", {self.tied} tied" if self.tied else ""
        where = f"{self.preferred} of {counted(self.conversations, 'conversation')}{ties}"
        found = f"{self.agent} preferred to {self.over} in {where}"
        low, high = (round(100 * end) for end in self.interval)
        least = round(100 * self.at_least)
        bound = f"{f'at least {least}' if least > 50 else 'more than 50'} % of votes (95 % sure)"
        if not self.is_apart:
            bound = f"not apart (95 % interval {low} to {high} % of votes)"
        choice = f"; corrected for {self.compared} pairs" if self.compared > 1 else ""
        return f"{found}: {bound}, {self.whose_in_words}{choice}"

    @property
    def whose_in_words(self) -> str:
        """Whose preference it is."""
        if self.whose is None:
            return f"by {counted(self.votes, 'vote')} of {self._voters.in_words}"
        if self.raters == 1:
            return f"the preference of {self._voters.in_words}"
        return f"the preference of {shown_name(self.whose)} alone: {self._voters.in_words}"


def head_to_head(table: JudgmentTable, condition: str | None = None, presentation: str | None = None) -> tuple[HeadToHead, ...]:
    """Every two agents with a vote on a pair of their replies, in the order of their names; none where nobody cast one.

    `condition`: the line condition of the replies (None: any). `presentation`: the one that people voted on; None: the replies
    as heard, or else as read.

    >>> from harness.store.judgment import Judgment
    >>> from harness.store.judgment_table import table_of
    >>> row = {"subset": "regular", "system_a": "kind-bot", "system_b": "curt-bot", "source": "human", "judge": "r1"}
    >>> votes = [Judgment.model_validate(row | {"context": f"c{n}", "winner": "a", "draw_rate": 1}) for n in range(8)]
    >>> for found in head_to_head(table_of(votes)):
    ...     print(found.in_words)
    kind-bot preferred to curt-bot in 8 of 8 conversations: at least 69 % of votes (95 % sure), the preference of one rater, r1
    """
    here = table["purpose"] == 0
    if condition is not None:
        here &= table.named("condition", condition)
    rows = table.where(here)
    chosen = presentation or next(iter(voted_presentations(rows)), PREFERRED[0])
    votes = (rows["human"] == 1) & rows.named("presentation", chosen)
    rows = rows.where(votes | ((rows["human"] == 0) & by_rule(rows)))
    rows = rows.where(each_once(rows))
    rows = rows.where(votes_on(rows, chosen).mine)
    low, high = np.minimum(rows["first"], rows["second"]), np.maximum(rows["first"], rows["second"])
    sign = np.where(rows["first"] == low, 1, -1)
    vote = (1.0 + sign * np.sign(rows["winner"])) / 2
    rate = rows["draw_rate"] / MILLION
    weight = np.where(rate > 0, 1 / np.where(rate > 0, rate, 1.0), 1.0)
    # Only pairs with a vote: of thousands of agents there are millions.
    pair = low.astype(np.int64) * max(len(rows.systems), 1) + high
    each = []
    for at in np.unique(pair):
        one, other = (rows.systems[k] for k in divmod(int(at), len(rows.systems)))
        if not (is_reference(one) or is_reference(other)):
            mine = pair == at
            each.append((one, other, _Votes(vote[mine], weight[mine], rows["context"][mine], rows["judge"][mine])))
    return tuple(_found(*pair, rows.judges, chosen, len(each)) for pair in each)


def _found(one: str, other: str, given: _Votes, names: tuple[str, ...], presentation: str, compared: int) -> HeadToHead:
    raters = raters_of(given.rater, names)
    if raters.alone is not None:
        given = given.of(names.index(raters.alone))
    if given.share < 0.5 - _EVEN:
        one, other, given = other, one, given.turned
    bounds = _bounds(given)
    hits, of = bounds.hits, bounds.of
    return HeadToHead(
        agent=one,
        over=other,
        conversations=int(of.size),
        preferred=int((hits > of / 2 + _EVEN * of).sum()),
        tied=int((np.abs(hits - of / 2) <= _EVEN * of).sum()),
        votes=int(given.vote.size),
        votes_for=int((given.vote == 1).sum()),
        votes_tied=int((given.vote == 0.5).sum()),
        share=given.share,
        at_least=bounds.at_least(0.05 / compared),
        interval=(bounds.lowest(TAIL / compared), 1.0 - _bounds(given.turned).lowest(TAIL / compared)),
        compared=compared,
        raters=raters.count,
        effective_raters=raters.effective,
        whose=raters.alone,
        presentation=presentation,
        _given=given,
        _voters=raters,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Bounds:
    """The two lower bounds of a share, of which the lower counts: Gaffke's over conversations, Student's over raters too."""

    hits: Floats
    of: Floats
    share: float
    error: float
    freedom: float

    def tail(self, value: float) -> float:
        """Chance of a miss with which `value` is the bound."""
        exact = tail_of(value, self.hits, self.of)
        return exact if self.error == 0 else max(exact, float(stdtr(self.freedom, (value - self.share) / self.error)))

    def lowest(self, tail: float) -> float:
        """The bound that is missed with this chance."""
        exact = lowest(self.hits, self.of, tail)
        return max(0.0, min(exact, self.share + self.error * float(stdtrit(self.freedom, tail))))

    def at_least(self, error: float) -> float:
        """The bound where the votes chose the direction: over one half, errors in both directions share `error`."""
        if 2 * self.tail(0.5) > error:
            return self.lowest(error / 2)

        def both(p: float) -> float:
            return self.tail(p) + self.tail(1.0 - p) - error

        return self.share if both(self.share) <= 0 else float(brentq(both, 0.5, self.share, xtol=1e-7))


def _bounds(given: _Votes) -> _Bounds:
    return _Bounds(*given.by_context(), given.share, *_over_both(given))


def _over_both(given: _Votes) -> tuple[float, float]:
    """Standard error of the share over conversations and raters, with its degrees of freedom; 0 where all votes agree, and
    where one rater or one conversation has all."""
    part = given.weight * (given.vote - given.share) / given.weight.sum()
    context = np.unique(given.context, return_inverse=True)[1]
    rater = np.unique(given.rater, return_inverse=True)[1]
    of_rater = _sums(rater, given.weight) / given.weight.sum()
    contexts = int(context.max()) + 1
    if of_rater.size < 2 or contexts < 2:
        return 0.0, 1.0
    without_each = _sums(rater, part) / (1 - of_rater)
    by_rater = (1 - 1 / of_rater.size) * float(((without_each - without_each.mean()) ** 2).sum())
    by_both = _squared(_sums(np.unique(rater * contexts + context, return_inverse=True)[1], part))
    squares = float((of_rater**2).sum())
    freedom = 1 / squares - 1
    seen, assumed = max(by_rater - by_both, 0.0) / squares, (ASSUMED_SPREAD * given.share * (1 - given.share)) ** 2
    spread = (ASSUMED_FREEDOM * assumed + freedom * seen) / (ASSUMED_FREEDOM + freedom)
    error = float(np.sqrt(_squared(_sums(context, part)) + squares * spread))
    return error, min(contexts - 1, ASSUMED_FREEDOM + freedom)


def _sums(place: Ints, values: Floats) -> Floats:
    return np.asarray(np.bincount(place, values), dtype=np.float64)


def _squared(part: Floats) -> float:
    return float((part**2).sum()) * part.size / (part.size - 1)
