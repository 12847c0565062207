"""Progress of a run for a person: the phase, the context, the agent, the last TTFA.

Everything goes to standard error, so that standard output has results only. On a terminal one live line is updated; elsewhere
(CI logs, pipes) each finished step is one plain line, and a phase that counts or loads reports every ten seconds, after two
minutes once a minute, its progress and the time left, so that an overnight judging can be followed in its log.
Nothing is drawn by the process that paces audio.
"""

import os
import sys
import time
from collections import deque
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.prompt import Confirm

SOON_EVERY_S: Final = 10.0
SOON_S: Final = 120.0
LINE_EVERY_S: Final = 60.0
"""Reports of a counted phase without a live line: every `SOON_EVERY_S` in its first `SOON_S`, when somebody may be waiting for
it; then often enough to show that it continues, 600 lines in a night."""
PACE_OF_S: Final = 60.0
"""The time left is told by the pace of these last seconds. Of an interrupted judging the stored answers come first and at once,
and a pace from the beginning would promise an end for the rest of the night."""
_TELLS_FROM: Final = 2
"""Items counted before the time left is given: the first is slow, because something is loaded for it. A slow judge on this
machine takes 20 s for one, and its time left should be there within the first minute."""


def in_ci() -> bool:
    """True in a CI job. It may have a terminal, and nobody at it: a question would wait until the job is stopped."""
    return os.environ.get("CI", "") not in ("", "0", "false")


class RunProgress:
    """A context manager that shows phases, one at a time; with `quiet` it shows nothing."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = Console(stderr=True, quiet=quiet, highlight=False)
        self._live = self._console.is_terminal and not quiet and not in_ci()
        self._bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[status]}"),
            console=self._console,
            transient=True,
        )
        self._task: TaskID | None = None
        self._done = 0
        self._total: int | None = None
        self._began_s = self._said_s = 0.0
        self._seen: deque[tuple[float, int]] = deque()
        """When how many were done: of the last `PACE_OF_S` seconds, and one before them."""

    def __enter__(self) -> Self:
        if self._live:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live:
            self._bar.stop()

    def phase(self, name: str, total: int | None = None) -> None:
        """Begin a phase of `total` steps (None: unknown)."""
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._done, self._total = 0, total
        self._began_s = self._said_s = time.monotonic()
        self._seen = deque([(self._began_s, 0)])
        self._task = self._bar.add_task(escape(name), total=total, status="")
        if not self._live:
            self._line(name if total is None else f"{name} ({total})")

    def status(self, text: str) -> None:
        """Show the current activity; without a terminal not at every call."""
        if self._task is not None:
            self._bar.update(self._task, status=escape(text))
        if text and self._is_due():
            self._line(f"  {text}")

    def step(self, text: str = "", *, keep: bool = False) -> None:
        """Count one finished step. With `keep` its text stays on screen as a separate line."""
        self._done += 1
        left = self._left()
        if self._task is not None:
            self._bar.update(self._task, completed=self._done, status=escape(text))
        if keep:
            self._line(f"  {text}" if self._total is None else f"  {self._done}/{self._total} {text}")
        elif self._is_due():
            told = f"{self._done}" if self._total is None else f"{self._done}/{self._total}"
            self._line(f"  {told}{f', {left}' if left else ''}")

    def count(self, done: int, total: int | None, _step: str = "") -> None:
        """Show progress of a phase whose steps are counted elsewhere (bytes, judge calls)."""
        self._done, self._total = done, total
        left = self._left()
        if self._task is not None:
            self._bar.update(self._task, completed=done, total=total, status=left)
        if total is not None and done < total and self._is_due():
            self._line(f"  {done}/{total}{f', {left}' if left else ''}")

    def note(self, text: str) -> None:
        """Print a line that stays on screen."""
        self._line(text)

    def ask(self, question: str) -> bool:
        """The answer of a person at the terminal to a yes-or-no question; False without a terminal."""
        if not self._live or not sys.stdin.isatty():
            return False
        self._bar.stop()
        try:
            return Confirm.ask(question, console=self._console, default=False)
        except EOFError:
            return False
        finally:
            self._bar.start()

    def _left(self) -> str:
        """The time left at the pace of the last seconds, in words; what is done now is noted for it."""
        now_s = time.monotonic()
        self._seen.append((now_s, self._done))
        while len(self._seen) > _TELLS_FROM + 1 and now_s - self._seen[1][0] > PACE_OF_S:
            self._seen.popleft()
        since_s, earlier = self._seen[0]
        return time_left(self._done - earlier, None if self._total is None else self._total - earlier, now_s - since_s)

    def _is_due(self) -> bool:
        """True if a progress line is due; never with a live line."""
        now_s = time.monotonic()
        every_s = SOON_EVERY_S if now_s - self._began_s < SOON_S else LINE_EVERY_S
        if self._live or now_s - self._said_s < every_s:
            return False
        self._said_s = now_s
        return True

    def _line(self, text: str) -> None:
        # A line in a log must be complete even when the reader tails it.
        self._console.print(text, markup=False, soft_wrap=True)
        sys.stderr.flush()


def time_left(done: int, total: int | None, elapsed_s: float) -> str:
    """The time left at the pace so far, in words; empty if it is unknown."""
    if total is None or done < _TELLS_FROM or done >= total:
        return ""
    left_s = elapsed_s / done * (total - done)
    if left_s < 90:
        return f"about {left_s:.0f} s left"
    if left_s < 90 * 60:
        return f"about {left_s / 60:.0f} min left"
    return f"about {left_s / 3600:.1f} h left"
