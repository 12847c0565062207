"""The parent of one agent's process, whose only work is to leave no orphan.

A harness that is killed with `kill -9` runs no clean-up, so the clean-up must live in another process. This one starts
the agent in a session of its own and waits on a pipe whose other end only the harness holds: when the pipe closes, for
whatever reason, every process that descends from the agent is ended, politely first. As a *subreaper* (Linux) it
inherits grandchildren that detached themselves, so a daemonised model server is found too; and should this process
itself be killed, the kernel kills the agent (`PR_SET_PDEATHSIG`).

It imports the standard library only and is run by file name in Python's isolated mode, so that nothing of the harness
is on the agent's path and nothing of the agent's on this one's.

Protocol: standard input is the life line; SIGTERM cuts it too, and a second one ends the grace that the agent has. On the
status pipe it writes one JSON line with the agent's `pid`, or the `error` that kept it from starting, and one with its
`exit` code (negative: the signal) when it has ended.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_ORPHAN_CHECK_S = 1.0
"""A process forked from the harness may hold the life line open after the harness is gone; its parent id tells."""
_BLIND_CHECK_S = 0.1
LOG_LIMIT_BYTES = 64 * 1024 * 1024
"""Hours of a talkative bot. One that prints as fast as it can may pass it by what a disk takes in a second."""

_impatient = threading.Event()


@dataclass(frozen=True, slots=True)
class Orders:
    """What to start, as the harness says it in the one (JSON) argument."""

    command: list[str]
    cwd: str
    log: str
    nice: int
    grace_s: float
    status_fd: int
    harness_pid: int

    def to_json(self) -> str:
        """The argument as which these orders are given."""
        return json.dumps(asdict(self))


def main() -> int:
    """Start the agent that the orders name and see it to its end; the exit code is the agent's."""
    orders = Orders(**json.loads(sys.argv[1]))
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGTERM, _close_the_life_line)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    status = os.fdopen(orders.status_fd, "w", buffering=1)
    try:
        agent = _start(orders)
    except OSError as error:
        _tell(status, {"error": f"{error.filename or orders.command[0]}: {error.strerror or error}"})
        return 127
    _tell(status, {"pid": agent.pid})
    _watch(agent, orders)
    if (died := agent.poll()) is not None:
        _tell(status, {"exit": died})
    code = _end_all(agent, orders.grace_s)
    _tell(status, {"exit": code})
    return code if code >= 0 else 128 - code


def _watch(agent: "subprocess.Popen[bytes]", orders: Orders) -> None:
    """Return when the agent has ended, or when the harness lets go or is gone."""
    watched, look_s = _what_wakes(agent.pid)
    while agent.poll() is None:
        try:
            ready, _, _ = select.select(watched, [], [], look_s)
        except OSError:
            return
        if 0 in ready or os.getppid() != orders.harness_pid:
            return
        _reap(agent.pid)
        _bound(Path(orders.log))


def _what_wakes(agent: int) -> tuple[list[int], float]:
    """The life line and, where the kernel offers it, the agent's death; and how often to look beside them, in seconds."""
    try:
        return [0, os.pidfd_open(agent)], _ORPHAN_CHECK_S
    except OSError:
        return [0], _BLIND_CHECK_S


def _bound(log: Path) -> None:
    """An agent that prints without end must not fill the disk; its last words are the ones that matter."""
    with contextlib.suppress(OSError):
        if log.stat().st_size > LOG_LIMIT_BYTES:
            os.truncate(log, 0)
            with log.open("ab") as sink:
                sink.write(b"[earlier output was dropped: it had passed the limit of the log]\n")


def _close_the_life_line(*_: object) -> None:
    signal.signal(signal.SIGTERM, _end_the_grace)
    os.close(0)


def _end_the_grace(*_: object) -> None:
    _impatient.set()


def _start(orders: Orders) -> "subprocess.Popen[bytes]":
    with Path(orders.log).open("ab") as sink:
        return subprocess.Popen(
            orders.command,
            cwd=orders.cwd,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
            preexec_fn=_in_the_child(orders.nice, os.getpid()),
        )


def _in_the_child(nice: int, parent: int) -> Callable[[], None]:
    def prepare() -> None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        if nice:
            os.nice(nice)

    return prepare


def _end_all(agent: "subprocess.Popen[bytes]", grace_s: float) -> int:
    """End everything that descends from the agent; returns the agent's own exit code."""
    agent.poll()
    left = _descendants()
    _signal_all(left, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while left and time.monotonic() < deadline and not _impatient.is_set():
        time.sleep(0.02)
        agent.poll()
        _reap(agent.pid)
        left = _descendants()
    while left:
        # A process may fork between the look and the signal: look until nothing is left.
        _signal_all(left, signal.SIGKILL)
        time.sleep(0.02)
        agent.poll()
        _reap(agent.pid)
        left = _descendants()
    return agent.wait()


def _descendants() -> set[int]:
    """All living processes below this one, from /proc; zombies do not count."""
    children: dict[int, list[int]] = {}
    dead: set[int] = set()
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = Path(entry.path, "stat").read_text(errors="replace").rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(entry.name))
                if fields[0] in "ZX":
                    dead.add(int(entry.name))
    found: set[int] = set()
    below = list(children.get(os.getpid(), ()))
    while below:
        pid = below.pop()
        if pid not in found:
            found.add(pid)
            below += children.get(pid, ())
    return found - dead


def _signal_all(pids: set[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _reap(agent: int) -> None:
    """Collect adopted grandchildren; the agent itself is `Popen`'s to collect."""
    with contextlib.suppress(ChildProcessError):
        while True:
            done = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if done is None or done.si_pid == agent:
                return
            os.waitpid(done.si_pid, os.WNOHANG)


def _tell(status: TextIO, fact: dict[str, object]) -> None:
    with contextlib.suppress(OSError):
        print(json.dumps(fact), file=status, flush=True)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main())
