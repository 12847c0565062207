"""A gate's verdicts in sentences: the same on the terminal, in CI's files and on the page of the run.

Every interval names its level. A gate's is higher than a page's 95 %, because its error is shared out over all limits and looks
(`harness.gate.decide`), so the two are never the same width.
"""

import math
from typing import Final

from harness.gate.budgets import Limit
from harness.gate.check import Checked, CheckResult
from harness.gate.evidence import unit_of
from harness.gate.steps import STRETCHES
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.store.unspoken import OURS, reasons_words
from harness.turns.catalogue import BY_PATH
from harness.turns.estimate import PERCENTILES
from harness.wording import UNKNOWN_TEXT, counted

SIGNS: Final = {"pass": "✅ pass", "fail": "❌ fail", "cannot tell": "❔ cannot tell", "ignored": "➖ ignored"}


NOT_THE_AGENTS_FAULT: Final = (
    "The harness was at fault, not the agent, so this run decides only what is the same whatever the sessions at fault would "
    "have given"
)
HOW_TO_MEND: Final = (
    "stop other programs (harness doctor lists them) and play again, or let check play those sessions again with --minutes M"
)


def shown_value(figure: str, value: float) -> str:
    """A figure with its unit; a dash for an infinite value."""
    if math.isinf(value):
        return "> 15 s" if value > 0 and unit_of(figure) == "ms" else UNKNOWN_TEXT
    match unit_of(figure):
        case "ms":
            return f"{value:.0f} ms"
        case "share":
            return f"{100 * value:.1f} %"
        case _:
            return f"{value:+.0f} Elo"


def shown_interval(checked: Checked) -> str:
    """`412 ms to 488 ms`; one bound if the other is infinite, a dash if both are."""
    decision, figure = checked.decision, checked.asked.limit.figure
    if decision is None or all(math.isinf(end) for end in decision.interval):
        return UNKNOWN_TEXT
    low, high = decision.interval
    if math.isinf(low):
        return f"at most {shown_value(figure, high)}"
    if math.isinf(high):
        return f"at least {shown_value(figure, low)}"
    return f"{shown_value(figure, low)} to {shown_value(figure, high)}"


def plain_limit(limit: Limit) -> str:
    """`TTFA p50 at most 700 ms`: a limit in the words of a page; one on a rating names its figure as in the file."""
    one = BY_PATH.get(limit.figure)
    name = limit.figure
    if one is not None:
        statistic = limit.figure.rsplit(".", 1)[-1]
        name = one.title.split(":")[0] + (f" {statistic}" if statistic in PERCENTILES else "")
    return f"{name} {limit.comparison.replace('_', ' ')} {shown_value(limit.figure, limit.bound)}"


def interval_words(checked: Checked) -> str:
    """`99 % interval 412 ms to 488 ms`: the interval with its level; a dash where it has no end."""
    if shown_interval(checked) == UNKNOWN_TEXT:
        return UNKNOWN_TEXT
    return f"{level_words(checked)} {shown_interval(checked)}"


def level_words(checked: Checked) -> str:
    """`99 % interval`: the level of a limit's interval, whose ends miss the figure with the same chance."""
    level = "" if checked.decision is None else f"{100 * (1 - 2 * checked.decision.tail):.4g} % "
    return f"{level}interval"


def reason(checked: Checked) -> str:
    """The reason for a limit's verdict in one sentence, with one on fillers and one on turns that were never spoken."""
    said = f"{_reason(checked)} {checked.note}." if checked.note else _reason(checked)
    if not checked.unspoken:
        return said
    left = f"Planned turns that were never spoken: {reasons_words(checked.unspoken)}"
    if OURS not in checked.unspoken:
        return f"{said} {left}."
    value = UNKNOWN_TEXT if checked.decision is None else shown_value(checked.asked.limit.figure, checked.decision.value)
    return f"{left}; so its figure decides nothing (measured: {value})."


def _reason(checked: Checked) -> str:
    decision, limit = checked.decision, checked.asked.limit
    if checked.why:
        seen = "" if decision is None else f" ({shown_value(limit.figure, decision.value)}, {interval_words(checked)})"
        return f"{checked.why.removesuffix('.')}{seen}."
    if checked.invalid:
        value = UNKNOWN_TEXT if decision is None else shown_value(limit.figure, decision.value)
        return f"The run is invalid through no fault of the agent, so its figure decides nothing (measured: {value})."
    if checked.undecided:
        seen = "" if decision is None else f" ({shown_value(limit.figure, decision.value)}, {interval_words(checked)})"
        both = " on both runs" if limit.comparison == "worse_than_baseline_by" else ""
        return f"{checked.undecided}: it decides nothing{seen}. People's votes{both} would: harness listen RUN."
    if decision is None:
        return f"The run does not have this figure, and the budgets file has missing: {limit.missing}."
    seen = f"{shown_value(limit.figure, decision.value)}, {interval_words(checked)}"
    if decision.by_figure:
        return f"The figure is within the limit, and its interval contains it; in_doubt: figure lets that pass ({seen})."
    if checked.in_spite_of_disturbance:
        side = "within" if checked.verdict == "pass" else "outside"
        return f"The whole interval is {side} the limit, whatever the sessions at fault would have given ({seen})."
    if checked.verdict == "pass":
        return f"The whole interval is within the limit ({seen})."
    if checked.verdict == "fail":
        return f"The whole interval is outside the limit ({seen})."
    found = f"The interval contains the limit ({seen})"
    if shown_interval(checked) == UNKNOWN_TEXT:
        found = f"The figure has no interval yet ({shown_value(limit.figure, decision.value)})"
    if checked.speakers is not None and checked.speakers < FEWEST_CLUSTERS:
        found = f"{counted(checked.speakers, 'speaker')}: under {FEWEST_CLUSTERS} there is no interval ({seen})"
    if decision.more_needed is None:
        return f"{found}; how many more would settle it is not known."
    of = STRETCHES if limit.is_for_loads else ("conversation", "conversations")
    return f"{found}; about {_more(decision.more_needed, of, new_speakers=checked.speakers is not None)} would settle it."


def _more(needed: int, of: tuple[str, str], *, new_speakers: bool) -> str:
    return counted(needed, f"more {of[0]}", f"more {of[1]}") + (" of new speakers" if new_speakers else "")


def sentences(result: CheckResult, ended: str = "") -> list[str]:
    """The overall verdict in plain sentences."""
    count = {name: sum(c.verdict == name for c in result.checked) for name in SIGNS}
    said = ", ".join(f"{n} {name}" for name, n in count.items() if n)
    looked = f", look {result.look}" if result.look is not None else ""
    lines = [f"{counted(len(result.checked), 'limit')} on {counted(result.contexts, *result.observations)}{looked}: {said}."]
    if result.invalid:
        lines += [f"INVALID: {problem}." for problem in result.invalid]
        lines.append(f"{NOT_THE_AGENTS_FAULT}; {HOW_TO_MEND}.")
    if result.sessions_missing:
        lines.append(f"{counted(result.sessions_missing, 'session')} gave no figure, through no fault of the agent.")
    if result.verdict == "cannot tell" and result.more_needed is not None:
        more = _more(result.more_needed, result.observations, new_speakers=result.over_speakers)
        lines.append(f"About {more} would settle it, if they are like these.")
    if ended:
        lines.append(f"No more sessions were played: {ended}.")
    return lines
