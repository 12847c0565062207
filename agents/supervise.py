"""The parent of one agent's process, whose only work is to leave no orphan.

A harness that is killed with `kill -9` runs no clean-up, so the clean-up must live in another process. This one starts
the agent in a session of its own and waits on a pipe whose other end only the harness holds: when the pipe closes, for
whatever reason, every process that descends from the agent is ended, politely first. As a *subreaper* (Linux) it
inherits grandchildren that detached themselves, so a daemonised model server is found too; and should this process
itself be killed, the kernel kills the agent (`harness.with_parent`).

It imports the standard library only (and what keeps keys out of logs and ties a child to its parent, which do no more) and is
run by file name in Python's isolated mode, so that nothing of the harness is on the agent's path and nothing of the agent's on
this one's.

What the agent writes passes through here into its log, because agents print keys: in tracebacks, in a dump of their settings.
The pipe is wide and read at once, so that a talkative agent does not wait.

Protocol: standard input brings one line, the orders as JSON, and is the life line from then on: a command line could be read
by anybody on the machine, and the orders hold what must be masked. SIGTERM cuts the life line too, and a second one ends the
grace that the agent has. On the status pipe it writes one JSON line with the agent's `pid`, or the `error` that kept it from
starting; one with the `url` of the ready line that the agent printed, as it printed it (an address may carry a key), and the
`metrics` address of its model server if it printed one; and one with its `exit` code (negative: the signal) when it has ended.
"""

import contextlib
import fcntl
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

_PR_SET_CHILD_SUBREAPER = 36
_ORPHAN_CHECK_S = 1.0
"""A process forked from the harness may hold the life line open after the harness is gone; its parent id tells."""
_BLIND_CHECK_S = 0.1
_ORPHANS_GRACE_S = 2.0
"""Longest grace of an agent whose harness was killed: nobody reads what it still does, and its port and memory are missed."""
LOG_LIMIT_BYTES = 64 * 1024 * 1024
"""Largest log: hours of a talkative bot."""
_PIPE_BYTES = 1024 * 1024
_PIECE_BYTES = 256 * 1024
_LONGEST_READY_BYTES = 4_096
_MOST_PIECES = 64
"""At one look: one that prints without end must not keep this process from seeing that it should end it."""

_impatient = threading.Event()


@dataclass(frozen=True, slots=True)
class Orders:
    """The orders of the harness: what to start and how."""

    command: list[str]
    cwd: str
    log: str
    nice: int
    grace_s: float
    status_fd: int
    harness_pid: int
    secrets: list[str]
    """Secrets that must not be in the log."""

    def to_json(self) -> str:
        """These orders in one line."""
        return json.dumps(asdict(self))


def main() -> int:
    """Start the agent of the orders and wait for its end; returns the agent's exit code."""
    from harness.with_parent import prctl

    orders = Orders(**json.loads(_first_line()))
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGTERM, _close_the_life_line)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    status = os.fdopen(orders.status_fd, "w", buffering=1)
    try:
        agent, log = _start(orders, lambda fact: _tell(status, fact))
    except OSError as error:
        _tell(status, {"error": f"{error.filename or orders.command[0]}: {error.strerror or error}"})
        return 127
    _tell(status, {"pid": agent.pid})
    _watch(agent, log, orders)
    if (died := agent.poll()) is not None:
        log.take()
        log.end()
        _tell(status, {"exit": died})
    code = _end_all(agent, log, orders)
    log.end()
    _tell(status, {"exit": code})
    return code if code >= 0 else 128 - code


