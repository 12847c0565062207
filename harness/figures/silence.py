"""The cost of silence where people rate: a comparison in which a side gave no reply needs no vote, and no judge either.

A judged run has such comparisons as rows of the rule that decided them (`harness.judging.no_reply`). But most runs have no
judge, and a judge may be asked about a part of the pairs. People are never asked about silence, so without these rows an agent
that says nothing where it would have lost would be rated by its other replies alone.
"""

from collections.abc import Mapping
from itertools import combinations

from harness.scenarios.context import Context
from harness.store.judgment import Judgment, no_reply_rule, reference_name
from harness.store.judgment_table import JudgmentTable, joined, table_of
from harness.store.selection import HEARD, Selection


def silences(selection: Selection, condition: str) -> list[Judgment]:
    """The comparisons of the first repeat in which a side gave no reply, as rows of that rule, whether or not any is stored."""
    lost = {context.id: {reference_name(r.id): False for r in context.references} for context in selection.contexts}
    for reply in selection.replies(condition, 0, HEARD):
        key = reply.session.key
        if reply.fate != "missing" and key.context_id in lost:
            lost[key.context_id][key.agent] = reply.fate == "lost"
    return [
        _decided(context, condition, one, other, lost[context.id])
        for context in selection.contexts
        for one, other in combinations(sorted(lost[context.id]), 2)
        if lost[context.id][one] or lost[context.id][other]
    ]


def with_silences(selection: Selection, condition: str) -> JudgmentTable:
    """The rows of one condition, with its silences where people voted."""
    rows = selection.table.where(selection.table.named("condition", condition))
    return joined(rows, table_of(silences(selection, condition))) if (rows["human"] == 1).any() else rows


def votes_with_silences(selection: Selection, condition: str) -> tuple[JudgmentTable, frozenset[str]]:
    """The rows of one condition, with its silences where people voted; and people in the supporter's seat on whom nobody has
    voted yet. They answer after a run has been played and perhaps voted on, and would take the axis away from the agents."""
    table = with_silences(selection, condition)
    votes = table["human"] == 1
    unvoted = [name for name in sorted(selection.manifest.seated) if votes.any() and not (votes & table.of_system(name)).any()]
    for name in unvoted:
        table = table.where(~table.of_system(name))
    return table, frozenset(unvoted)


def not_voted_on(names: frozenset[str]) -> str:
    return f"Nobody has voted yet on pairs with {', '.join(sorted(names))}, who are not on this axis: vote on the run's page."


def _decided(context: Context, condition: str, one: str, other: str, lost: Mapping[str, bool]) -> Judgment:
    both = lost[one] and lost[other]
    return Judgment(
        context=context.id,
        subset=context.subset,
        system_a=one,
        system_b=other,
        source="judge",
        judge=no_reply_rule("people"),
        winner="tie" if both else "b" if lost[one] else "a",
        strength=1 if both else 5,
        presentation=HEARD,
        condition=condition,
    )
