"""SIGTERM as a stop of a run, like Ctrl-C: agents end, finished sessions stay, nothing is stored about the others.

The current handler of Ctrl-C handles it: inside an event loop asyncio cancels the main task, elsewhere Python
raises. A run in the background of a shell has Ctrl-C ignored, and SIGTERM must stop it all the same.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def sigterm_as_ctrl_c() -> Iterator[None]:
    """Treat SIGTERM as Ctrl-C within the block. No effect outside the main thread, where Python allows no handlers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _stop(number: int, frame: FrameType | None) -> None:
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler):
        handler(number, frame)
    else:
        raise KeyboardInterrupt
