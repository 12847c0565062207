"""Waiting on another thread without being held by it: a run that is stopped does not wait for an endpoint's answer.

`asyncio.to_thread` would be waited for when the loop closes, for as long as a slow endpoint likes to take. A daemon thread
is left to itself. Only for work that waits on a socket: native code of a numerical library must not be cut off by the end
of the interpreter.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


async def aside(work: Callable[[], _T]) -> _T:
    """What `work` gives or raises, in a thread that nobody waits for once this call is cancelled."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_T] = loop.create_future()

    def settle(result: _T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, raised = None, None
        try:
            result = work()
        except BaseException as error:
            raised = error
        # A closed loop means that the run has ended and nobody wants the answer.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, raised)

    threading.Thread(target=run, name="aside", daemon=True).start()
    return await done
