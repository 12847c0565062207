"""Output files of a check: JUnit XML for CI systems, Markdown for a pull request.

Names of agents, conditions and figures come from a user's file, so they are hostile text: XML is built by a
library and stripped of what XML cannot hold, and Markdown is escaped until no name can open a tag, a link or a table cell.

JUnit as Jenkins, GitLab and GitHub actions read it (the schema of Apache Ant's junitreport): a limit that "cannot tell" is
`skipped`, because it is neither a pass nor a failure.
"""

import re
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from harness.errors import UserError
from harness.files import for_others, write_whole
from harness.gate.check import CheckResult
from harness.gate.words import NOT_THE_AGENTS_FAULT, SIGNS, interval_words, reason, sentences, shown_value
from harness.printable import printable
from harness.reports.load_versions import LoadVersions
from harness.reports.versions import Versions
from harness.wording import UNKNOWN_TEXT

_MARKS: Final = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~&@:$])")
"""ASCII signs that Markdown, GitHub's mentions or HTML could act on."""


def refuse_unwritable(path: Path, option: str) -> None:
    """Check before playing that a file can be written. Raises UserError if not."""
    if path.is_dir() or not path.parent.is_dir():
        raise UserError(f"{option} {path}: cannot be written; name a file in a folder that exists")


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
    lines += [f"{_escaped(line)}  " for line in sentences(result, ended)]
    lines += ["", "| verdict | agent | condition | limit | value | its interval |", "|---|---|---|---|---|---|"]
    for checked in result.checked:
        limit, decision = checked.asked.limit, checked.decision
        value = UNKNOWN_TEXT if decision is None else shown_value(limit.figure, decision.value)
        where = checked.asked.condition if limit.subset == "all" else f"{checked.asked.condition}, {limit.subset}"
        cells = (checked.asked.agent, where, limit.words, value, interval_words(checked))
        lines.append(f"| {SIGNS[checked.verdict]} | {' | '.join(_escaped(cell) for cell in cells)} |")
    explained = [c for c in result.checked if c.verdict in ("fail", "cannot tell") or c.note]
    lines += ["", *(f"* {_escaped(c.name)}: {_escaped(reason(c))}" for c in explained)]
    if page is not None:
        sound = f"; sound: {_escaped(str(result.sound))}" if result.sound is not None else ""
        lines += ["", f"Page: {_escaped(str(page))}{sound}"]
    return "\n".join(lines) + "\n"


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
