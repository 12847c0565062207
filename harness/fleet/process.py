"""A `harness` command in its own process, for a worker of a cluster: started, read, and always ended."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, Final, Self

from harness.fleet.messages import Said
from harness.with_parent import command

ENDS_WITHIN_S: Final = 15.0
"""Time to end before a kill: a run that is stopped ends within five seconds (docs/faults.md)."""
_NOT_THE_AGENTS: Final = ("OMP_NUM_THREADS",)
"""Ray sets it to the CPUs of the task (Ray documentation, "Configuring Ray"), which would change agents that are measured."""


class HarnessProcess:
    """A running command of the harness; leaving the block stops it, as Ctrl-C would."""

    def __init__(self, arguments: list[str]) -> None:
        self._lines: queue.Queue[str] = queue.Queue()
        self._process = subprocess.Popen(
            command([sys.executable, "-m", "harness", *arguments], ends_by=signal.SIGTERM),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=_environment(os.environ),
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._out: list[str] = []
        self._last_line = ""
        self._readers = [
            threading.Thread(target=self._read, args=(self._process.stderr, self._lines.put), daemon=True),
            threading.Thread(target=self._read, args=(self._process.stdout, self._out.append), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        for reader in self._readers:
            reader.join(1.0)

    def goes_on(self, within_s: float) -> bool:
        """True if it still runs after this time."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(within_s)
        return self._process.returncode is None

    def said(self) -> Iterator[Said]:
        """The lines that it printed since the last call."""
        with contextlib.suppress(queue.Empty):
            while True:
                line = self._lines.get_nowait()
                if line.strip():
                    self._last_line = line
                    yield Said(line)

    def told(self) -> tuple[dict[str, Any] | None, str]:
        """The object that it printed at its end (None if it died without one), and its one-line error."""
        for reader in self._readers:
            reader.join(ENDS_WITHIN_S)
        try:
            found: dict[str, Any] = json.loads("\n".join(self._out))
        except ValueError:
            return None, f"its process ended with code {self._process.returncode}: {self._last_line.strip()}"
        return found, str(found["error"]["message"]) if "error" in found else ""

    @staticmethod
    def _read(stream: IO[str], keep: Callable[[str], object]) -> None:
        for line in stream:
            keep(line.rstrip("\n"))


def _environment(inherited: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in inherited.items() if name not in _NOT_THE_AGENTS}
