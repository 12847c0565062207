"""Running a plan: judge × comparison → `Judgment` rows, with nothing lost and nothing counted twice.

Every question of the plan ends in exactly one of four boxes: a row, a tie without a call (the replies are the same), a
row from the cache, or *missing* with the kind of its failure. Questions run concurrently within each judge's own limit, so
a slow endpoint holds up nobody else; rows come back in the order of the plan, whatever order the answers came in.

Own family: a judge does not judge a pair with exactly one side of its own model family. Where that leaves no judge, all
judge it and the rows are flagged `own_family`, so that they are never called trusted.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.judging.cache import VerdictCache, cache_key
from harness.judging.canaries import CanaryWatch
from harness.judging.completion import Completion, identical
from harness.judging.design import Comparison, Design, plan_comparisons
from harness.judging.judge import FailureKind, Judge, JudgeFailure, Place, Question, Verdict
from harness.judgment import AxisMark, Judgment, Presentation
from scenarios.context import Context

Progress = Callable[[int, int, str], None]
"""Called with (done, total, what was just done)."""
REFERENCE_PREFIX = "ref:"


@dataclass(frozen=True, slots=True)
class Missing:
    """A question that got no answer."""

    judge: str
    comparison: Comparison
    kind: FailureKind
    detail: str
    attempts: int


@dataclass(frozen=True, slots=True)
class JudgingOutcome:
    """What came of a plan. `len(judgments) + len(missing)` is the number of planned questions."""

    judgments: tuple[Judgment, ...]
    missing: tuple[Missing, ...]
    comparisons: int
    calls: int
    """Questions put to a judge: neither cached nor ties."""
    cached: int
    ties_without_call: int
    tokens_in: int
    tokens_out: int
    canaries: tuple[CanaryWatch, ...] = ()


@dataclass(frozen=True, slots=True)
class _Task:
    judge: Judge
    comparison: Comparison
    own_family: bool


@dataclass(frozen=True, slots=True)
class _Done:
    task: _Task
    verdict: Verdict | None
    how: Literal["call", "cache", "same", "missing"]
    failure: JudgeFailure | None = None


def reference_completions(contexts: Sequence[Context]) -> list[Completion]:
    """The contexts' references as competitors, named `ref:<id>`."""
    return [Completion(c.id, REFERENCE_PREFIX + r.id, r.text) for c in contexts for r in c.references]


def judge_pairs(
    contexts: Sequence[Context],
    completions: Sequence[Completion],
    judge: Judge | Sequence[Judge],
    design: Design | None = None,
    seed: int = 1,
    progress: Progress | None = None,
    *,
    cache: VerdictCache | None = None,
    presentation: Presentation = "written",
    canaries: int = 0,
) -> JudgingOutcome:
    """Judge every chosen pair of replies, blind, in a seeded order. Blocks until done; see `judge_pairs_async`."""
    return asyncio.run(
        judge_pairs_async(
            contexts,
            completions,
            judge,
            design,
            seed,
            progress,
            cache=cache,
            presentation=presentation,
            canaries=canaries,
        )
    )


async def judge_pairs_async(
    contexts: Sequence[Context],
    completions: Sequence[Completion],
    judge: Judge | Sequence[Judge],
    design: Design | None = None,
    seed: int = 1,
    progress: Progress | None = None,
    *,
    cache: VerdictCache | None = None,
    presentation: Presentation = "written",
    canaries: int = 0,
) -> JudgingOutcome:
    """Judge every chosen pair of replies.

    Args:
        contexts: those not named by a completion are ignored, as are completions of unknown contexts.
        completions: at most one a system and context; competitors, references included if they are to compete.
        judge: one judge or several, not yet entered.
        design: None asks every pair once, with the audits.
        seed: of pairs and orders; recorded by the caller.
        progress: told after each answer.
        cache: kept answers; None keeps them for this call only.
        presentation: written into every row.
        canaries: how many questions with known answers are mixed in for each judge, to detect drift.
    """
    judges = tuple(judge) if isinstance(judge, Sequence) else (judge,)
    by_id = {c.id: c for c in contexts}
    replies = _replies(completions, by_id)
    blocks = {context_id: list(systems) for context_id, systems in replies.items()}
    tasks = _tasks(plan_comparisons(blocks, design or Design(), seed), replies, judges)
    done = 0

    def tell(what: str) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, len(tasks), what)

    own_cache = cache if cache is not None else VerdictCache()
    watches = []
    try:
        per_judge = [_for_one(j, [t for t in tasks if t.judge is j], by_id, replies, own_cache, tell) for j in judges]
        finished = {id(d.task): d for batch in await asyncio.gather(*per_judge) for d in batch}
        if canaries:
            for one in judges:
                async with one:
                    watches.append(await CanaryWatch.ask(one, canaries, seed))
    finally:
        if cache is None:
            own_cache.__exit__()
    return _outcome([finished[id(t)] for t in tasks], by_id, presentation, tuple(watches))


