"""The calls of one server of known agents: the behaviour of each, its log and its truth.

A call chooses its behaviour by its address (`/fixed-300`, `sip:murmur@…`), so that one server serves them all, and it may name
itself (`?call=7`, or the header X-Call), by which its truth is found among those of calls that go on at the same time.
"""

import csv
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TextIO
from urllib.parse import parse_qs, urlsplit

from harness.errors import UserError
from harness.known.behaviours import BEHAVIOURS, Behaviour, behaviour
from harness.known.conduct import Conduct
from harness.known.truth import row, write_truth
from harness.nearest import did_you_mean

CALL_HEADER: Final = "X-Call"
MOST_DIGITS: Final = 9
Ready = Callable[[str], None]
"""Called with the address of a server once it takes calls."""


def named(name: str, delay_ms: float | None = None) -> Behaviour:
    """The behaviour of a name, with the delay of its answer.

    Raises:
        UserError: there is none of that name.
    """
    found = behaviour(name, delay_ms)
    if found is None:
        raise UserError(f"--behaviour {name}: is no behaviour{did_you_mean(name, BEHAVIOURS)}")
    return found


@dataclass(slots=True)
class Calls:
    """All calls of a server. `default`: the behaviour where an address names none."""

    default: Behaviour
    seed: int = 0
    log: TextIO | None = None
    """File for each event as a line of JSON, with the time of the monotonic clock in ns."""
    truth: Path | None = None
    """File for the true figures of each turn: a new table as the server begins to take calls, and a row as each call ends."""
    _open: list[Conduct] = field(default_factory=list)
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def listening(self) -> None:
        """Begin a new table of truth: an old file in its place is not the truth of these calls."""
        if self.truth is not None:
            write_truth(self.truth, ())

    def begin(
        self, address: str, *, hears_hz: int, says_hz: int, streams: bool = False, rings_ns: int = 0, call: str | None = None
    ) -> Conduct:
        """The conduct of a call that begins, to this path or user of an address."""
        parts = urlsplit(address)
        asked = [found for name in parts.path.split("/") if (found := behaviour(name))]
        number = next(self._numbers)
        name = call or parse_qs(parts.query).get("call", [str(number)])[0]
        does = asked[0] if asked else self.default
        # A call that is a number has the voices of this number, whatever opened before it.
        voice = int(name) if name.isdecimal() and len(name) <= MOST_DIGITS else number
        conduct = Conduct(
            does, name, hears_hz=hears_hz, says_hz=says_hz, seed=self.seed + voice, streams=streams, rings_ns=rings_ns,
            log=self._write,
        )  # fmt: skip
        self._open.append(conduct)
        return conduct

    def end(self, conduct: Conduct, reason: str = "closed") -> None:
        """Write the truth of a call that is over. It may be over already."""
        if conduct not in self._open:
            return
        self._open.remove(conduct)
        conduct.close(reason)
        if self.truth is not None:
            with self.truth.open("a", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows(map(row, conduct.truths()))

    def end_all(self) -> None:
        """Write the truth of the calls that are open as the server ends."""
        for conduct in list(self._open):
            self.end(conduct, "server_ended")

    def _write(self, event: dict[str, Any]) -> None:
        if self.log is not None:
            print(json.dumps(event), file=self.log, flush=True)
