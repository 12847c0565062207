"""Judging of a finished run: each judge is first checked on pairs with known answers, then judges the replies as heard.

Each condition is judged separately and has its own board; repeats are separate batches, whose rows are replicates of
their context. So is each further person who answered in the supporter's seat, against the agents' replies. Silence is a reply
too, and the worst one: if an agent said nothing or failed, the other side wins by a rule that has its own name in the rows, so
that an agent cannot gain by silence where it would have answered badly.

A recording without a text is played for its timing alone: the text to which the agent replied is unknown, so nothing is judged.

A session that cannot be shown to a judge, or on which a judge's program always failed, is a failure of this step: it is listed
and stored, counts neither as won nor as lost, and can be judged again.
"""

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from harness import models
from harness.errors import UserError
from harness.experiment import NO_JUDGE
from harness.figures.session_figures import heard_wer
from harness.judging import (
    Design,
    JudgingOutcome,
    VerdictCache,
    check_judge_async,
    judge_pairs_async,
    load_judge_settings,
    open_judge,
    weights_of,
)
from harness.judging.cache import keys_of
from harness.judging.judge import Judge, hears
from harness.judging.load_judge import fingerprint_of, takes_sound
from harness.judging.record import read_records, record_of, write_record
from harness.judging.settings import JudgeSettings
from harness.judging.sound import refuse_unheard
from harness.judging.validation.against_people import check_against, keep
from harness.judging.validation.checks import not_answered
from harness.judging.validation.labelled import gold_pairs
from harness.judging.validation.peoples_labels import PeoplesLabels
from harness.progress import RunProgress
from harness.ranking.stopping import Goal, UntilSeparated
from harness.scenarios.context import Context
from harness.shards.judge_shards import falls_to, folder_of, take_in
from harness.store.database import locked
from harness.store.judgment import JudgeCheck, Judgment, PeopleCheck, Presentation, no_reply_rule
from harness.store.paths import VERDICTS
from harness.store.run_store import RunStore
from harness.store.selection import HEARD, Selection
from harness.store.step_failure import ANALYSIS_FAILED, StepFailure
from harness.verdicts.batches import Batch, batches_of
from harness.verdicts.deliveries import check_hearing, questions_of_check
from harness.verdicts.estimate import Estimate, estimate, total, with_check
from harness.verdicts.red_lines import (
    all_open_red_lines,
    red_lines_of_run,
    stored,
    validations_folder,
    with_all_known,
    with_red_lines,
)
from harness.wording import counted

CANARIES = 4
"""Number of questions with known answers in each batch; a judge that guesses gets all four right once in sixteen."""


@dataclass(frozen=True, slots=True)
class RunJudging:
    """The judges of a run or of a file of completions, the text that they read, and the number of questions."""

    judges: tuple[str, ...]
    seed: int = 1
    presentation: Presentation = HEARD
    design: Design = field(default_factory=Design)
    until: Goal | None = None
    """Stop early once the intervals of this goal separate."""
    keep_excluded: bool = False
    """Also ask judges that got half or more of the pairs with known answers wrong."""
    shard: tuple[int, int] | None = None
    """(number, of): ask only the questions of this part."""

    @property
    def heard(self) -> bool:
        """True if judges hear the replies, False if they read them."""
        return self.presentation == "audio"

    @property
    def plan(self) -> Design:
        """The design, in which a judge that hears is asked in both orders: what comes last is best remembered."""
        return replace(self.design, both_orders=True) if self.heard else self.design

    def canaries(self, *, first: bool) -> int:
        """Number of questions with known answers in a batch; none where replies are heard, since those are read."""
        return CANARIES if first and not self.heard else 0


