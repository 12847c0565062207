"""Output files of a check: JUnit XML for CI systems, Markdown for a pull request.

Names of agents, conditions and figures come from a user's file, so they are hostile text: XML is built by a
library and stripped of what XML cannot hold, and Markdown is escaped until no name can open a tag, a link or a table cell.

JUnit as Jenkins, GitLab and GitHub actions read it (the schema of Apache Ant's junitreport): a limit that "cannot tell" is
`skipped`, because it is neither a pass nor a failure.
"""

import math
import re
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from harness.errors import UserError
from harness.files import for_others, write_whole
from harness.gate.check import Checked, CheckResult
from harness.gate.evidence import unit_of
from harness.gate.steps import STRETCHES
from harness.printable import printable
from harness.reports.load_versions import LoadVersions
from harness.reports.versions import Versions
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.store.unspoken import OURS, reasons_words
from harness.wording import UNKNOWN_TEXT, counted

_MARKS: Final = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~&@:$])")
"""ASCII signs that Markdown, GitHub's mentions or HTML could act on."""
SIGNS: Final = {"pass": "✅ pass", "fail": "❌ fail", "cannot tell": "❔ cannot tell", "ignored": "➖ ignored"}


NOT_THE_AGENTS_FAULT: Final = (
    "The harness was at fault, not the agent, so this run decides only what is the same whatever the sessions at fault would "
    "have given"
)
HOW_TO_MEND: Final = (
    "stop other programs (harness doctor lists them) and play again, or let check play those sessions again with --minutes M"
)


def refuse_unwritable(path: Path, option: str) -> None:
    """Check before playing that a file can be written. Raises UserError if not."""
    if path.is_dir() or not path.parent.is_dir():
        raise UserError(f"{option} {path}: cannot be written; name a file in a folder that exists")


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
        seen = "" if decision is None else f" ({shown_value(limit.figure, decision.value)}, interval {shown_interval(checked)})"
        return f"{checked.why.removesuffix('.')}{seen}."
    if checked.invalid:
        value = UNKNOWN_TEXT if decision is None else shown_value(limit.figure, decision.value)
        return f"The run is invalid through no fault of the agent, so its figure decides nothing (measured: {value})."
    if checked.undecided:
        seen = "" if decision is None else f" ({shown_value(limit.figure, decision.value)}, interval {shown_interval(checked)})"
        both = " on both runs" if limit.comparison == "worse_than_baseline_by" else ""
        return f"{checked.undecided}: it decides nothing{seen}. People's votes{both} would: harness listen RUN."
    if decision is None:
        return f"The run does not have this figure, and the budgets file has missing: {limit.missing}."
    seen = f"{shown_value(limit.figure, decision.value)}, interval {shown_interval(checked)}"
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


def junit(result: CheckResult, page: Path | None) -> bytes:
    """The check as JUnit XML, one test case a limit."""
    whole = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(whole, "testsuite", name=printable(f"harness check {result.run}"))
    counts = {"tests": 0, "failures": 0, "skipped": 0}
    if result.invalid:
        counts["tests"] += 1
        counts["skipped"] += 1
        case = ElementTree.SubElement(suite, "testcase", classname="run", name="the run is valid")
        ElementTree.SubElement(case, "skipped", message=printable("; ".join([NOT_THE_AGENTS_FAULT, *result.invalid])))
    for checked in result.checked:
        counts["tests"] += 1
        limit = checked.asked.limit
        case = ElementTree.SubElement(suite, "testcase", classname=printable(checked.asked.agent), name=printable(checked.name))
        why = printable(reason(checked))
        if checked.verdict == "fail":
            counts["failures"] += 1
            ElementTree.SubElement(case, "failure", message=printable(f"{limit.words}: outside the limit")).text = why
        elif checked.verdict == "pass":
            ElementTree.SubElement(case, "system-out").text = why
        else:
            counts["skipped"] += 1
            ElementTree.SubElement(case, "skipped", message=printable(f"{checked.verdict}: {why}"))
    for name, count in counts.items():
        suite.set(name, str(count))
    suite.set("errors", "0")
    sound = [f"sound: {result.sound}"] if result.sound is not None else []
    where = [*sound, *([f"page: {page}"] if page is not None else [])]
    ElementTree.SubElement(suite, "system-out").text = printable("\n".join(where))
    written: bytes = ElementTree.tostring(whole, encoding="utf-8", xml_declaration=True)
    return written


def summary(result: CheckResult, page: Path | None, ended: str = "", since: Versions | LoadVersions | None = None) -> str:
    """The check as Markdown, for a pull request's comment or a CI job's summary. `since`: the changes since a baseline."""
    lines = [f"### {SIGNS[result.verdict]}: voice agent gate", ""]
    if since is not None:
        lines += [f"Since {_escaped(since.run)}:", "", *(f"* {_escaped(text)}" for text in since.sentences), ""]
    lines += [f"{_escaped(line)}  " for line in told(result, ended)]
    lines += ["", "| verdict | agent | condition | limit | value | interval |", "|---|---|---|---|---|---|"]
    for checked in result.checked:
        limit, decision = checked.asked.limit, checked.decision
        value = UNKNOWN_TEXT if decision is None else shown_value(limit.figure, decision.value)
        where = checked.asked.condition if limit.subset == "all" else f"{checked.asked.condition}, {limit.subset}"
        cells = (checked.asked.agent, where, limit.words, value, shown_interval(checked))
        lines.append(f"| {SIGNS[checked.verdict]} | {' | '.join(_escaped(cell) for cell in cells)} |")
    explained = [c for c in result.checked if c.verdict in ("fail", "cannot tell") or c.note]
    lines += ["", *(f"* {_escaped(c.name)}: {_escaped(reason(c))}" for c in explained)]
    if page is not None:
        sound = f"; sound: {_escaped(str(result.sound))}" if result.sound is not None else ""
        lines += ["", f"Page: {_escaped(str(page))}{sound}"]
    return "\n".join(lines) + "\n"


def told(result: CheckResult, ended: str = "") -> list[str]:
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


def write(path: Path, data: bytes) -> None:
    """Write a file. Raises UserError if that fails."""
    try:
        write_whole(path, data)
        for_others(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror})") from error


def _escaped(text: str) -> str:
    escaped = _MARKS.sub(r"\\\1", " ".join(printable(text).split()))
    return escaped.replace("\\<", "&lt;").replace("\\>", "&gt;").replace("\\&", "&amp;")
