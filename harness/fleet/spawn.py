"""A start of `harness` that cannot outlive its parent process: `python -m harness.fleet.spawn PARENT ARGUMENTS…`.

A worker of a cluster is ended with SIGKILL, and then cannot end its children. The kernel does it: it stops this process, as
SIGTERM stops any run, when its parent is gone (`PR_SET_PDEATHSIG`, prctl(2)); this survives the `exec` that follows. It is
set here and not between fork and exec, because a worker has threads, and Python may not run between the two in such a
process.
"""

import ctypes
import os
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def command(parent: int, arguments: list[str]) -> list[str]:
    """The command line that starts `harness` with these arguments as a child of the process `parent`."""
    return [sys.executable, "-m", "harness.fleet.spawn", str(parent), *arguments]


def main() -> None:
    """Become `harness`."""
    parent, *arguments = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != int(parent):  # it died before the kernel was asked
        sys.exit(1)
    os.execv(sys.executable, [sys.executable, "-m", "harness", *arguments])


if __name__ == "__main__":
    main()
