"""A plan run to its end: judge × comparison → `Judgment` rows, with nothing lost and nothing counted twice.

Every question of the plan ends in exactly one of five boxes: a row, a tie without a call (the replies are the same), a
row by rule (one side has no reply and loses, or both have none and tie), a row from the cache, or *missing* with the kind
of its failure. A rule's row takes the place of a judge's, once for each judge, so that silence weighs as much as a bad
answer; it has a name of its own, because it is no judge's verdict.

Questions run concurrently within each judge's own limit, so
a slow endpoint delays nobody else; rows come back in the order of the plan, whatever order the answers came in.

Own family: a judge does not judge a pair with exactly one side of its own model family. Where that leaves no judge, all
judge it and the rows are flagged `own_family`, so that they are never called trusted.
"""

import asyncio
import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Literal

from harness.judging.cache import VerdictCache, ask, blocking, cache_key
from harness.judging.completion import Completion, same_reply
from harness.judging.design import Comparison, Design, fill_order, plan_comparisons
from harness.judging.judge import FailureKind, Judge, JudgeFailure, Place, Question, Verdict
from harness.judging.no_reply import decided_by_silence
from harness.judging.validation.checks import Canary, CanaryWatch, ask_canary, draw_canaries, spread, watch
from harness.ranking.stopping import planned_looks
from harness.scenarios.context import Context
from harness.store.judgment import AxisMark, Judgment, Presentation, reference_name

Progress = Callable[[int, int, str], None]
"""Called with (done, total, the question just done)."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A question that got no answer."""

    judge: str
    comparison: Comparison
    kind: FailureKind
    detail: str
    attempts: int
    """0: its judge was not asked any more."""
    status: int | None = None
    said: str = ""
    mend: str = ""


@dataclass(frozen=True, slots=True)
class JudgingOutcome:
    """Result of a plan. `len(judgments) + len(missing)` is the number of planned questions."""

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
    unasked: int = 0
    """Planned questions left out because `enough` ended the batch."""
    without_sound: int = 0
    """Pairs left out because a judge that hears needs two sounds."""


@dataclass(frozen=True, slots=True)
class _Task:
    judge: Judge
    comparison: Comparison
    own_family: bool


@dataclass(frozen=True, slots=True)
class _Done:
    task: _Task
    verdict: Verdict | None
    how: Literal["call", "cache", "same", "lost", "missing"]
    failure: JudgeFailure | None = None


def reference_completions(contexts: Sequence[Context]) -> list[Completion]:
    """The contexts' references as competitors."""
    return [Completion(c.id, reference_name(r.id), r.text) for c in contexts for r in c.references]


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
    enough: Callable[[Sequence[Judgment]], bool] | None = None,
    only: Callable[[str], bool] | None = None,
    between: Collection[str] = (),
) -> JudgingOutcome:
    """Judge every chosen pair of replies.

    Args:
        contexts: those not named by a completion are ignored, as are completions of unknown contexts.
        completions: at most one a system and context; competitors, references included if they are to compete.
        judge: one judge or several, not yet entered.
        design: None asks every pair once, with the audits.
        seed: of pairs and orders; recorded by the caller.
        progress: called after each answer, with what the judge that is furthest behind has done.
        cache: stored answers; None stores them for this call only.
        presentation: written into every row.
        canaries: how many questions with known answers are mixed in for each judge, to detect drift.
        enough: asked with the rows so far at each planned interim analysis (`harness.ranking.stopping`), contexts in random
            order; True ends the batch early. The rest is counted in `unasked`.
        only: True for the key of a question that is asked here; the rest of the plan is asked elsewhere, and rows that need no
            question are made where the answers are merged.
        between: systems of which each pair has exactly one; none: every pair is asked.
    """
    judges = tuple(judge) if isinstance(judge, Sequence) else (judge,)
    by_id = {c.id: c for c in contexts}
    replies = replies_of(completions, by_id)
    blocks = {context_id: list(systems) for context_id, systems in replies.items()}
    tasks = _tasks(plan_comparisons(blocks, design or Design(), seed, between), replies, judges)
    own_cache = cache if cache is not None else VerdictCache()
    asker = _Asker(by_id, replies, own_cache, progress, judges, tasks)
    if only is not None:
        tasks = asker.leave_to_others(tasks, only)
    portions = [tasks] if enough is None else _portions(tasks, blocks, seed)
    extra = {id(j): draw_canaries(canaries, seed) for j in judges}
    finished: dict[int, _Done] = {}
    heard: dict[int, list[bool | None]] = {id(j): [] for j in judges}
    try:
        async with AsyncExitStack() as stack:
            for one in judges:
                await stack.enter_async_context(one)
            for n, portion in enumerate(portions):
                share = {k: c[n :: len(portions)] for k, c in extra.items()}
                answers = await asyncio.gather(
                    *(asker.ask_all(j, [t for t in portion if t.judge is j], share[id(j)]) for j in judges)
                )
                for one, (done, canary_results) in zip(judges, answers, strict=True):
                    finished.update((id(d.task), d) for d in done)
                    heard[id(one)].extend(canary_results)
                so_far = _outcome([finished[id(t)] for t in tasks if id(t) in finished], by_id, replies, presentation)
                if enough is not None and enough(so_far.judgments):
                    break
    finally:
        if cache is None:
            own_cache.close()
    watches = tuple(watch(j, heard[id(j)]) for j in judges) if canaries else ()
    return replace(so_far, canaries=watches, unasked=len(tasks) - len(finished))


