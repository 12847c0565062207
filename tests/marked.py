"""Processes that carry a mark in their environment: a command and all that it started, detached ones too."""

import time
import uuid
from dataclasses import dataclass, field
from typing import Final

import psutil

MARK: Final = "HARNESS_TEST_MARK"


@dataclass(frozen=True)
class Mark:
    """A mark of one command; `environment` gives it to what is started."""

    value: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def environment(self) -> dict[str, str]:
        """The variable to start a command with."""
        return {MARK: self.value}

    def alive(self) -> list[str]:
        """The command lines of all living processes with this mark."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == self.value and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(" ".join(process.cmdline()))
            except psutil.Error:
                continue
        return found

    def left_after(self, seconds: float) -> list[str]:
        """The command lines of those that live after this time; empty as soon as none does."""
        deadline = time.monotonic() + seconds
        while (found := self.alive()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return found
