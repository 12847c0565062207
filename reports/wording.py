"""The page's own figures as text, in addition to the common forms of `harness.wording`."""

from math import isfinite

from harness.figures.cells import JudgeSummary
from harness.judging.validation.sentences import hearing_sentence, red_lines_details, red_lines_sentence
from harness.judging.validation.sentences import judge_sentence as sentence_of
from harness.reports.session_view import TurnView
from harness.reports.view import Estimate, Finding
from harness.store.judgment import is_reference, reference_id
from harness.timing.figures import OVER_LIMIT_TEXT
from harness.timing.quantiles import Quantiles
from harness.turns.bounded import Bounded
from harness.wording import (
    LEAST_RANGE_MS,
    UNKNOWN_TEXT,
    cannot_tell,
    elo_band,
    had_it_been_its_own,
    latency_band,
    milliseconds,
    share,
    share_band,
)


def latency(figure: Quantiles, which: str = "p50") -> str:
    """A percentile of a latency as text; `> 15 s` if it falls on a turn without reply."""
    return OVER_LIMIT_TEXT if getattr(figure, f"{which}_over_limit") else milliseconds(getattr(figure, which))


def latency_interval(estimate: Estimate) -> str:
    """The interval of a latency (`latency_band`)."""
    return latency_band(estimate.low, estimate.high)


def shows(ends: Bounded) -> bool:
    """True if the two ends of a latency are so far apart that a reader sees it."""
    return ends.high_ms - ends.low_ms >= LEAST_RANGE_MS


def owed_words(turn: TurnView, name: str, budget_ms: float | None) -> str:
    """What others may have had of one time of a turn, and whether it decides on the budget; empty where nothing is owed.

    Only a time with a budget names the programs: one is enough for a turn.
    """
    ends = turn.times_ms[name]
    if not isfinite(ends.high_ms):
        return "" if ends.low_ms == ends.high_ms else "others may have caused this silence"
    words = had_it_been_its_own(ends, turn.others if budget_ms is not None else ())
    if budget_ms is not None and turn.speed(name, budget_ms) == "cannot tell":
        words += f"; {cannot_tell(milliseconds(turn.owed_ms(name)))}"
    return words


def elo(value: float | None) -> str:
    """A rating to the nearest point: a tenth of an Elo point is never known here.

    Without a separator of thousands wherever a rating is printed: it is a place on a scale, like a year, and no count.
    """
    return UNKNOWN_TEXT if value is None else f"{value:.0f}"


def elo_interval(estimate: Estimate) -> str:
    """As `elo_band` writes it."""
    return elo_band(estimate.low, estimate.high)


def share_interval(estimate: Estimate) -> str:
    """`61–84 %`; empty without an interval."""
    if estimate.low is None or estimate.high is None:
        return ""
    return share_band((estimate.low, estimate.high))


def system_name(system: str) -> str:
    """The displayed name of a system: a reference by its id, followed by its condition if a page has several."""
    name, _, condition = reference_id(system).partition(" ")
    return f"reference “{name}”{f' {condition}' if condition else ''}" if is_reference(system) else system


def finding_value(finding: Finding) -> str:
    """The figure of an audit in its own unit."""
    value = finding.figure.value
    if value is None or finding.unit == "share":
        return share(value)
    return f"{value:,.0f}" if finding.unit == "count" else f"{value:.2f}"


def finding_interval(finding: Finding) -> str:
    """The interval of an audit's figure in the same unit; empty if there is none."""
    figure = finding.figure
    if figure.low is None or figure.high is None:
        return ""
    return share_interval(figure) if finding.unit == "share" else f"{figure.low:.2f}–{figure.high:.2f}"


def judge_sentence(judge: JudgeSummary) -> str:
    """The quality of a judge in one line, to show beside every Elo from its verdicts."""
    if judge.trust == "hears":
        return hearing_sentence(judge.id, judge.deliveries)
    return sentence_of(judge.id, judge.accuracy, judge.accuracy_interval, judge.flip_rate, judge.pairs, judge.why_missing)


def judge_red_lines(judge: JudgeSummary) -> str:
    """The sentence that comes before every Elo of a judge that is wrong too often about harm or abuse; empty for any other."""
    return red_lines_sentence(judge.id, judge.red_lines)


def judge_on_red_lines(judge: JudgeSummary) -> str:
    """A judge's accuracy on the red lines, by family, in one sentence; empty if they were not asked."""
    return "" if judge.red_lines is None else "; ".join(red_lines_details(judge.red_lines))
