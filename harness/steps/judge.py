"""Judging a finished run: every judge first proves itself on pairs with known answers, then judges what was heard.

Each condition is judged apart and rated on a board of its own; repeats are batches of their own, whose rows are replicates of
their context. Silence is a reply too, and the worst one: where an agent said nothing or failed, the other side wins by a
rule that stands in the rows under its own name, so that an agent cannot gain by keeping quiet where it would have answered
badly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness import models
from harness.errors import UserError
from harness.judging import (
    DEFAULT_JUDGE,
    EMBEDDED_WEIGHTS,
    Completion,
    Design,
    JudgingOutcome,
    VerdictCache,
    check_judge_async,
    judge_pairs_async,
    load_judge_settings,
    open_judge,
    reference_completions,
)
from harness.judging.estimate import Estimate, estimate, total
from harness.judging.judge import Judge
from harness.judging.record import record_of, write_record
from harness.judging.stopping import Goal, UntilSeparated
from harness.progress import RunProgress
from harness.steps.conversations import conversation_of
from harness.steps.word_errors import heard_wer
from harness.store.judgment import JudgeCheck, Judgment, Presentation, no_reply_rule
from harness.store.run_store import RunStore
from harness.store.selection import HEARD, Selection

NO_JUDGE = "none"
"""As the only judge: replies are played and timed, and nothing is said about their quality."""
CANARIES = 4
"""Questions with known answers mixed into every batch; a judge that guesses gets all four right once in sixteen."""


@dataclass(frozen=True, slots=True)
class RunJudging:
    """Who judges, what they read, and how much is asked."""

    judges: tuple[str, ...] = (DEFAULT_JUDGE,)
    seed: int = 1
    presentation: Presentation = HEARD
    design: Design = field(default_factory=Design)
    until: Goal | None = None
    """End early once this is told apart."""
    keep_excluded: bool = False
    """Ask judges too that got half or more of the pairs with known answers wrong."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """What is judged together: one condition and one repeat of it, in which a context has one reply of each agent."""

    condition: str
    replicate: int
    competing: tuple[Completion, ...]


def load_judges(names: Sequence[str]) -> tuple[str, ...]:
    """The judges' ids, so that a misspelt name is found before the first call and not after the last.

    Raises:
        UserError: an unknown judge or a malformed judge file.
    """
    if NO_JUDGE in names:
        if len(names) > 1:
            raise UserError(f"--judge {NO_JUDGE}: stands alone; leave out the others, or leave it out")
        return ()
    return tuple(load_judge_settings(name).id for name in names)


async def check_judges(store: RunStore | None, names: Sequence[str], seed: int, progress: RunProgress) -> list[JudgeCheck]:
    """Only put the judges through pairs with known answers; kept with the run, where there is one."""
    return [await _check(store, name, weights_for(name, progress), seed, progress) for name in names]


def estimate_run(store: RunStore, how: RunJudging) -> list[Estimate]:
    """What judging the run would ask and cost, without asking."""
    contexts, batches = store.contexts(), _batches(store, how.presentation)
    early = how.until is not None

    def of(judge: str) -> Estimate:
        settings = load_judge_settings(judge)
        return total([estimate(contexts, b.competing, settings, how.design, how.seed, may_end_early=early) for b in batches])

    return [of(name) for name in how.judges] if batches else []


async def judge_run(store: RunStore, how: RunJudging, progress: RunProgress) -> list[JudgingOutcome]:
    """Check the judges, have them judge the run together, keep their rows. Verdicts of judges not named here stay."""
    if not load_judges(how.judges):
        return []
    batches = _batches(store, how.presentation)
    if not batches:
        progress.note("Nothing was answered, so there is nothing to judge.")
        return []
    judges = await _judges_that_count(store, how, progress)
    if not judges:
        return []
    outcomes = []
    for condition in dict.fromkeys(batch.condition for batch in batches):
        outcomes += await _ask(store, how, judges, [b for b in batches if b.condition == condition], progress)
    return outcomes


async def _judges_that_count(store: RunStore, how: RunJudging, progress: RunProgress) -> list[Judge]:
    judges = []
    for name in how.judges:
        weights = weights_for(name, progress)
        check = await _check(store, name, weights, how.seed, progress)
        if check.excluded and not how.keep_excluded:
            progress.note(f"{check.judge} is left out. {check.note}")
        else:
            judges.append(open_judge(name, weights))
    return judges


async def _ask(
    store: RunStore,
    how: RunJudging,
    judges: Sequence[Judge],
    batches: Sequence[_Batch],
    progress: RunProgress,
) -> list[JudgingOutcome]:
    """The batches of one condition, each by all judges, so that a pair of one judge's own family can be left to the others.

    The rule for ending early looks at the first repeat, whose contexts are independent; once it has told apart what was asked,
    the further repeats are not judged.
    """
    condition = batches[0].condition
    where = f", {condition}" if len(store.manifest.conditions) > 1 else ""
    outcomes: list[JudgingOutcome] = []
    rows: list[Judgment] = []
    rule = UntilSeparated.of(how.until, batches[0].competing) if how.until else None
    with VerdictCache(store.folder / "verdicts.sqlite") as cache:
        for batch in batches:
            repeat = f", repeat {batch.replicate + 1}" if len(batches) > 1 else ""
            progress.phase(f"Judging ({', '.join(judge.id for judge in judges)}{where}{repeat})")
            outcome = await judge_pairs_async(
                store.contexts(),
                batch.competing,
                judges,
                how.design,
                how.seed,
                lambda done, total, _: progress.count(done, total),
                cache=cache,
                presentation=how.presentation,
                canaries=CANARIES if batch is batches[0] else 0,
                enough=rule if batch is batches[0] else None,
            )
            place = {"condition": condition, "replicate": batch.replicate}
            outcomes.append(outcome)
            rows += [row.model_copy(update=place) for row in outcome.judgments]
            if outcome.unasked:
                break
    for judge in judges:
        mine = {judge.id, no_reply_rule(judge.id)}
        store.replace_judgments(mine, [row for row in rows if row.judge in mine], how.presentation, condition)
        write_record(store.folder, record_of(judge.id, outcomes, how.presentation, condition, how.seed, how.design, rule))
    return outcomes


def _batches(store: RunStore, presentation: Presentation) -> list[_Batch]:
    """Every condition is judged apart, so that a reply over a bad line is never set against one over a good line.

    None where no agent answered anywhere: references alone are no contest.
    """
    selection = Selection(store)
    references = reference_completions(store.contexts())
    found, answered = [], False
    for condition in selection.conditions:
        for n in selection.replicates:
            competing = competitors(selection, condition, n, presentation)
            answered |= any(not c.lost for c in competing)
            if competing:
                played = {c.context_id for c in competing}
                found.append(_Batch(condition, n, (*competing, *(r for r in references if r.context_id in played))))
    return found if answered else []


def competitors(selection: Selection, condition: str, replicate: int, presentation: Presentation) -> list[Completion]:
    """What the agents' sessions of one condition and repeat put up: their replies, and what was lost. A replayed reply comes
    with the conversation that it really answers."""
    contexts = {context.id: context for context in selection.store.contexts()}
    families = {agent.name: agent.family for agent in selection.manifest.agents}
    found = []
    for reply in selection.replies(condition, replicate, presentation):
        key = reply.session.key
        if reply.fate != "missing":
            turns = conversation_of(reply.session, contexts[key.context_id]) if reply.fate == "answered" else None
            found.append(Completion(key.context_id, key.agent, reply.text, families.get(key.agent), turns, lost=reply.why))
    return found


async def _check(
    store: RunStore | None, name: str, weights: Mapping[str, Path], seed: int, progress: RunProgress
) -> JudgeCheck:
    judge = open_judge(name, weights)
    progress.phase(f"Checking the judge ({judge.id})")
    check = await check_judge_async(judge, seed, lambda done, total, _: progress.count(done, total))
    if store is not None:
        store.add_judge_check(check)
    return check


def heard_wer_by_agent(store: RunStore) -> dict[str, float | None]:
    """How far what judges read as heard is from what was written, for each agent; None where one of the two is unknown."""
    selection = Selection(store)
    several = len(selection.conditions) > 1
    return {
        f"{agent.name} ({condition})" if several else agent.name: heard_wer(selection.of(agent.name, condition))
        for agent in store.manifest.agents
        for condition in selection.conditions
    }


def weights_for(name: str, progress: RunProgress) -> Mapping[str, Path]:
    """What a judge needs on disk, brought if need be; nothing for one behind an endpoint."""
    if load_judge_settings(name).api != "embedded":
        return {}
    progress.phase("Judge's weights", len(EMBEDDED_WEIGHTS))
    return {weight: models.resolve(weight) for weight in EMBEDDED_WEIGHTS}
