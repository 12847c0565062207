"""Choice of the votes that say what people prefer: one presentation, no side that gave no reply, and pairs drawn at random.

People's axis and the head to head of two agents rest on the same votes, so the rules are written once.
"""

from dataclasses import dataclass

import numpy as np

from harness.statistics.arrays import Bools
from harness.store.judgment import is_rule
from harness.store.judgment_table import JudgmentTable

PREFERRED = ("audio", "heard_text", "written")
"""Presentations of votes, the one to quote first. Replies heard after their delay are never quoted: latency would be on both
axes."""


@dataclass(frozen=True, slots=True, eq=False)
class ChosenVotes:
    """(n,) each: rows of a table that are votes on one presentation."""

    given: Bools
    """All of them."""
    on_replies: Bools
    """Those on a pair of which both sides gave a reply."""
    mine: Bools
    """Those that count: on pairs that were drawn at random; where no vote is, all on replies."""
    are_drawn: bool


def votes_on(rows: JudgmentTable, presentation: str) -> ChosenVotes:
    """The votes on one presentation that count. Drawn pairs are of the first repeat, whose replies people are asked about."""
    given = (rows["human"] == 1) & (rows["purpose"] == 0) & rows.named("presentation", presentation)
    people = given & ~_on_ruled_pairs(rows)
    drawn = people & (rows["draw_rate"] > 0) & (rows["replicate"] == 0)
    return ChosenVotes(given, people, drawn if drawn.any() else people, bool(drawn.any()))


def voted_presentations(rows: JudgmentTable) -> list[str]:
    """Presentations with a vote, the one to quote first."""
    votes = (rows["human"] == 1) & (rows["purpose"] == 0)
    return [name for name in PREFERRED if (votes & rows.named("presentation", name)).any()]


def by_rule(rows: JudgmentTable) -> Bools:
    """(n,): rows that a rule made."""
    return np.asarray(np.isin(rows["judge"], [k for k, name in enumerate(rows.judges) if is_rule(name)]), dtype=np.bool_)


def _on_ruled_pairs(rows: JudgmentTable) -> Bools:
    """(n,): rows on a pair that a rule decided in the first repeat."""
    size = len(rows.systems)
    low, high = np.minimum(rows["first"], rows["second"]), np.maximum(rows["first"], rows["second"])
    pair = (rows["context"].astype(np.int64) * size + low) * size + high
    rule = by_rule(rows) & (rows["replicate"] == 0)
    return np.asarray(np.isin(pair, pair[rule]) & (rows["replicate"] == 0), dtype=np.bool_)
