"""The view in the form for the page's script, with short lists instead of objects for data with thousands of entries."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from statistics import median
from typing import Any

from harness.reports.session_view import SessionView, Span, TurnView
from harness.reports.view import AgentView, ContextView, JudgmentView, PageView
from harness.reports.wording import owed_words, system_name
from harness.store.judgment import is_reference, is_rule
from harness.store.unspoken import BECAUSE, Unspoken

OVER, CUT, SILENT, FAILED, DISCARDED, DISPUTED, SLOWEST, UNDECIDED = 1, 2, 4, 8, 16, 32, 64, 128
"""The filters of the page, one bit each; −1 means "this agent did not play this conversation"."""

Json = dict[str, Any]

MOST_VERDICTS = 300
"""Most verdicts per conversation: twenty agents and five judges give over a thousand, and a page with all would have 30 MB. It
says how many more are in the table `judgments.csv`."""


def index(view: PageView) -> list[Json]:
    """The data of every conversation before it is opened."""
    return [_entry(context, view) for context in view.contexts]


def _entry(context: ContextView, view: PageView) -> Json:
    disputed = disputes(context.judgments)
    waits = [_waits_ms(context, agent) for agent in view.agents]
    of_agents = {system for pair in disputed for system in pair}
    return {
        "id": context.id,
        "subset": context.subset,
        "emotion": context.emotion,
        "problem": context.problem,
        "flags": [_flags(context, agent, view, agent.name in of_agents) for agent in view.agents],
        # Of a call of several turns the median.
        "ms": [round(median(of[0])) if of else None for of in waits],
        "slowest_ms": [round(max(chain.from_iterable(of))) if of else None for of in waits],
        "disputed": len(disputed),
    }


def disputes(rows: Sequence[JudgmentView]) -> frozenset[tuple[str, str]]:
    """The pairs on which two judges, or a judge and a person, preferred opposite replies; a tie never opposes."""
    seen: dict[tuple[str, str], dict[tuple[str, int], Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for row in rows:
        if row.winner != "tie" and not is_rule(row.judge):
            first, second = sorted((row.system_a, row.system_b))
            won = row.system_a if row.winner == "a" else row.system_b
            seen[first, second][row.judge, row.replicate][won] += 1
    return frozenset(pair for pair, by_judge in seen.items() if _opposed(by_judge))


def _opposed(by_judge: Mapping[tuple[str, int], Counter[str]]) -> bool:
    """True if two judges' majorities on the same replies differ; an even split takes no side."""
    sides: dict[int, set[str]] = defaultdict(set)
    for (_, replicate), won in by_judge.items():
        (best, most), *others = won.most_common()
        if all(count < most for _, count in others):
            sides[replicate].add(best)
    return any(len(found) > 1 for found in sides.values())


def _waits_ms(context: ContextView, agent: AgentView) -> list[list[float]]:
    """The latencies of the agent's turns in this context, session by session: TTFA, or TTFT for a text model."""
    name = "ttfa" if agent.spoken else "ttft"
    mine = (session.turns for session in context.sessions if session.agent == agent.name)
    known = ([ms for t in turns if not t.discarded and not t.slowest and (ms := t.ms(name)) is not None] for turns in mine)
    return [waits for waits in known if waits]


def _flags(context: ContextView, agent: AgentView, view: PageView, disputed: bool) -> int:
    mine = [session for session in context.sessions if session.agent == agent.name]
    if not mine:
        return -1
    found = DISPUTED if disputed else 0
    for session in mine:
        found |= FAILED if session.status == "failed" else 0
        found |= SLOWEST | OVER if session.lost else 0
        found |= DISCARDED if session.turns and all(turn.discarded for turn in session.turns) else 0
        for turn in session.turns:
            found |= _flags_of(turn, agent.spoken, view)
    return found


def _flags_of(turn: TurnView, spoken: bool, view: PageView) -> int:
    budget_ms = view.budget_ttfa_ms if spoken else view.budget_ttft_ms
    speeds = {turn.speed(name, budget_ms) for name in (("ttfa", "answer") if spoken else ("ttft",))}
    found = OVER if "slow" in speeds else UNDECIDED if "cannot tell" in speeds else 0
    found |= SLOWEST if turn.slowest else 0
    found |= CUT if turn.cut_in or turn.marked_pauses[0] or turn.inner_pauses[0] else 0
    return found | (SILENT if turn.no_reply else 0)


