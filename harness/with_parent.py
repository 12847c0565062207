"""Child processes that end when their parent does, however it ends: after `kill -9` and out of memory too.

A process that is killed runs no clean-up, so the kernel does it: it sends a signal to a child whose parent is gone
(`PR_SET_PDEATHSIG`, prctl(2)). The child asks for it, and then looks whether its parent died before it could. The request
survives `exec`, so `command` makes any program such a child: between fork and exec Python may not run in a parent that has
threads. The kernel counts the parent's *thread* that started the child as the parent; start children from one that lasts.

Elsewhere than on Linux `end_with` looks every second, and a program behind `command` must notice the end of its standard input.
This module imports the standard library only, because agents' supervisors use it.
"""

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_LOOK_S: Final = 1.0
_ORPHANED: Final = 1
"""Exit code of a process whose parent had ended before it began."""


def prctl(option: int, value: int) -> None:
    """Call prctl(2). No effect elsewhere than on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def command(words: Sequence[str], ends_by: signal.Signals = signal.SIGKILL) -> list[str]:
    """The command line that starts a program as a child of this process which cannot outlive it."""
    return [sys.executable, "-m", "harness.with_parent", str(os.getpid()), str(int(ends_by)), *words]


def before_exec(parent: int, nice: int = 0) -> Callable[[], None]:
    """A `preexec_fn` of a child of the process `parent` that cannot outlive it, for a parent without threads."""

    def prepare() -> None:
        _ask(parent, signal.SIGKILL)
        if nice:
            os.nice(nice)

    return prepare


def end_with(parent: int) -> None:
    """Make this process end with its parent; what a terminal sends to both (Ctrl-C, its closing) is the parent's to handle.

    It is the initialiser of a pool's workers: they hold both ends of their own pipes, and would wait for work for ever.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    _ask(parent, signal.SIGKILL)
    if sys.platform != "linux":
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _ask(parent: int, ends_by: int) -> None:
    prctl(_PR_SET_PDEATHSIG, ends_by)
    if os.getppid() != parent:
        os._exit(_ORPHANED)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os._exit(_ORPHANED)


def main() -> None:
    """Become the program of the command line."""
    parent, ends_by, *words = sys.argv[1:]
    _ask(int(parent), int(ends_by))
    with contextlib.suppress(FileNotFoundError):
        os.execvp(words[0], words)
    sys.exit(127)


if __name__ == "__main__":
    main()