async def _for_one(
    judge: Judge,
    tasks: Sequence[_Task],
    contexts: Mapping[str, Context],
    replies: Mapping[str, Mapping[str, Completion]],
    cache: VerdictCache,
    tell: Callable[[str], None],
) -> list[_Done]:
    """All of one judge's questions. As many workers as it takes questions at once share one queue."""
    queue = iter(tasks)
    out: list[_Done] = []

    async def work() -> None:
        for task in queue:
            out.append(await _answer(task, contexts[task.comparison.context_id], replies, cache))
            tell(f"{task.comparison.context_id}: {task.comparison.system_a} × {task.comparison.system_b}")

    async with judge, asyncio.TaskGroup() as group:
        for _ in range(min(judge.concurrency, len(tasks))):
            group.create_task(work())
    return out


async def _answer(
    task: _Task, context: Context, replies: Mapping[str, Mapping[str, Completion]], cache: VerdictCache
) -> _Done:
    c = task.comparison
    a, b = replies[c.context_id][c.system_a].text, replies[c.context_id][c.system_b].text
    if identical(a, b):
        return _Done(task, None, "same")
    question = Question.of(context, a, b) if c.shown_first == "a" else Question.of(context, b, a)
    key = cache_key(task.judge.fingerprint, question, c.draw)
    kept = cache.get(key)
    if kept is not None:
        return _Done(task, kept, "cache")
    try:
        verdict = await task.judge.compare(question)
    except JudgeFailure as failure:
        return _Done(task, None, "missing", failure)
    cache.put(key, verdict)
    return _Done(task, verdict, "call")


def _replies(completions: Sequence[Completion], contexts: Mapping[str, Context]) -> dict[str, dict[str, Completion]]:
    replies: dict[str, dict[str, Completion]] = {}
    for c in completions:
        if c.context_id not in contexts:
            continue
        block = replies.setdefault(c.context_id, {})
        if c.system in block:
            raise ValueError(f"context {c.context_id}: two completions of system {c.system}")
        block[c.system] = c
    return replies


def _tasks(
    plan: Sequence[Comparison], replies: Mapping[str, Mapping[str, Completion]], judges: Sequence[Judge]
) -> list[_Task]:
    tasks = []
    for c in plan:
        families = (replies[c.context_id][c.system_a].family, replies[c.context_id][c.system_b].family)
        free = [j for j in judges if families.count(j.family) != 1]
        for j in free or judges:
            audit_is_idle = c.purpose != "main" and j.orders_itself
            if not audit_is_idle:
                tasks.append(_Task(j, c, own_family=not free))
    return tasks


def _outcome(
    done: Sequence[_Done], contexts: Mapping[str, Context], presentation: Presentation, watches: tuple[CanaryWatch, ...]
) -> JudgingOutcome:
    rows, missing = [], []
    for d in done:
        if d.failure is not None:
            missing.append(
                Missing(d.task.judge.id, d.task.comparison, d.failure.kind, d.failure.detail, d.failure.attempts)
            )
        else:
            rows.append(_row(d, contexts[d.task.comparison.context_id].subset, presentation))
    asked = [d.verdict for d in done if d.how == "call" and d.verdict is not None]
    return JudgingOutcome(
        judgments=tuple(rows),
        missing=tuple(missing),
        comparisons=len(done),
        calls=len(asked) + len(missing),
        cached=sum(d.how == "cache" for d in done),
        ties_without_call=sum(d.how == "same" for d in done),
        tokens_in=sum(v.tokens_in for v in asked),
        tokens_out=sum(v.tokens_out for v in asked),
        canaries=watches,
    )


def _row(done: _Done, subset: str, presentation: Presentation) -> Judgment:
    c, judge, verdict = done.task.comparison, done.task.judge, done.verdict

    def side(place: Place) -> Literal["a", "b"]:
        return c.shown_first if place == "first" else ("b" if c.shown_first == "a" else "a")

    return Judgment(
        context=c.context_id,
        subset=subset,
        system_a=c.system_a,
        system_b=c.system_b,
        source="judge",
        judge=judge.id,
        winner=side(verdict.winner) if verdict else "tie",
        strength=verdict.strength if verdict else 1,
        shown_first=None if judge.orders_itself or verdict is None else c.shown_first,
        presentation=presentation,
        rationale=verdict.rationale if verdict else "the replies are the same",
        axes={k: AxisMark(winner=side(m.winner), strength=m.strength) for k, m in verdict.axes.items()}  # type: ignore[misc]
        if verdict
        else {},
        own_family=done.task.own_family,
        repeat=c.draw,
        purpose=c.purpose,
    )