def load_judges(names: Sequence[str], *, sound: bool | None = False) -> tuple[str, ...]:
    """The judges' ids, so that a misspelt name is found before the first call instead of after the last.

    `sound`: True where replies are heard, False where they are read, None where either can be.

    Raises:
        UserError: an unknown judge, a malformed judge file, or a judge that hears where replies are read, or the reverse.
    """
    if NO_JUDGE in names:
        if len(names) > 1:
            raise UserError(f"--judge {NO_JUDGE}: cannot be combined with other judges; leave out one or the others")
        return ()
    found = [load_judge_settings(name) for name in names]
    for settings in found:
        if sound is not None:
            refuse_unheard(settings.id, hears=takes_sound(settings), sound=sound)
    return tuple(settings.id for settings in found)


async def check_against_people(
    names: Sequence[str], labels: PeoplesLabels, seed: int, progress: RunProgress
) -> list[PeopleCheck]:
    """Compare each judge with people's ratings; the result is stored for later runs with the same judge on this machine.

    Answers are stored during the check, so that after a kill only the open questions are asked again.
    """
    load_judges(names)
    checks = []
    for name in names:
        judge = open_judge(name, weights_for(name, progress))
        progress.phase(f"Comparing the judge with people ({judge.id})")
        under_way = validations_folder() / f"{judge.fingerprint}-{labels.sha256[:16]}.answers.sqlite"
        check = await check_against(judge, labels, seed, progress.count, under_way=under_way)
        keep(check, validations_folder())
        if not check.missing:
            under_way.unlink(missing_ok=True)
        checks.append(check)
    return checks


async def check_judges(store: RunStore | None, names: Sequence[str], seed: int, progress: RunProgress) -> list[JudgeCheck]:
    """Check the judges anew on pairs with known answers, and on all red lines that they were not asked yet, without judging;
    the result is stored in the run, if any."""
    found = []
    with VerdictCache() as nothing_kept:
        for name in names:
            judge = open_judge(name, weights_for(name, progress))
            check = await _check(store, judge, seed, progress, nothing_kept)
            left = all_open_red_lines(judge.fingerprint)
            found.append(await with_red_lines(store, check, judge, left, progress, nothing_kept))
    return found


def estimate_run(store: RunStore, how: RunJudging) -> list[Estimate]:
    """The number and the cost of the questions for judging the run, without asking them."""
    load_judges(how.judges, sound=how.heard)
    contexts, batches = store.contexts(), batches_of(store, how.presentation)
    early, known = how.until is not None, keys_of(store.folder / VERDICTS)
    first = {batch.condition: batch for batch in reversed(batches)}

    def of_batch(settings: JudgeSettings, batch: Batch) -> Estimate:
        return estimate(
            contexts,
            batch.competing,
            settings,
            how.plan,
            how.seed,
            canaries=how.canaries(first=batch is first[batch.condition]),
            may_end_early=early,
            between=batch.between,
        )

    def of(judge: str) -> Estimate:
        settings, fingerprint = load_judge_settings(judge), fingerprint_of(judge)
        check = (
            questions_of_check(fingerprint, known)
            if how.heard
            else not_answered(fingerprint, [*gold_pairs(), *red_lines_of_run(fingerprint, how.seed, known)], known)
        )
        return with_check(total([of_batch(settings, batch) for batch in batches]), settings, check)

    return [of(name) for name in how.judges] if batches else []


async def judge_run(store: RunStore, how: RunJudging, progress: RunProgress) -> list[JudgingOutcome]:
    """Check the judges, let them judge the run, and store their rows. Verdicts of other judges stay. A third of the red lines
    comes last, because nothing waits for it.

    Questions answered before, even in a judging that was killed, are not asked again. Sessions that could not be judged are
    stored as failures of this step.
    """
    if not load_judges(how.judges, sound=how.heard):
        return []
    batches = batches_of(store, how.presentation)
    if not batches:
        progress.note(_why_nothing(store.contexts(), heard=how.heard))
        return []
    if without := sum(batch.without_sound for batch in batches):
        progress.note(f"{counted(without, 'pair')} left out, in which not both replies have a sound.")
    with VerdictCache(store.folder / VERDICTS) as cache:
        if taken := take_in(store.folder, cache):
            progress.note(f"{taken} answers of shards added")
        judges = await _judges_that_count(store, how, progress, cache)
        if not judges:
            return []
        outcomes = []
        for condition in dict.fromkeys(batch.condition for batch in batches):
            here = [b for b in batches if b.condition == condition]
            outcomes += await _ask(store, how, judges, here, progress, cache)
        checks, known = {check.judge: check for check in store.judge_checks()}, cache.keys()
        for judge in judges:
            part = red_lines_of_run(judge.fingerprint, how.seed, known)
            await with_red_lines(store, checks[judge.id], judge, part, progress, cache)
    return outcomes


