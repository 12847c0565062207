"""The cost of silence: a comparison that nobody judges, because one side or both gave no reply.

A judge without a reply has nothing to judge, and leaving the pair out would reward an agent that says nothing where it would
have lost. So a rule decides: the silent side loses with the greatest strength of a verdict, and two silent sides tie. The row
has the name of the rule and of the judge that would have been asked, so that boards of different judges stay comparable.
`harness.store.selection` decides which sessions are lost through their agent.
"""

from collections.abc import Mapping

from harness.judging.completion import Completion
from harness.judging.design import Comparison
from harness.store.judgment import Judgment, Presentation, no_reply_rule


def decided_by_silence(
    comparison: Comparison, replies: Mapping[str, Completion], judge: str, subset: str, presentation: Presentation
) -> Judgment:
    """The row of a comparison in which one side or both gave no reply. `replies`: system → its reply."""
    a, b = replies[comparison.system_a], replies[comparison.system_b]
    return Judgment(
        context=comparison.context_id,
        subset=subset,
        system_a=comparison.system_a,
        system_b=comparison.system_b,
        source="judge",
        judge=no_reply_rule(judge),
        winner="tie" if a.lost and b.lost else "b" if a.lost else "a",
        strength=1 if a.lost and b.lost else 5,
        presentation=presentation,
        rationale=a.lost or b.lost,
        repeat=comparison.draw,
        purpose=comparison.purpose,
    )
