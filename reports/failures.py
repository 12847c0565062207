"""The losses of a run: everything that gives no figure, with the reason, because a report must not hide its losses."""

from harness.figures.cells import UNSPOKEN
from harness.reports.view import PageView
from harness.timing.figures import NO_REPLY_TEXT

Loss = tuple[str, str, str, str]
"""(what, agent, conversation, why)."""


def losses(view: PageView) -> tuple[Loss, ...]:
    """Invalid runs, failures, silence, unspoken turns, discarded turns, refused values and missing sessions, gravest first."""
    found: list[Loss] = [("invalid run", "all", "all", reason) for reason in view.invalid_reasons]
    for f in view.failures:
        if f.kind == UNSPOKEN:
            found.append(("unspoken turns", f.agent, f.context, f.detail))
        else:
            found.append(("failed session", f.agent, f.context, f"{f.kind}: {f.detail}" if f.detail else f.kind))
    for context in view.contexts:
        for agent, turn in ((session.agent, turn) for session in context.sessions for turn in session.turns):
            if turn.no_reply:
                found.append(("no reply", agent, context.id, f"nothing heard within {NO_REPLY_TEXT} of the spoken end"))
            if turn.discarded:
                found.append(("discarded turn", agent, context.id, turn.discarded))
            if turn.refused:
                why = "impossible values refused: " + ", ".join(turn.refused)
                found.append(("refused value", agent, context.id, why))
    order = (
        "invalid run", "failed session", "no reply", "unspoken turns", "discarded turn", "missing session", "refused value",
    )  # fmt: skip
    found += [
        ("missing session", agent, context.id, "not played")
        for context in view.contexts
        for agent in context.planned
        if not any(session.agent == agent for session in context.sessions)
    ]
    return tuple(sorted(found, key=lambda loss: order.index(loss[0])))
