"""The check of a run against a budgets file: a verdict on each limit, and one on all together.

In a run that its own measurement calls invalid a limit is decided only where the verdict is the same whatever the sessions at
fault would have given (`TurnTable.with_unknown`): late frames and a stopped event loop are faults of the harness, never of the
agent. What an agent did itself (it crashed, broke the connection, said nothing) counts against it. Others on the machine widen
the intervals.

*Cannot tell* is also a limit on quality that rests on a judge's opinion, one that compares ratings of two scales with each
other, and every limit on a cell with planned turns that were never spoken through no fault of the agent.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from harness.errors import UserError
from harness.figures.paired_runs import counterparts, refuse_other_callers, shared_ids
from harness.figures.rank import Place
from harness.figures.validity import READ, sessions_at_fault, with_validity
from harness.gate.budgets import Budgets, CellLimit, Limit, limits_for
from harness.gate.decide import Decision, Verdict, decide, overall, tail_of
from harness.gate.evidence import PREFERRED, Cells, is_of_turns, is_peoples, is_preference, is_rating, unit_of
from harness.gate.steps import STRETCHES, Steps, limits_of_steps, refuse_other_load
from harness.ranking.head_to_head import HeadToHead
from harness.scenarios.context import Context
from harness.statistics.bounds import Evidence
from harness.store.judgment import Judgment
from harness.store.manifest import RunManifest
from harness.store.run_store import RunStore
from harness.store.selection import HEARD, Selection, is_agents_fault
from harness.store.unspoken import OURS, Reason
from harness.timing.figures import NO_REPLY_MS
from harness.timing.quantiles import finite
from harness.wording import cannot_tell, milliseconds

CONVERSATIONS: Final = ("conversation", "conversations")


@dataclass(frozen=True, slots=True)
class Checked:
    """One limit with its verdict. `decision` is None if the run has no such figure, or no difference from the baseline."""

    asked: CellLimit
    verdict: Verdict | Literal["ignored"]
    decision: Decision | None
    invalid: bool = False
    """True if the run is invalid, and this limit is not decided alike whatever its sessions at fault would have given."""
    in_spite_of_disturbance: bool = False
    """True if the run is invalid, and this limit is decided alike whatever its sessions at fault would have given."""
    undecided: str = ""
    """Reason why a figure of quality decides nothing, in one sentence without its full stop; empty where it can."""
    speakers: int | None = None
    """Number of speakers behind the figure, where its interval is over them and not over conversations."""
    why: str = ""
    """Reason for the verdict in one sentence, where none of the usual ones says it: others on this machine alone leave it open,
    or a step of a load test says nothing of its agent."""
    unspoken: Mapping[Reason, int] = field(default_factory=dict)
    """Reason → planned turns of the cell that were never spoken. With any that are ours, the limit decides nothing."""
    note: str = ""
    """Sentence on a filler before the answer, without its full stop (`Cells.before_answers`); empty elsewhere."""

    @property
    def name(self) -> str:
        """The name of the limit in a list."""
        limit = self.asked.limit
        subset = "" if limit.subset == "all" else f", {limit.subset}"
        return f"{self.asked.agent} ({self.asked.condition}{subset}): {limit.words}"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check."""

    run: Path
    verdict: Verdict
    checked: tuple[Checked, ...]
    invalid: tuple[str, ...]
    contexts: int
    look: int | None
    """Number of this check if the run is checked repeatedly; None for a single check."""
    sessions_missing: int = 0
    """Number of planned sessions without figure through no fault of their agent."""
    observations: tuple[str, str] = CONVERSATIONS
    """What `contexts` counts, one and many: of a load test, stretches of time."""
    sound: Path | None = None
    """Folder with the sound of all calls; None where none is stored."""

    @property
    def more_needed(self) -> int | None:
        """Number of further conversations that would settle the open limits; None if none is open or it is unknown for one."""
        still_open = [c.decision for c in self.checked if c.verdict == "cannot tell"]
        wanted = [decision.more_needed if decision else None for decision in still_open]
        known = [n for n in wanted if n is not None]
        return max(known) if known and len(known) == len(wanted) else None

    @property
    def over_speakers(self) -> bool:
        """True if a limit that is open has its interval over speakers: conversations of the same ones would not settle it."""
        return any(c.speakers is not None for c in self.checked if c.verdict == "cannot tell")

    def as_object(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return {
            "schema": 1,
            "run": str(self.run),
            "verdict": self.verdict,
            "invalid": list(self.invalid),
            self.observations[1]: self.contexts,
            "sessions_missing": self.sessions_missing,
            "look": self.look,
            "more_needed": self.more_needed,
            "limits": [_limit_object(c) for c in self.checked],
        }


def check_run(
    store: RunStore,
    budgets: Budgets,
    *,
    votes: Sequence[Judgment] = (),
    baseline: RunStore | None = None,
    baseline_votes: Sequence[Judgment] = (),
    look: int | None = None,
    fails_twice: bool = False,
) -> CheckResult:
    """The verdicts on one run in its present state.

    Args:
        look: number of this check, from 1, if more is played until the result is clear; None for a single check.
        fails_twice: True if the same look can fail the run twice: before calls at fault are played again, and after.

    Raises UserError: the run cannot have a limited figure, or the baseline has other conversations.
    """
    selection = Selection(store, votes)
    manifest = store.manifest
    judged = any(row.source == "judge" and row.presentation == HEARD for row in selection.verdicts)
    part = manifest.load
    if part is not None:
        asked = limits_of_steps(budgets, manifest, part)
    else:
        asked = limits_for(budgets, manifest, selection.contexts, judged)
    # The sessions that make a run invalid; None if it is invalid for a reason that is not known session by session.
    at_fault: frozenset[str] | None = frozenset()
    if manifest.invalid:
        known_by_session = tuple(manifest.invalid) == tuple(with_validity(store).invalid)
        at_fault = sessions_at_fault(store, selection) if known_by_session else None
    known = frozenset[str]() if at_fault is None else at_fault
    tail = tail_of(len(asked), look)

    def rule(found: Evidence, limit: Limit) -> Decision:
        passes_by_figure = limit.in_doubt == "figure"
        return decide(found, limit.rule, limit.bound, tail, fails_twice=fails_twice, passes_by_figure=passes_by_figure)

    cells = Cells(selection, at_fault=known) if part is None else Steps(selection)
    earlier = None
    if baseline is not None and part is not None:
        refuse_other_load(manifest, baseline)
        earlier = _Earlier(cells, Steps(Selection(baseline)), counterparts(manifest, baseline.manifest))
    elif baseline is not None:
        refuse_unpaired(baseline, manifest, store.contexts_as_played(), asked)
        shared = shared_ids(manifest, baseline.manifest)
        earlier = _Earlier(
            cells if len(shared) == len(manifest.context_ids) else Cells(selection, shared, known),
            Cells(Selection(baseline, baseline_votes), shared),
            counterparts(manifest, baseline.manifest),
        )
    checked = tuple(
        replace(_checked(one, cells, earlier, rule), note=cells.before_answers(one.limit.figure, one.agent, _place(one)))
        for one in asked
    )
    if manifest.invalid:
        checked = tuple(one if _is_of_words(one, cells) else _of_invalid(one, decides=at_fault is not None) for one in checked)
    checked = tuple(_with_unspoken(one, cells, earlier) for one in checked)
    if isinstance(cells, Steps):
        contexts, missing = cells.stretches(frozenset(one.condition for one in asked)), 0
    else:
        contexts = len({s.key.context_id for s in selection.sessions})
        planned = len(manifest.context_ids) * len(manifest.played) * len(manifest.conditions) * manifest.repeats
        told = sum(s.status == "finished" or is_agents_fault(s.failure_kind) for s in selection.of_the_plan)
        missing = planned - told
    return CheckResult(
        run=store.folder,
        verdict=overall([c.verdict for c in checked if c.verdict != "ignored"]),
        checked=checked,
        invalid=tuple(manifest.invalid),
        contexts=contexts,
        look=look,
        sessions_missing=missing,
        observations=STRETCHES if part is not None else CONVERSATIONS,
        sound=store.folder / "sessions" if part is None else None,
    )


_Rule = Callable[[Evidence, Limit], Decision]


@dataclass(frozen=True, slots=True)
class _Earlier:
    """The two runs on the conversations that both have. `agents`: agent → its counterpart in the baseline."""

    now: Cells
    before: Cells
    agents: Mapping[str, str]


def refuse_unpaired(
    baseline: RunStore, manifest: RunManifest, contexts: Collection[Context], asked: Sequence[CellLimit]
) -> None:
    """Check that the baseline can be compared with a run, and has every agent and condition that a limit compares.

    Raises UserError: it cannot, or lacks one.
    """
    refuse_other_callers(baseline, manifest, contexts)
    agents = counterparts(manifest, baseline.manifest)
    for one in asked:
        if one.limit.comparison != "worse_than_baseline_by":
            continue
        if one.agent not in agents:
            have = ", ".join(agent.name for agent in baseline.manifest.played)
            raise UserError(f"--baseline {baseline.folder}: has no agent {one.agent}; it has {have}")
        if one.condition not in baseline.manifest.conditions:
            have = ", ".join(baseline.manifest.conditions)
            raise UserError(f"--baseline {baseline.folder}: has no condition {one.condition}; it has {have}")


def _checked(asked: CellLimit, cells: Cells, earlier: _Earlier | None, rule: _Rule) -> Checked:
    limit, place = asked.limit, _place(asked)
    if silent := _silent(asked, cells, earlier):
        return Checked(asked, "cannot tell", None, why=silent)
    undecided, apart = cells.undecided_quality(limit.figure, asked.agent, place), ""
    found = cells.evidence(limit.figure, asked.agent, place)
    if found is not None and limit.comparison == "worse_than_baseline_by":
        found = None
        if earlier is not None:
            was = earlier.agents[asked.agent]
            found = earlier.now.change_from(earlier.before, limit.figure, asked.agent, place, was)
        if found is not None and earlier is not None:
            ours, theirs = earlier.now.scale(limit.figure, place), earlier.before.scale(limit.figure, place)
            if ours != theirs:
                apart = f"This run is rated by {ours} and the baseline by {theirs}, which are different scales"
            baselines = earlier.before.undecided_quality(limit.figure, earlier.agents[asked.agent], place)
            undecided = undecided or (baselines and f"Baseline: {baselines}") or apart
    if found is None:
        return Checked(
            asked, "ignored" if limit.missing == "ignore" else limit.missing, None, why=_why_missing(asked, cells, earlier)
        )
    if undecided:
        decision = None if apart else _no_verdict(rule(found, limit))
        return Checked(asked, "cannot tell", decision, undecided=undecided)
    decision = rule(found, limit)
    if isinstance(found, HeadToHead) and decision.verdict == "cannot tell":
        return Checked(asked, "cannot tell", _no_verdict(decision), undecided="The votes on these two agents do not tell yet")
    why = _why_others(decision, limit.figure, cells.others(asked.agent, place)) if decision.by_others else ""
    of_others = cells.watched(limit.figure, asked.agent, place)
    if limit.comparison == "worse_than_baseline_by" and earlier is not None:
        of_others &= earlier.before.watched(limit.figure, earlier.agents[asked.agent], place)
    decision = decision if of_others else replace(decision, ends=None)
    if why:
        return Checked(asked, "cannot tell", decision, why=why)
    if not cells.over_speakers(limit.figure):
        return Checked(asked, decision.verdict, decision)
    if decision.more_needed is not None:
        more = math.ceil(decision.more_needed * cells.conversations_a_speaker(place))
        decision = replace(decision, more_needed=more)
    return Checked(asked, decision.verdict, decision, speakers=found.contexts)


def _steps(asked: CellLimit, cells: Cells, earlier: _Earlier | None) -> Iterator[tuple[str, str, Steps]]:
    """The load tests that a limit reads, each with the name of its step and its agent; none for a run."""
    if isinstance(cells, Steps):
        yield "The step", asked.agent, cells
    if earlier is not None and isinstance(earlier.before, Steps) and asked.limit.comparison == "worse_than_baseline_by":
        yield "The baseline's step", earlier.agents[asked.agent], earlier.before


def _silent(asked: CellLimit, cells: Cells, earlier: _Earlier | None) -> str:
    """Why a step of a load test says nothing about the agent, in a sentence; empty where it does."""
    found = ((name, step.silent(_place(asked))) for name, _, step in _steps(asked, cells, earlier))
    return next((f"{name} says nothing about the agent: {why}." for name, why in found if why), "")


def _why_missing(asked: CellLimit, cells: Cells, earlier: _Earlier | None) -> str:
    """Why a figure is missing, in a sentence: no vote on the two agents counts, or a step of a load test does not have it.
    Empty where nothing more is known."""
    limit = asked.limit
    if is_peoples(limit.figure) and (excluded := cells.why_no_vote_counts(_place(asked))):
        return f"{excluded}; and the budgets file has missing: {limit.missing}."
    if is_preference(limit.figure):
        other = limit.figure.removeprefix(PREFERRED)
        return f"Nobody has voted on {asked.agent} and {other}, and the budgets file has missing: {limit.missing}."
    steps = _steps(asked, cells, earlier)
    found = (step.why_missing(limit.figure, agent, _place(asked), name) for name, agent, step in steps)
    why = next(filter(None, found), "")
    return why and f"{why}, and the budgets file has missing: {limit.missing}."


def _why_others(decision: Decision, figure: str, others: Sequence[tuple[str, float]]) -> str:
    assert decision.ends is not None
    low, high = decision.ends
    part = milliseconds(min(high, NO_REPLY_MS) - low) if unit_of(figure) == "ms" else f"{100 * (high - low):.0f} % of it"
    said = cannot_tell(part, others)
    return f"{said[0].upper()}{said[1:]}; more conversations on it would not settle that."


def _with_unspoken(checked: Checked, cells: Cells, earlier: _Earlier | None) -> Checked:
    """A limit with the unspoken turns of its cell, and without decision where some are ours: nobody knows what they would have
    given. Those of the agent are a figure, `unspoken_share`, and stop no other."""
    limit, agent = checked.asked.limit, checked.asked.agent
    place = Place(checked.asked.condition, HEARD, limit.subset)
    left = cells.unspoken(agent, place)
    before = {}
    if earlier is not None and limit.comparison == "worse_than_baseline_by":
        before = earlier.before.unspoken(earlier.agents[agent], place)
    ours = left.get(OURS, 0) + before.get(OURS, 0)
    if not ours or checked.verdict == "ignored":
        return replace(checked, unspoken=left)
    decision = checked.decision and _no_verdict(checked.decision)
    return replace(checked, verdict="cannot tell", decision=decision, unspoken={**left, OURS: ours})


def _place(asked: CellLimit) -> Place:
    return Place(asked.condition, HEARD, asked.limit.subset)


def _no_verdict(decision: Decision) -> Decision:
    return replace(decision, verdict="cannot tell", more_needed=None, by_others=False, by_figure=False)


def _is_of_words(checked: Checked, cells: Cells) -> bool:
    """True for a limit on quality whose raters read the replies: words are the same however late frames left."""
    limit = checked.asked.limit
    return is_rating(limit.figure) and cells.presentation(limit.figure, checked.asked.agent, _place(checked.asked)) in READ


def _of_invalid(checked: Checked, *, decides: bool) -> Checked:
    """A limit in an invalid run: decided where its sessions at fault cannot change that. `decides`: False if these are not
    known."""
    if checked.verdict == "ignored":
        return checked
    told = checked.decision is not None and checked.verdict != "cannot tell"
    if decides and told and is_of_turns(checked.asked.limit.figure):
        return replace(checked, in_spite_of_disturbance=True)
    decision = checked.decision and _no_verdict(checked.decision)
    return replace(checked, verdict="cannot tell", decision=decision, invalid=True, why="")


def _limit_object(checked: Checked) -> dict[str, Any]:
    limit, decision = checked.asked.limit, checked.decision
    return {
        "figure": limit.figure,
        "agent": checked.asked.agent,
        "condition": checked.asked.condition,
        "subset": limit.subset,
        "limit": {limit.comparison: limit.bound},
        "value": finite(decision.value) if decision else None,
        "range": [finite(end) for end in decision.ends] if decision and decision.ends else None,
        "interval": [finite(end) for end in decision.interval] if decision else None,
        "level": 1 - 2 * decision.tail if decision else None,
        "verdict": checked.verdict,
        "by_figure": decision is not None and decision.by_figure,
        "undecided": checked.undecided or None,
        "unspoken": dict(checked.unspoken),
        "in_spite_of_disturbance": checked.in_spite_of_disturbance,
        "more_needed": decision.more_needed if decision else None,
        "speakers": checked.speakers,
        "note": checked.note or None,
        "why": checked.why or None,
    }