async def judge_shard(store: RunStore, how: RunJudging, progress: RunProgress) -> list[JudgingOutcome]:
    """Ask the questions of one shard and store the answers in its own file; nothing else of the run is written.

    Raises:
        UserError: the run was divided differently before, or another process is judging this shard.
    """
    shard = how.shard
    if shard is None or not load_judges(how.judges, sound=how.heard):
        return []
    folder = folder_of(store.folder, shard)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder), VerdictCache(folder / VERDICTS) as cache:
        known = keys_of(store.folder / VERDICTS)
        judges = [open_judge(name, weights_for(name, progress)) for name in how.judges]
        asking, contexts = _asking(how, progress), store.contexts()
        progress.phase(f"Judging shard {shard[0]} of {shard[1]} ({', '.join(judge.id for judge in judges)})")
        return [
            await asking(
                contexts,
                batch.competing,
                judges,
                cache=cache,
                only=lambda key: key not in known and falls_to(key, shard),
                between=batch.between,
            )
            for batch in batches_of(store, how.presentation)
        ]


def _asking(how: RunJudging, progress: RunProgress) -> "partial[Coroutine[Any, Any, JudgingOutcome]]":
    """`judge_pairs_async` with what is the same for every batch of a run."""
    return partial(judge_pairs_async, design=how.plan, seed=how.seed, progress=progress.count, presentation=how.presentation)


async def _judges_that_count(store: RunStore, how: RunJudging, progress: RunProgress, cache: VerdictCache) -> list[Judge]:
    judges = []
    for name in how.judges:
        judge = open_judge(name, weights_for(name, progress))
        check = await _check(store, judge, how.seed, progress, cache)
        if check.why_missing:
            progress.note(f"{check.judge}: {check.why_missing}.")
        if check.excluded and not how.keep_excluded:
            progress.note(f"{check.judge} is left out. {check.note}")
        else:
            judges.append(judge)
    return judges


async def _ask(
    store: RunStore,
    how: RunJudging,
    judges: Sequence[Judge],
    batches: Sequence[Batch],
    progress: RunProgress,
    cache: VerdictCache,
) -> list[JudgingOutcome]:
    """The batches of one condition, each by all judges, so that a pair of one judge's own family can be left to the others.

    The rule for stopping early uses the first repeat, whose contexts are independent; once the goal's intervals separate,
    the further repeats are not judged.
    """
    condition = batches[0].condition
    where = f", {condition}" if len(store.manifest.conditions) > 1 else ""
    outcomes: list[JudgingOutcome] = []
    rows: list[Judgment] = []
    rule = UntilSeparated.of(how.until, ((c.context_id, c.system) for c in batches[0].competing)) if how.until else None
    for batch in batches:
        repeat = f", repeat {batch.replicate + 1}" if len(batches) > 1 else ""
        progress.phase(f"Judging ({', '.join(judge.id for judge in judges)}{where}{repeat})")
        outcome = await _asking(how, progress)(
            store.contexts(),
            batch.competing,
            judges,
            cache=cache,
            canaries=how.canaries(first=batch is batches[0]),
            enough=rule if batch is batches[0] else None,
            between=batch.between,
        )
        place = {"condition": condition, "replicate": batch.replicate}
        outcomes.append(replace(outcome, without_sound=batch.without_sound))
        rows += [row.model_copy(update=place) for row in outcome.judgments]
        _keep_failures(store, batch, outcome, progress)
        if outcome.unasked:
            break
    for judge in judges:
        mine = {judge.id, no_reply_rule(judge.id)}
        store.replace_judgments(mine, [row for row in rows if row.judge in mine], how.presentation, condition)
        record = record_of(judge.id, outcomes, how.presentation, condition, how.seed, how.plan, rule)
        write_record(store.folder, record)
        if record.why_missing:
            progress.note(f"{judge.id}{where}: {record.why_missing}.")
    return outcomes


