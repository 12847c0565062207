"""Figures as people read them: one place decides how many digits a number deserves and what stands for the unknown.

A dash means "not known". It never means zero, and nothing here ever turns a missing figure into one.
"""

from harness.timing.figures import NO_REPLY_MS
from reports.view import Estimate, Finding, LatencyView

UNKNOWN_TEXT = "—"
OVER_LIMIT = f"> {NO_REPLY_MS / 1000:.0f} s"


def milliseconds(value: float | None) -> str:
    """`474 ms` below a second, `1.10 s` above; a minus sign for sound that began too early."""
    if value is None:
        return UNKNOWN_TEXT
    if abs(value) < 1_000:
        return f"{value:.0f} ms".replace("-", "−")
    return f"{value / 1_000:.2f} s".replace("-", "−")


def latency(figure: LatencyView, percentile: str = "p50") -> str:
    """A percentile of a latency, with `> 15 s` where it falls on a turn without reply."""
    estimate, over = (figure.p50, figure.p50_over) if percentile == "p50" else (figure.p95, figure.p95_over)
    return OVER_LIMIT if over else milliseconds(estimate.value)


def latency_interval(estimate: Estimate) -> str:
    """`430–520 ms`, `1.35–1.55 s`, or nothing where there is no interval."""
    if estimate.low is None or estimate.high is None:
        return ""
    if estimate.low >= 0 and estimate.high < 1_000:
        return f"{estimate.low:.0f}–{estimate.high:.0f} ms"
    if estimate.low >= 1_000:
        return f"{estimate.low / 1_000:.2f}–{estimate.high / 1_000:.2f} s"
    return f"{milliseconds(estimate.low)} – {milliseconds(estimate.high)}"


def elo(value: float | None) -> str:
    """A rating to the nearest point: a tenth of an Elo point is never known here."""
    return UNKNOWN_TEXT if value is None else f"{value:.0f}"


def elo_interval(estimate: Estimate) -> str:
    """`1480–1530`, `≥ 1720` or `≤ 1280` where one end is known, or nothing where there is no interval."""
    if estimate.low is not None and estimate.high is not None:
        return f"{estimate.low:.0f}–{estimate.high:.0f}"
    if estimate.low is not None:
        return f"≥ {estimate.low:.0f}"
    return f"≤ {estimate.high:.0f}" if estimate.high is not None else ""


def share(value: float | None) -> str:
    """A share as a whole percentage."""
    return UNKNOWN_TEXT if value is None else f"{100 * value:.0f} %"


def share_interval(estimate: Estimate) -> str:
    """`61–84 %`, or nothing where there is no interval."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{100 * estimate.low:.0f}–{100 * estimate.high:.0f} %"


def counted(n: int, one: str, many: str | None = None) -> str:
    """`1 turn`, `12 turns`."""
    return f"{n:,} {one if n == 1 else many or one + 's'}".replace(",", " ")


def system_name(system: str) -> str:
    """A system as people read it: references compete as `ref:<id>`."""
    return f"reference “{system.removeprefix('ref:')}”" if system.startswith("ref:") else system


def finding_value(finding: Finding) -> str:
    """The figure of an audit in its own unit."""
    value = finding.figure.value
    if value is None or finding.unit == "share":
        return share(value)
    return f"{value:.0f}" if finding.unit == "count" else f"{value:.2f}"


def finding_interval(finding: Finding) -> str:
    """Its interval in the same unit, or nothing."""
    figure = finding.figure
    if figure.low is None or figure.high is None:
        return ""
    if finding.unit == "count":
        return elo_interval(figure)
    return share_interval(figure) if finding.unit == "share" else f"{figure.low:.2f}–{figure.high:.2f}"
