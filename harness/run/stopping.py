"""SIGTERM and SIGHUP as Ctrl-C: children end, temporary folders go, finished work stays, nothing is stored about the rest.

The current handler of Ctrl-C handles them: inside an event loop asyncio cancels the main task, elsewhere Python raises. A run
in the background of a shell has Ctrl-C ignored, and SIGTERM must stop it all the same. SIGHUP says that the terminal was
closed; a command under `nohup` ignores it, and goes on.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Final

STOPS: Final = (signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def stops_as_ctrl_c() -> Iterator[None]:
    """Treat both as Ctrl-C within the block. No effect outside the main thread, where Python allows no handlers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = [number for number in STOPS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, _stop) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler):
        handler(number, frame)
    else:
        raise KeyboardInterrupt