def _keep_failures(store: RunStore, batch: Batch, outcome: JudgingOutcome, progress: RunProgress) -> None:
    """Store which sessions of a batch could not be judged, and that the others could.

    A question has two sides, and a judge that fails on it does not say on which. So a session has failed if it has no verdict
    at all; a side that was judged against another is not at fault, and only that question is listed as missing.
    """
    judged = {(r.context, system) for r in outcome.judgments for system in (r.system_a, r.system_b)}
    broken = {
        (m.comparison.context_id, system): f"{m.judge}: {m.detail}"
        for m in outcome.missing
        for system in (m.comparison.system_a, m.comparison.system_b)
        if m.kind == "defect"
    }
    found = {failure.session: failure for failure in batch.unfit}
    for place, session in batch.sessions.items():
        if place in broken and place not in judged:
            found[session] = StepFailure(session, "judging", ANALYSIS_FAILED, broken[place])
    for failure in found.values():
        store.set_step_failure(failure)
        progress.note(f"{failure.session}: could not be judged ({failure.detail})")
    earlier = {failure.session for failure in store.step_failures() if failure.step == "judging"}
    for session in (earlier - found.keys()) & set(batch.sessions.values()):
        store.clear_step_failure(session, "judging")


def _why_nothing(contexts: Sequence[Context], *, heard: bool) -> str:
    if contexts and all(context.timing_alone for context in contexts):
        return "The callers are recordings without texts: they are timed and not judged."
    if heard:
        return "No conversation has two replies that were heard, so there is nothing to judge."
    return "Nothing was answered, so there is nothing to judge."


async def _check(store: RunStore | None, judge: Judge, seed: int, progress: RunProgress, cache: VerdictCache) -> JudgeCheck:
    progress.phase(f"Checking the judge ({judge.id})")
    if hears(judge):
        return stored(store, await check_hearing(judge, progress, cache))
    check = await check_judge_async(judge, seed, progress.count, cache=cache)
    return stored(store, with_all_known(judge, check))


def no_judge_left(store: RunStore, names: Sequence[str]) -> bool:
    """True if one of these judges stopped answering in this run, and none of the others counts."""
    asked = {load_judge_settings(name).judge_id for name in names if name != NO_JUDGE}
    checks = [check for check in store.judge_checks() if check.judge in asked]
    ended = {r.judge for r in read_records(store.folder) if r.presentation == HEARD and r.judge in asked and r.given_up}
    silent = ended | {check.judge for check in checks if check.silent or check.gone_silent}
    return bool(silent) and all(check.excluded or check.judge in silent for check in checks)


def heard_wer_by_agent(store: RunStore) -> dict[str, float | None]:
    """The word error rate between each agent's written replies and the transcripts that judges read; None if one is unknown."""
    selection = Selection(store)
    several = len(selection.conditions) > 1
    return {
        f"{agent.name} ({condition})" if several else agent.name: heard_wer(selection.of(agent.name, condition))
        for agent in store.manifest.agents
        for condition in selection.conditions
    }


def weights_for(name: str, progress: RunProgress) -> Mapping[str, Path]:
    """The paths of a judge's weights, downloaded if necessary; empty for a judge behind an endpoint."""
    needed = weights_of(load_judge_settings(name))
    if not needed:
        return {}
    progress.phase("Judge's weights", len(needed))
    return {weight: Path(weight) if weight.lower().endswith(".gguf") else models.resolve(weight) for weight in needed}
