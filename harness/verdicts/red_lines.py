"""Red lines of a run's judges, and what is stored on this machine of a judge in exactly this version."""

from collections.abc import Collection, Sequence
from pathlib import Path

from harness.files import cache_folder
from harness.judging.cache import VerdictCache
from harness.judging.judge import Judge
from harness.judging.validation.against_people import kept
from harness.judging.validation.checks import not_answered, with_people
from harness.judging.validation.red_lines import (
    RedLine,
    ask_red_lines,
    keep_answers,
    kept_answers,
    next_part,
    open_pairs,
    red_lines_check,
    shipped_red_lines,
)
from harness.progress import RunProgress
from harness.store.judgment import JudgeCheck
from harness.store.run_store import RunStore


def validations_folder() -> Path:
    """The folder for checks of judges against people's ratings on this machine."""
    return cache_folder() / "judges"


def red_lines_of_run(fingerprint: str, seed: int, answered: Collection[str]) -> tuple[RedLine, ...]:
    """The red lines that a run asks this judge once its pairs are judged; none if it has asked its part before.

    `answered`: keys of the run's stored answers.
    """
    pairs, known = shipped_red_lines(), kept_answers(fingerprint, validations_folder())
    done = [pair for pair in pairs if answered and len(not_answered(fingerprint, [pair], answered)) < 2]  # of both orders
    return () if len(open_pairs(done, known)) < len(done) else next_part(pairs, known, seed)


def all_open_red_lines(fingerprint: str) -> tuple[RedLine, ...]:
    """The red lines that a judge has never answered."""
    return open_pairs(shipped_red_lines(), kept_answers(fingerprint, validations_folder()))


async def with_red_lines(
    store: RunStore | None,
    check: JudgeCheck,
    judge: Judge,
    pairs: Sequence[RedLine],
    progress: RunProgress,
    cache: VerdictCache,
) -> JudgeCheck:
    """The check with these red lines, once they are asked; a judge that is left out is not asked, nor one that hears."""
    if check.excluded or check.hears or not pairs:
        return check
    progress.phase(f"Asking the judge about red lines ({judge.id})")
    keep_answers(judge.fingerprint, await ask_red_lines(judge, pairs, cache, progress.count), validations_folder())
    return stored(store, with_all_known(judge, check))


def with_all_known(judge: Judge, check: JudgeCheck) -> JudgeCheck:
    """The check together with all that is stored of the judge on this machine; nothing is asked for it."""
    folder = validations_folder()
    red_lines = red_lines_check(shipped_red_lines(), kept_answers(judge.fingerprint, folder))
    return with_people(check, kept(judge.fingerprint, folder), red_lines)


def stored(store: RunStore | None, check: JudgeCheck) -> JudgeCheck:
    """The check, now stored in the run, if any. One without an answer leaves an earlier one's figures: a wrong key must not
    take verdicts out of a rating that were given before."""
    if store is None:
        return check
    earlier = next((one for one in store.judge_checks() if one.judge == check.judge and not one.silent), None)
    if check.silent and earlier is not None:
        why = check.model_dump(include={"missing_by_kind", "why_missing"})
        store.add_judge_check(earlier.model_copy(update={"gone_silent": True, **why}))
    else:
        store.add_judge_check(check)
    return check
