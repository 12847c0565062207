"""How often one agent's replies were preferred to each reference's.

An Elo difference is the right figure to decide on, and nobody feels it; "preferred in 62 % of 48 verdicts" says the same in
words. Verdicts on one conversation are no independent witnesses, so the interval draws whole conversations. People's votes
are counted apart as well: theirs need no proof that the judge can tell a kind reply.
"""

from collections import defaultdict
from collections.abc import Sequence

from harness.ranking.clustered import clustered_share
from harness.reports.view import UNKNOWN, Estimate, Preference
from harness.store.judgment import Judgment, is_reference

Won = list[tuple[str, float]]


def preferences(agent: str, rows: Sequence[Judgment]) -> dict[str, Preference]:
    """Reference → how often the agent was preferred to it, a tie half."""
    everybody: dict[str, Won] = defaultdict(list)
    people: dict[str, Won] = defaultdict(list)
    for row in rows:
        side, other = ("a", row.system_b) if row.system_a == agent else ("b", row.system_a)
        if not is_reference(other) or agent not in (row.system_a, row.system_b):
            continue
        won = row.context, 0.5 if row.winner == "tie" else float(row.winner == side)
        everybody[other].append(won)
        if row.source == "human":
            people[other].append(won)
    return {
        other: Preference(_estimate(won), len(won), _estimate(people[other]), len(people[other]))
        for other, won in everybody.items()
    }


def _estimate(won: Won) -> Estimate:
    return Estimate.of(*clustered_share(won)) if won else UNKNOWN
