"""Calling what runs an event loop from where one runs already: a notebook, an async program.

Calls to agents and judges run in a loop of their own, and Python allows one loop a thread. So where a loop is running, the work
goes to a thread of its own and the caller waits: a notebook's cell blocks, as it would for any other computation.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_T = TypeVar("_T")


def outside_any_loop(work: Callable[[], _T]) -> _T:
    """What `work` gives; done in a thread of its own where an event loop runs in this one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(max_workers=1) as apart:
        return apart.submit(work).result()
