"""All stamps and reports of an agent in a session, on the caller's clock, and the names of those that cannot be true."""

from dataclasses import dataclass, replace

from harness.recording.record import Recording
from harness.timing.chain import Stamps
from harness.timing.clock_offset import ClockOffset, believed, estimate
from harness.timing.marks_chosen import told_marks
from harness.timing.rtp_line import line_refused


@dataclass(frozen=True, slots=True)
class Told:
    """The stamps of one session."""

    stamps: Stamps
    clock: ClockOffset
    refused: tuple[str, ...]
    """Names of marks and reports of the line that cannot be true."""


def told_in(recording: Recording) -> Told:
    """The agent's own marks, or marks made of its reports and spans where it stamps none."""
    clock = estimate(recording.marks, recording.caller)
    said = believed(recording.marks, recording.caller, clock)
    told = told_marks(said.marks, recording.arrivals)
    # Those are on the caller's clock already.
    on_one_clock = (*said.marks, *(replace(m, at_ns=m.at_ns - clock.offset_ns) for m in told))
    return Told(Stamps(on_one_clock, clock.offset_ns), clock, (*said.refused, *line_refused(recording)))