judge_pairs = blocking(judge_pairs_async)
"""The same, but blocks until done."""


class _Asker:
    """The parts that all questions of a batch share."""

    def __init__(
        self,
        contexts: Mapping[str, Context],
        replies: Mapping[str, Mapping[str, Completion]],
        cache: VerdictCache,
        progress: Progress | None,
        judges: Sequence[Judge],
        tasks: Sequence[_Task],
    ) -> None:
        self._contexts, self._replies, self._cache = contexts, replies, cache
        self._progress = progress
        self._count_of = {id(judge): [0, sum(t.judge is judge for t in tasks)] for judge in judges}
        self._batches = {id(judge): self._name_of_batch(judge, tasks) for judge in judges}

    def leave_to_others(self, tasks: Sequence[_Task], only: Callable[[str], bool]) -> list[_Task]:
        """The tasks that are asked here."""
        mine = [t for t in tasks if not self._needs_no_question(t) and only(self._put(t)[1])]
        for judge, counted in self._count_of.items():
            counted[1] = sum(id(t.judge) == judge for t in mine)
        return mine

    def _needs_no_question(self, task: _Task) -> bool:
        a, b = self._sides(task)
        return bool(a.lost or b.lost) or same_reply(a, b)

    async def ask_all(
        self, judge: Judge, tasks: Sequence[_Task], canaries: Sequence[Canary]
    ) -> tuple[list[_Done], list[bool | None]]:
        """All of one judge's questions. As many workers as it takes questions at once share one queue."""
        mixed = spread(tasks, canaries)
        queue = iter(mixed)
        batch = self._batches[id(judge)]
        done: list[_Done] = []
        canary_results: list[bool | None] = []

        async def work() -> None:
            for item in queue:
                if isinstance(item, Canary):
                    canary_results.append(await ask_canary(judge, item, self._cache, batch))
                else:
                    done.append(await self._answer(item))
                    self._report(item)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(judge.concurrency, len(mixed))):
                group.create_task(work())
        return done, canary_results

    def _report(self, task: _Task) -> None:
        self._count_of[id(task.judge)][0] += 1
        if self._progress is not None:
            c = task.comparison
            # The slowest judge's: a fast one beside it would make half of all look done, and the rest as fast.
            done, total = max(self._count_of.values(), key=lambda counted: counted[1] - counted[0])
            self._progress(done, total, f"{c.context_id}: {c.system_a} × {c.system_b}")

    async def _answer(self, task: _Task) -> _Done:
        a, b = self._sides(task)
        if a.lost or b.lost:
            return _Done(task, None, "lost")
        if same_reply(a, b):
            return _Done(task, None, "same")
        question, key = self._put(task)
        try:
            verdict, kept = await ask(task.judge, question, self._cache, key)
        except JudgeFailure as failure:
            return _Done(task, None, "missing", failure)
        return _Done(task, verdict, "cache" if kept else "call")

    def _sides(self, task: _Task) -> tuple[Completion, Completion]:
        c = task.comparison
        return self._replies[c.context_id][c.system_a], self._replies[c.context_id][c.system_b]

    def _put(self, task: _Task) -> tuple[Question, str]:
        """The question of a task, and the key under which its answer is stored."""
        c, (a, b) = task.comparison, self._sides(task)
        first, second = (a, b) if c.shown_first == "a" else (b, a)
        question = Question.of(self._contexts[c.context_id], first, second)
        return question, cache_key(task.judge.fingerprint, question, c.draw)

    def _name_of_batch(self, judge: Judge, tasks: Sequence[_Task]) -> str:
        """A name that is the same for the same questions to the same judge, so that a batch that is continued is recognised."""
        keys = sorted(self._put(task)[1] for task in tasks if task.judge is judge)
        return hashlib.sha256("\n".join(keys).encode()).hexdigest()[:16]


