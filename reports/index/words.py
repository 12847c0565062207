"""The figures of an index as text."""

from collections.abc import Iterable

from harness.ranking.board import QualityState
from harness.reports.changes import apart, signed_ms
from harness.reports.index.rows import CellRow, Change, Series
from harness.reports.view import Estimate, percentile
from harness.reports.wording import latency, latency_interval, share_interval
from harness.wording import UNKNOWN_TEXT, counted, milliseconds, share

_STATES: dict[QualityState, str] = {
    "people": "people's",
    "borne_out": "a judge's, borne out",
    "opinion": "a judge's opinion",
    "none": "not judged",
}
NAMES = {"latency": "median", "pauses_cut": "pauses cut"}


def series_words(series: Series, every: Iterable[Series]) -> str:
    """What a series has in common beside its agent: pack, mode, line condition, and what is not as usual."""
    hashes = {other.pack_hash for other in every if other.pack == series.pack}
    parts = [
        f"{series.pack} {series.pack_hash[:8]}" if len(hashes) > 1 else series.pack,
        series.mode,
        series.condition,
        counted(series.concurrency, "caller") + " at once" if series.concurrency > 1 else "",
        f"interrupted after {milliseconds(series.barge_in_ms)}" if series.barge_in_ms is not None else "",
        "with sounds beside the reply" if series.events else "",
    ]
    return ", ".join(part for part in parts if part)


def median(cell: CellRow) -> str:
    """The median with its name where it is no TTFA: `474 ms`, `TTFT 210 ms`; with the answer's where that differs."""
    text = latency(cell.figures.latency)
    if cell.figures.answer is not None:
        return f"{text}, answer {latency(cell.figures.answer)}"
    return f"TTFT {text}" if cell.figures.measure == "ttft" and text != UNKNOWN_TEXT else text


def median_interval(cell: CellRow) -> str:
    """The interval of the median, or why there is none; empty where there is no median."""
    words = latency_interval(percentile(cell.figures.latency, "p50"))
    return words or ("no interval: under 8 conversations" if cell.figures.latency.n else "")


def share_words(of: tuple[float | None, tuple[float, float] | None]) -> tuple[str, str]:
    """A share and its interval."""
    return share(of[0]), share_interval(Estimate.of(*of))


def quality(cell: CellRow) -> str:
    """Whose the quality is."""
    return _STATES[cell.quality_state]


def change_words(change: Change) -> str:
    """`+140 ms (95 % interval +90 ms to +190 ms)`; a share in percentage points."""
    estimate, signed = change.estimate, _points if change.figure == "pauses_cut" else signed_ms
    value = signed(estimate.value) if estimate.value is not None else "no reply in one of the two"
    least, greatest = change.ends
    if least is not None and greatest is not None and apart((least, greatest), 0.005 if signed is _points else 1.0):
        value += f", {signed(least)} to {signed(greatest)} had the machines been their own"
    if estimate.low is not None and estimate.high is not None:
        return f"{value} (95 % interval {signed(estimate.low)} to {signed(estimate.high)})"
    if estimate.low is not None:
        return f"{value} (95 % interval at least {signed(estimate.low)})"
    return f"{value} (95 % interval at most {signed(estimate.high)})" if estimate.high is not None else f"{value} (no bound)"


def change_verdict(change: Change) -> str:
    """`worse`, `better`, `not sure`, or what else differs between the two runs."""
    if change.unlike:
        return f"not compared: {', '.join(change.unlike)}"
    return "not sure" if change.verdict == "unclear" else change.verdict


def _points(value: float) -> str:
    points = round(100 * value)
    return f"{points:+d} points".replace("-", "−") if points else "0 points"
