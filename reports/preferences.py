"""Shares of verdicts that preferred an agent's replies to each reference.

An Elo difference is right for a decision, but not intuitive; "preferred in 62 % of 48 verdicts" says the same in
words. Verdicts on one conversation are not independent, so the interval draws whole conversations. Judges' verdicts
and people's votes are counted separately, each row once: people's need no proof that a judge recognises a kind reply.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from harness.ranking.clustered_means import clustered_share
from harness.reports.view import UNKNOWN, Estimate, Preference
from harness.store.judgment import is_reference
from harness.store.judgment_table import JudgmentTable

Won = list[tuple[str, float]]


def preferences(agent: str, tables: Sequence[JudgmentTable]) -> dict[str, Preference]:
    """Reference → share of verdicts that preferred the agent to it, a tie counting half."""
    judges: dict[str, Won] = defaultdict(list)
    people: dict[str, Won] = defaultdict(list)
    for rows in tables:
        references = np.array([is_reference(name) for name in rows.systems], dtype=bool)
        me = rows.systems.index(agent) if agent in rows.systems else -1
        as_first = (rows["first"] == me) & references[rows["second"]]
        as_second = (rows["second"] == me) & references[rows["first"]]
        for k in np.flatnonzero(as_first | as_second):
            other, sign = (rows["second"][k], 1) if as_first[k] else (rows["first"][k], -1)
            won = rows.contexts[rows["context"][k]], (1 + sign * int(rows["winner"][k])) / 2
            (people if rows["human"][k] else judges)[rows.systems[other]].append(won)
    return {
        other: Preference(_estimate(judges[other]), len(judges[other]), _estimate(people[other]), len(people[other]))
        for other in dict.fromkeys([*judges, *people])
    }


def _estimate(won: Won) -> Estimate:
    return Estimate.of(*clustered_share(won)) if won else UNKNOWN
