"""One question to a judge: never asked twice if an answer is stored, stored at once if not, and each failure named.

Checks, canaries and the pairs themselves all pass through here, so that a run killed at any moment of its judging asks again
only the questions still open: an answer costs money, and one that was received is never paid for twice.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from harness.judging.cache import VerdictCache, cache_key
from harness.judging.judge import Judge, JudgeFailure, Question, Verdict
from harness.store.step_failure import one_line

_P = ParamSpec("_P")
_T = TypeVar("_T")
_A = TypeVar("_A")


def blocking(asking: Callable[_P, Coroutine[Any, Any, _T]]) -> Callable[_P, _T]:
    """The same function, which blocks until all is asked."""

    @wraps(asking)
    def until_done(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return asyncio.run(asking(*args, **kwargs))

    until_done.__name__ = asking.__name__.removesuffix("_async")
    return until_done


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


async def ask_both(judge: Judge, question: Question, cache: VerdictCache) -> list[tuple[Verdict, bool]]:
    """The answers of a check to a question in the order given and in the other, each as `ask` returns it.

    Raises:
        JudgeFailure, OSError: as `ask`.
    """
    both = (question, question.swapped())
    return [await ask(judge, shown, cache, cache_key(judge.fingerprint, shown, purpose="check")) for shown in both]


async def ask_all(
    judge: Judge,
    items: Sequence[_T],
    one: Callable[[_T], Awaitable[_A]],
    name: Callable[[_T], str],
    progress: Callable[[int, int, str], None] | None,
) -> list[_A]:
    """The answers of `one` for each item, in their order, from a judge that is entered here: as many at once as it takes."""
    gate, done = asyncio.Semaphore(judge.concurrency), 0

    async def in_turn(item: _T) -> _A:
        nonlocal done
        async with gate:
            answer = await one(item)
        done += 1
        if progress is not None:
            progress(done, len(items), name(item))
        return answer

    async with judge:
        return list(await asyncio.gather(*(in_turn(item) for item in items)))
