"""Judging a finished run: every judge first proves itself on pairs with known answers, then judges what was heard.

Silence is a reply too, and the worst one: where an agent said nothing at all, the other side wins by a rule that stands in
the rows under its own name, so that an agent cannot gain by keeping quiet where it would have answered badly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
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
from harness.judging.estimate import Estimate, estimate
from harness.judging.judge import Judge
from harness.judging.record import record_of, write_record
from harness.judging.stopping import Goal, UntilSeparated
from harness.progress import RunProgress
from harness.steps.conversations import conversation_of
from harness.steps.word_errors import heard_wer
from harness.store.judgment import JudgeCheck, Judgment, Presentation, is_reference, reference_name
from harness.store.run_store import RunStore, Session
from scenarios.context import Context

NO_JUDGE = "none"
"""As the only judge: replies are played and timed, and nothing is said about their quality."""
CANARIES = 4
"""Questions with known answers mixed into every batch; a judge that guesses gets all four right once in sixteen."""
NO_REPLY_RULE = "rule:no-reply"
HEARD: Presentation = "heard_text"


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
    contexts, competing = store.contexts(), _competing(store, how.presentation)
    return [
        estimate(contexts, competing, load_judge_settings(name), how.design, how.seed, may_end_early=how.until is not None)
        for name in how.judges
    ]


async def judge_run(store: RunStore, how: RunJudging, progress: RunProgress) -> list[JudgingOutcome]:
    """Check the judges, have them judge the run together, keep their rows. Verdicts of judges not named here stay."""
    if not load_judges(how.judges):
        return []
    competing = _competing(store, how.presentation)
    if all(is_reference(c.system) for c in competing):
        progress.note("Nothing was answered, so there is nothing to judge.")
        return []
    judges = await _judges_that_count(store, how, progress)
    outcomes = [await _ask(store, how, judges, competing, progress)] if judges else []
    store.replace_judgments(NO_REPLY_RULE, silence_loses(store, how.presentation), how.presentation)
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
    competing: Sequence[Completion],
    progress: RunProgress,
) -> JudgingOutcome:
    """One batch by all judges, so that a pair of one judge's own family can be left to the others."""
    progress.phase(f"Judging ({', '.join(judge.id for judge in judges)})")
    rule = UntilSeparated.of(how.until, competing) if how.until else None
    with VerdictCache(store.folder / "verdicts.sqlite") as cache:
        outcome = await judge_pairs_async(
            store.contexts(),
            competing,
            judges,
            how.design,
            how.seed,
            lambda done, total, _: progress.count(done, total),
            cache=cache,
            presentation=how.presentation,
            canaries=CANARIES,
            enough=rule,
        )
    for judge in judges:
        rows = [row for row in outcome.judgments if row.judge == judge.id]
        store.replace_judgments(judge.id, rows, how.presentation)
        write_record(store.folder, record_of(judge.id, outcome, how.presentation, how.seed, how.design, rule))
    return outcome


def _competing(store: RunStore, presentation: Presentation) -> list[Completion]:
    families = {agent.name: agent.family for agent in store.manifest.agents}
    contexts = store.contexts()
    return [*completions_of(store.sessions(), presentation, families, contexts), *reference_completions(contexts)]


def completions_of(
    sessions: Sequence[Session],
    presentation: Presentation,
    families: Mapping[str, str | None],
    contexts: Sequence[Context] = (),
) -> list[Completion]:
    """The replies that compete, one a context and agent: of the first repeat in the first condition played.

    A replayed one comes with the conversation it answers, where its context is among `contexts`.
    """
    by_id = {context.id: context for context in contexts}
    chosen: dict[tuple[str, str], Completion] = {}
    for session in sorted(sessions, key=lambda s: (s.key.repeat, s.key.condition != "clean", s.key.condition)):
        text = reply_of(session, presentation)
        if text:
            key = session.key
            turns = conversation_of(session, by_id[key.context_id]) if key.context_id in by_id else None
            chosen.setdefault(
                (key.context_id, key.agent), Completion(key.context_id, key.agent, text, families.get(key.agent), turns)
            )
    return list(chosen.values())


def reply_of(session: Session, presentation: Presentation) -> str | None:
    """What a judge reads: the transcript of the audio, or what was written. A text system has only the latter."""
    if session.status == "failed":
        return None
    if presentation == HEARD and session.heard_text is not None:
        return session.heard_text
    return session.written_text


def silence_loses(store: RunStore, presentation: Presentation) -> list[Judgment]:
    """A verdict for each competitor of a finished session without any reply."""
    contexts = {c.id: c for c in store.contexts()}
    sessions = [s for s in store.sessions() if s.status == "finished"]
    spoke = {(s.key.context_id, s.key.agent) for s in sessions if reply_of(s, presentation)}
    silent = sorted({(s.key.context_id, s.key.agent) for s in sessions if s.timing is not None and s.timing.no_reply} - spoke)
    rows = []
    for (context_id, agent), other in product(silent, sorted({s.key.agent for s in sessions} | _references(contexts))):
        answered = (context_id, other) in spoke or other in {reference_name(r.id) for r in contexts[context_id].references}
        if answered and other != agent:
            rows.append(
                Judgment(
                    context=context_id,
                    subset=contexts[context_id].subset,
                    system_a=agent,
                    system_b=other,
                    source="judge",
                    judge=NO_REPLY_RULE,
                    winner="b",
                    strength=5,
                    presentation=presentation,
                    rationale="Nothing was heard within 15 s.",
                )
            )
    return rows


def _references(contexts: Mapping[str, Context]) -> set[str]:
    return {reference_name(r.id) for c in contexts.values() for r in c.references}


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
    sessions = store.sessions()
    return {a.name: heard_wer([s for s in sessions if s.key.agent == a.name]) for a in store.manifest.agents}


def weights_for(name: str, progress: RunProgress) -> Mapping[str, Path]:
    """What a judge needs on disk, brought if need be; nothing for one behind an endpoint."""
    if load_judge_settings(name).api != "embedded":
        return {}
    progress.phase("Judge's weights", len(EMBEDDED_WEIGHTS))
    return {weight: models.resolve(weight) for weight in EMBEDDED_WEIGHTS}
