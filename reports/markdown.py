"""A summary for a pull request: the verdicts, the board and the cautions, short enough to be read there."""

import re

from harness.figures.seat import seat_words
from harness.printable import printable
from harness.reports.board import boards, method_words
from harness.reports.cautions_shown import cautions
from harness.reports.conditions import conditions
from harness.reports.verdict import Verdict, verdicts
from harness.reports.view import PageView

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~!&])")


def markdown(view: PageView) -> str:
    """The summary. Names and texts are escaped, so that none can link, mention anybody or break the table."""
    lines = [f"## Empathy and latency: {plain(view.run)}", ""]
    lines += [f"> **{caution.topic}.** {plain(caution.text)}\n" for caution in cautions(view) if caution.level == "bad"]
    lines += [f"**{plain(sentence)}**\n" for sentence in view.preferred]
    lines += [f"{plain(' '.join(view.quality))}\n"] if view.quality else []
    lines += [f"- **{plain(v.agent)}**: {_halves(v)}. {plain(v.sentence)} ({plain(v.text)})" for v in verdicts(view)]
    if view.baseline is not None:
        lines += ["", f"### Since {plain(view.baseline.run)}", ""]
        lines += [f"- {plain(text)}" for text in view.baseline.versions]
        clear = [change for change in view.baseline.changes if change.verdict != "unclear"]
        lines += [
            f"- {'Regression' if c.verdict == 'worse' else 'Improvement'}: {plain(c.agent)}, {c.figure}: {plain(c.before)} → "
            f"{plain(c.after)} ({plain(c.difference)}; {f'{plain(c.own)} had the machines been their own; ' if c.own else ''}"
            f"{plain(c.interval)}; {c.conversations} conversations)"
            for c in clear
        ] or ["- No clear change."]
        lines += [f"- {plain(text)}" for text in view.baseline.missing]
    columns, rows = boards(view)
    head = ["System", *(heading for _, heading in columns)]
    lines += ["", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in (row for condition in view.conditions for row in rows[condition, "all"]):
        cells = [
            plain(" ".join(part for part in (cell.text, f"({cell.small})" if cell.small else "") if part)) for cell in row.cells
        ]
        lines.append(f"| {plain(row.name)} | " + " | ".join(cells) + " |")
    lines += ["", plain(method_words(view)), ""]
    lines += [line for seat in view.seats for line in (plain(f"{seat_words(seat)}."), "")]
    for machine in view.machines:
        lines += [plain(f"Local latencies are of this machine: {machine}."), ""]
    lines += [f"- {caution.topic}: {plain(caution.text)}" for caution in cautions(view) if caution.level != "bad"]
    lines += ["", f"_{plain(conditions(view))}_", ""]
    return "\n".join(lines)


def _halves(verdict: Verdict) -> str:
    parts = (("Fast", verdict.fast), ("kind", verdict.kind))
    return ", ".join(
        f"{name}: **{half.answer}**, {plain(half.figure)}{f' ({plain(half.interval)})' if half.interval else ''}"
        f"{f', {plain(half.beside)}' if half.beside else ''}"
        for name, half in parts
    )


def plain(text: str) -> str:
    """Text on one line that Markdown shows unchanged: without links, and `@` mentions nobody."""
    line = (
        printable(" ".join(text.split()), one_line=True).replace("://", ": //").replace("www.", "www .").replace("@", "@\u2060")
    )
    return _SPECIAL.sub(r"\\\1", line)