def _portions(tasks: Sequence[_Task], blocks: Collection[str], seed: int) -> list[list[_Task]]:
    """The tasks between two interim analyses: whole contexts, in the order in which the design filled them."""
    used = {t.comparison.context_id for t in tasks}
    order = [context_id for context_id in fill_order(blocks, seed) if context_id in used]
    portions, start = [], 0
    for end in planned_looks(len(order)):
        group = frozenset(order[start:end])
        portions.append([t for t in tasks if t.comparison.context_id in group])
        start = end
    return portions


def replies_of(completions: Sequence[Completion], contexts: Mapping[str, Context]) -> dict[str, dict[str, Completion]]:
    """Context → system → its reply, for the contexts that are known."""
    replies: dict[str, dict[str, Completion]] = {}
    for c in completions:
        if c.context_id not in contexts:
            continue
        block = replies.setdefault(c.context_id, {})
        if c.system in block:
            raise ValueError(f"context {c.context_id}: two completions of system {c.system}")
        block[c.system] = c
    return replies


def _tasks(plan: Sequence[Comparison], replies: Mapping[str, Mapping[str, Completion]], judges: Sequence[Judge]) -> list[_Task]:
    tasks = []
    for c in plan:
        families = (replies[c.context_id][c.system_a].family, replies[c.context_id][c.system_b].family)
        free = [j for j in judges if families.count(j.family) != 1]
        settled = any(replies[c.context_id][system].lost for system in (c.system_a, c.system_b))
        for j in free or judges:
            audit_is_idle = c.purpose != "main" and (j.orders_itself or settled)
            if not audit_is_idle:
                tasks.append(_Task(j, c, own_family=not free))
    return tasks


def _outcome(
    done: Sequence[_Done],
    contexts: Mapping[str, Context],
    replies: Mapping[str, Mapping[str, Completion]],
    presentation: Presentation,
) -> JudgingOutcome:
    rows, missing = [], []
    for d in done:
        if d.failure is not None:
            f = d.failure
            missing.append(Missing(d.task.judge.id, d.task.comparison, f.kind, f.detail, f.attempts, f.status, f.said, f.mend))
        elif d.how == "lost":
            id_ = d.task.comparison.context_id
            subset = contexts[id_].subset
            rows.append(decided_by_silence(d.task.comparison, replies[id_], d.task.judge.id, subset, presentation))
        else:
            rows.append(_row(d, contexts[d.task.comparison.context_id].subset, presentation))
    asked = [d.verdict for d in done if d.how == "call" and d.verdict is not None]
    return JudgingOutcome(
        judgments=tuple(rows),
        missing=tuple(missing),
        comparisons=len(done),
        calls=len(asked) + sum(m.attempts > 0 for m in missing),
        cached=sum(d.how == "cache" for d in done),
        ties_without_call=sum(d.how == "same" for d in done),
        tokens_in=sum(v.tokens_in for v in asked),
        tokens_out=sum(v.tokens_out for v in asked),
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
