"""Calls that need an event loop, made from a thread that already runs one: a notebook, an async program.

Calls to agents and judges run in their own loop, and Python allows one loop per thread. So if a loop is running, the work
goes to a new thread and the caller waits: a notebook's cell blocks, as it would for any other computation.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_T = TypeVar("_T")


def outside_any_loop(work: Callable[[], _T]) -> _T:
    """The result of `work`, run in a new thread if an event loop runs in this one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(max_workers=1) as apart:
        return apart.submit(work).result()
