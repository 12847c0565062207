"""One question to a judge: never asked twice if an answer is stored, stored at once if not, and each failure named.

Checks, canaries and the pairs themselves all pass through here, so that a run killed at any moment of its judging asks again
only the questions still open: an answer costs money, and one that was received is never paid for twice.
"""

from harness.judging.cache import VerdictCache
from harness.judging.judge import Judge, JudgeFailure, Question, Verdict
from harness.store.step_failure import one_line


async def ask(judge: Judge, question: Question, cache: VerdictCache, key: str) -> tuple[Verdict, bool]:
    """The judge's verdict, and True if it was already stored under `key`.

    Raises:
        JudgeFailure: no usable answer; of kind `defect` where the judge itself broke on the question.
        OSError: the answer could not be written.
    """
    kept = cache.get(key)
    if kept is not None:
        return kept, True
    try:
        verdict = await judge.compare(question)
    except (JudgeFailure, OSError):
        raise
    except Exception as error:
        raise JudgeFailure("defect", one_line(error)) from error
    cache.put(key, verdict)
    return verdict, False