def conversation(context: ContextView, view: PageView) -> Json:
    """The data of an opened conversation."""
    disputed = disputes(context.judgments)
    to_judge = context.to_judge()
    return {
        "situation": context.situation,
        "history": [list(turn) for turn in context.history],
        "references": [[system_name(system), author, text] for system, author, text in context.references],
        "turns": [_session(session, view) for session in context.sessions],
        "judgments": [
            {
                "system_a": system_name(row.system_a), "system_b": system_name(row.system_b),
                "judge": row.judge, "human": row.human, "winner": row.winner, "strength": row.strength,
                "shown_first": row.shown_first, "presentation": row.presentation, "rationale": row.rationale,
                "axes": {axis: list(mark) for axis, mark in row.axes.items()}, "own_family": row.own_family,
                "to_judge": [system_name(system) for system in to_judge(row)],
            }
            for row in _disputed_first(context.judgments, disputed)[:MOST_VERDICTS]
        ],
        "disputed": [[system_name(a), system_name(b)] for a, b in sorted(disputed)],
        "tally": tally(context.judgments),
        "verdicts": sum(not row.human for row in context.judgments),
        "votes": sum(row.human for row in context.judgments),
    }  # fmt: skip


def tally(rows: Sequence[JudgmentView]) -> list[list[str | int | bool]]:
    """[system, repeat, rater, whether people, presentation, verdicts won, ties, verdicts]: of all verdicts that a figure uses.

    People are one rater.
    """
    seen: dict[tuple[str, int, str, bool, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in rows:
        if not row.counts or is_rule(row.judge):
            continue
        for side, system in (("a", row.system_a), ("b", row.system_b)):
            found = seen[system, row.replicate, "people" if row.human else row.judge, row.human, row.presentation]
            found[0] += row.winner == side
            found[1] += row.winner == "tie"
            found[2] += 1
    return [[*key, *found] for key, found in sorted(seen.items()) if not is_reference(key[0])]


def _disputed_first(rows: Sequence[JudgmentView], disputed: frozenset[tuple[str, str]]) -> list[JudgmentView]:
    return sorted(rows, key=lambda row: (min(row.system_a, row.system_b), max(row.system_a, row.system_b)) not in disputed)


def _session(session: SessionView, view: PageView) -> Json:
    last = session.last
    return {
        "agent": session.agent, "session": session.session, "status": session.status, "failure": session.failure,
        "written": session.written, "heard": session.heard, "understood": session.understood,
        "audio": session.audio, "replayed": [list(said) for said in session.replayed],
        "caller": _spans(session.caller), "pauses": _spans(session.pauses), "agent_spans": _spans(session.agent_spans),
        "marks": _spans(session.marks), "envelope": session.envelope, "length_ms": session.length_ms,
        "repeat": session.repeat, "condition": session.condition, "mode": session.mode, "slowest": session.slowest,
        "is_call": session.is_call, "unspoken": _unspoken(session.unspoken), "to_judge": session.speaks_to_judge,
        "each": [_turn(turn, view) for turn in session.turns],
        # Of the last turn alone, whose reply is shown and judged.
        "stages": _spans(last.stages), "hidden": _spans(last.hidden), "stages_note": last.stages_note,
        "served": [[wait.name, _spans(wait.parts), wait.note] for wait in last.served], "refused": list(last.refused),
    }  # fmt: skip


def _unspoken(found: Unspoken | None) -> Json | None:
    return None if found is None else {"turns": found.turns, "of": found.of, "why": BECAUSE[found.why], "words": found.words}


def _turn(turn: TurnView, view: PageView) -> Json:
    known = {name: round(value, 1) for name in turn.times_ms if (value := turn.ms(name)) is not None}
    budgets = {"ttfa": view.budget_ttfa_ms, "ttft": view.budget_ttft_ms}
    owed = {name: words for name in turn.times_ms if (words := owed_words(turn, name, budgets.get(name)))}
    return {
        "number": turn.number, "spoken_end_ms": turn.spoken_end_ms, "figures_ms": known, "owed": owed,
        "inner_pauses": list(turn.inner_pauses), "backchannels": turn.backchannels, "cut_in": turn.cut_in,
        "no_reply": turn.no_reply, "discarded": turn.discarded, "labels": list(turn.labels), "words": turn.words,
    }  # fmt: skip


def _spans(spans: tuple[Span, ...]) -> list[list[str | float]]:
    return [[span.name, round(span.start_ms, 1), round(span.end_ms, 1)] for span in spans]
