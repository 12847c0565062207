"""The view in the form for the page's script, with short lists instead of objects for data with thousands of entries."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from harness.reports.each_turn import EachTurn
from harness.reports.view import AgentView, ContextView, JudgmentView, PageView, Span, TurnView
from harness.reports.wording import system_name
from harness.store.judgment import is_reference, is_rule
from harness.store.unspoken import BECAUSE, Unspoken

OVER, CUT, SILENT, FAILED, DISCARDED, DISPUTED, SLOWEST = 1, 2, 4, 8, 16, 32, 64
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
    latencies = [_latencies_ms(context, agent) for agent in view.agents]
    of_agents = {system for pair in disputed for system in pair}
    return {
        "id": context.id,
        "subset": context.subset,
        "emotion": context.emotion,
        "problem": context.problem,
        "flags": [_flags(context, agent.name, agent.spoken, view, agent.name in of_agents) for agent in view.agents],
        "ms": [next(iter(known), None) for known in latencies],
        "slowest_ms": [max(known, default=None) for known in latencies],
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


def _latencies_ms(context: ContextView, agent: AgentView) -> list[int]:
    """The latencies of the agent's valid turns in this context: TTFA, or TTFT for a text model."""
    name = "ttfa" if agent.spoken else "ttft"
    recorded = [turn for turn in context.turns if turn.agent == agent.name and turn.mode == "recorded"]
    if waits_ms := [one.ttfa_ms for turn in recorded for one in turn.each if one.ttfa_ms is not None]:
        # The median first: the figure that the list shows of a call.
        return [round(median(waits_ms)), round(max(waits_ms))]
    mine = [turn for turn in context.turns if turn.agent == agent.name and not (turn.slowest or turn.discarded)]
    return [round(turn.figures_ms[name]) for turn in mine if name in turn.figures_ms]


def _flags(context: ContextView, agent: str, spoken: bool, view: PageView, disputed: bool) -> int:
    turns = [turn for turn in context.turns if turn.agent == agent]
    if not turns:
        return -1
    found = DISPUTED if disputed else 0
    for turn in turns:
        if turn.mode == "recorded" and turn.each:
            found |= _flags_of_call(turn, view.budget_ttfa_ms)
            continue
        known = [turn.figures_ms[name] for name in (("ttfa", "answer") if spoken else ("ttft",)) if name in turn.figures_ms]
        budget = view.budget_ttfa_ms if spoken else view.budget_ttft_ms
        found |= SLOWEST if turn.slowest else 0
        found |= OVER if turn.slowest or (max(known, default=0) > budget and not turn.discarded) else 0
        found |= CUT if turn.cut_in or turn.pauses_cut else 0
        found |= SILENT if turn.no_reply else 0
        found |= FAILED if turn.status == "failed" else 0
        found |= DISCARDED if turn.discarded else 0
    return found


def _flags_of_call(turn: TurnView, budget_ms: float) -> int:
    """The flags of any turn of a recorded call; it counts as discarded if all of its turns are."""
    slow = any(one.no_reply or one.signed_ms is not None for one in turn.each)
    over = slow or any(max(one.ttfa_ms or 0, one.answer_ms or 0) > budget_ms for one in turn.each)
    found = SLOWEST if slow else 0
    found |= OVER if over else 0
    found |= CUT if any(one.cut_in or one.inner_pauses_cut for one in turn.each) else 0
    found |= SILENT if any(one.no_reply for one in turn.each) else 0
    return found | (DISCARDED if all(one.discarded for one in turn.each) else 0)


def conversation(context: ContextView) -> Json:
    """The data of an opened conversation."""
    disputed = disputes(context.judgments)
    to_judge = context.to_judge()
    return {
        "situation": context.situation,
        "history": [list(turn) for turn in context.history],
        "references": [[system_name(system), author, text] for system, author, text in context.references],
        "turns": [_turn(turn) for turn in context.turns],
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


def _turn(turn: TurnView) -> Json:
    return {
        "agent": turn.agent, "session": turn.session, "status": turn.status, "failure": turn.failure,
        "written": turn.written, "heard": turn.heard, "understood": turn.understood,
        "audio": turn.audio, "replayed": [list(said) for said in turn.replayed],
        "figures_ms": {name: round(value, 1) for name, value in turn.figures_ms.items()},
        "others_ms": {name: round(value, 1) for name, value in turn.others_ms.items()},
        "spoken_end_ms": turn.spoken_end_ms, "caller": _spans(turn.caller), "pauses": _spans(turn.pauses),
        "agent_spans": _spans(turn.agent_spans), "stages": _spans(turn.stages), "hidden": _spans(turn.hidden),
        "stages_note": turn.stages_note,
        "served": [[wait.name, _spans(wait.parts), wait.note] for wait in turn.served],
        "marks": _spans(turn.marks), "refused": list(turn.refused), "to_judge": turn.speaks_to_judge,
        "cut_in": turn.cut_in, "no_reply": turn.no_reply,
        "discarded": turn.discarded, "slowest": turn.slowest, "labels": list(turn.labels), "envelope": turn.envelope,
        "length_ms": turn.length_ms, "repeat": turn.repeat, "condition": turn.condition, "mode": turn.mode,
        "each": [_each(one) for one in turn.each], "unspoken": _unspoken(turn.unspoken),
    }  # fmt: skip


def _unspoken(found: Unspoken | None) -> Json | None:
    return None if found is None else {"turns": found.turns, "of": found.of, "why": BECAUSE[found.why], "words": found.words}


def _each(one: EachTurn) -> Json:
    times = {name: round(value, 1) if isinstance(value, float) else value for name, value in asdict(one).items()}
    return {**times, "labels": list(one.labels)}


def _spans(spans: tuple[Span, ...]) -> list[list[str | float]]:
    return [[span.name, round(span.start_ms, 1), round(span.end_ms, 1)] for span in spans]
