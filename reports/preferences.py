"""How often one agent's replies were preferred to each reference's.

An Elo difference is the right figure to decide on, and nobody feels it; "preferred in 62 % of 48 verdicts" says the same in
words. Verdicts on one conversation are no independent witnesses, so the interval draws whole conversations. Judges' verdicts
and people's votes are counted apart, each row once: people's need no proof that a judge can tell a kind reply.
"""

from collections import defaultdict
from collections.abc import Sequence

from harness.ranking.clustered import clustered_share
from harness.reports.view import UNKNOWN, Estimate, Preference
from harness.store.judgment import Judgment, is_reference

Won = list[tuple[str, float]]


def preferences(agent: str, rows: Sequence[Judgment]) -> dict[str, Preference]:
    """Reference → how often the agent was preferred to it, a tie half."""
    judges: dict[str, Won] = defaultdict(list)
    people: dict[str, Won] = defaultdict(list)
    for row in rows:
        side, other = ("a", row.system_b) if row.system_a == agent else ("b", row.system_a)
        if not is_reference(other) or agent not in (row.system_a, row.system_b):
            continue
        won = row.context, 0.5 if row.winner == "tie" else float(row.winner == side)
        (people if row.source == "human" else judges)[other].append(won)
    return {
        other: Preference(_estimate(judges[other]), len(judges[other]), _estimate(people[other]), len(people[other]))
        for other in dict.fromkeys([*judges, *people])
    }


def _estimate(won: Won) -> Estimate:
    return Estimate.of(*clustered_share(won)) if won else UNKNOWN
