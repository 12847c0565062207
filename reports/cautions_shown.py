"""The cautions of a page: those of its runs, and on a page of several runs their differences.

On a plot, a rating from a weak judge or from four conversations is a dot like a good one. So a line with
the number of cautions is above the first figure and names the gravest. The words are those of `harness.figures.cautions`, as in
the terminal and `--json`; those of one topic have one heading, because ten agents that
failed are one fact.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.figures.cautions import Caution, Level, gravest_first, worded
from harness.reports.view import NOT_JOINT, PageView
from harness.wording import counted


@dataclass(frozen=True, slots=True)
class Merged:
    """All cautions on one topic."""

    level: Level
    topic: str
    texts: tuple[str, ...]


def cautions(view: PageView) -> tuple[Caution, ...]:
    """All cautions of this page, gravest first."""
    return gravest_first([*(_difference(what, text) for what, text in view.differences), *view.cautions])


def merged(found: Sequence[Caution]) -> tuple[Merged, ...]:
    """One entry per topic, gravest first, each text once."""
    topics: dict[tuple[Level, str], list[str]] = {}
    for caution in found:
        topics.setdefault((caution.level, caution.topic), []).append(caution.text)
    return tuple(Merged(level, topic, tuple(dict.fromkeys(texts))) for (level, topic), texts in topics.items())


def in_one_line(found: Sequence[Merged]) -> str:
    """The count: `8 cautions before you quote a number: 1 grave (Weak judge), 3 that weaken the figures, 4 to know`."""
    counts = {level: [m for m in found if m.level == level] for level in ("bad", "warn", "note")}
    parts = []
    if counts["bad"]:
        parts.append(f"{len(counts['bad'])} grave ({', '.join(m.topic for m in counts['bad'])})")
    if counts["warn"]:
        parts.append(f"{len(counts['warn'])} that {'weakens' if len(counts['warn']) == 1 else 'weaken'} the figures")
    if counts["note"]:
        parts.append(f"{len(counts['note'])} to know")
    return f"{counted(len(found), 'caution')} before you quote a number: {', '.join(parts)}"


def _difference(what: str, text: str) -> Caution:
    return worded("not_joint", text, topic=what) if what == NOT_JOINT else worded("runs_differ", text, topic=what.lower())