class _Log:
    """The agent's output on its way into a file, masked, and bounded."""

    def __init__(self, path: Path, pipe: int, secrets: list[str], tell: Callable[[dict[str, object]], None]) -> None:
        from harness.agents.secrets import RedactedLines, Redactor
        from harness.files import own_file

        self.pipe = pipe
        self._path = path
        self._lines = RedactedLines(Redactor.of(secrets))
        self._file = own_file(path).open("ab", buffering=0)
        self._tell = tell
        self._unsaid = b""
        self._ready = False
        os.set_blocking(pipe, False)

    def take(self) -> bool:
        """Write the new output; returns False at the end of the output."""
        for _ in range(_MOST_PIECES):
            try:
                piece = os.read(self.pipe, _PIECE_BYTES)
            except BlockingIOError:
                return True
            if not piece:
                return False
            # The log comes first, so that it is complete when the agent is reported as ready.
            self._write(self._lines.feed(piece))
            if not self._ready:
                self._look_for_ready(piece)
        return True

    def end(self) -> None:
        """Write a last line that never ended."""
        self._write(self._lines.flush())

    def _look_for_ready(self, piece: bytes) -> None:
        *lines, self._unsaid = (self._unsaid + piece).split(b"\n")
        self._unsaid = self._unsaid[-_LONGEST_READY_BYTES:]
        for line in lines:
            if not self._ready and (found := _ready_line(line)) is not None:
                self._ready = True
                self._tell(found)

    def _write(self, text: bytes) -> None:
        # A full disk must not stop the reading, or the agent would block at its next line.
        with contextlib.suppress(OSError):
            if self._path.stat().st_size > LOG_LIMIT_BYTES:
                # An agent that prints without end must not fill the disk; its last words are the ones that matter.
                self._file.truncate(0)
                self._file.write(b"[earlier output was dropped: it had passed the limit of the log]\n")
            self._file.write(text)


def _ready_line(line: bytes) -> dict[str, object] | None:
    """The addresses in `{"event": "ready", "url": …, "metrics": …}`; None if it is not that line."""
    if not line.lstrip().startswith(b"{") or len(line) > _LONGEST_READY_BYTES:
        return None
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or said.get("event") != "ready" or not isinstance(said.get("url"), str):
        return None
    return {name: said[name] for name in ("url", "metrics") if isinstance(said.get(name), str)}


def _first_line() -> bytes:
    """The orders: exactly the first line of standard input, so that its later end is noticed."""
    line = b""
    while not line.endswith(b"\n") and (piece := os.read(0, 65_536)):
        line += piece
    return line


def _watch(agent: "subprocess.Popen[bytes]", log: _Log, orders: Orders) -> None:
    """Return when the agent has ended, or when the harness has stopped it or is gone."""
    watched, look_s = _what_wakes(agent.pid)
    watched.append(log.pipe)
    while agent.poll() is None:
        try:
            ready, _, _ = select.select(watched, [], [], look_s)
        except OSError:
            return
        if 0 in ready or os.getppid() != orders.harness_pid:
            return
        if log.pipe in ready and not log.take():
            watched.remove(log.pipe)
        _reap(agent.pid)


def _what_wakes(agent: int) -> tuple[list[int], float]:
    """The life line and, where the kernel offers it, the agent's death; and how often to look beside them, in seconds."""
    try:
        return [0, os.pidfd_open(agent)], _ORPHAN_CHECK_S
    except OSError:
        return [0], _BLIND_CHECK_S


def _close_the_life_line(*_: object) -> None:
    signal.signal(signal.SIGTERM, lambda *_: _impatient.set())
    os.close(0)


def _start(orders: Orders, tell: Callable[[dict[str, object]], None]) -> tuple["subprocess.Popen[bytes]", _Log]:
    from harness.files import users_umask
    from harness.with_parent import before_exec

    output, sink = os.pipe()
    _widen(sink)
    log = _Log(Path(orders.log), output, orders.secrets, tell)
    try:
        agent = subprocess.Popen(
            orders.command,
            cwd=orders.cwd,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
            umask=users_umask(),
            preexec_fn=before_exec(os.getpid(), orders.nice),
        )
    finally:
        os.close(sink)
    return agent, log


def _widen(pipe: int) -> None:
    """Room for a burst of output while this process waits for a processor."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _end_all(agent: "subprocess.Popen[bytes]", log: _Log, orders: Orders) -> int:
    """End everything that descends from the agent; returns the agent's own exit code."""
    agent.poll()
    left = _descendants()
    _signal_all(left, signal.SIGTERM)
    begun, grace_s = time.monotonic(), orders.grace_s
    while left and time.monotonic() - begun < grace_s and not _impatient.is_set():
        if os.getppid() != orders.harness_pid:
            grace_s = min(grace_s, _ORPHANS_GRACE_S)
        time.sleep(0.02)
        log.take()
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
    code = agent.wait()
    log.take()
    return code


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


if __name__ == "__main__":
    # Behind the standard library, so that nothing installed beside this package can take the place of a part of it.
    sys.path.append(str(Path(__file__).absolute().parents[2]))
    sys.exit(main())
