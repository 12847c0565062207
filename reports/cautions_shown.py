"""What weakens the figures: the run's own cautions, and, on a page of several runs, what these differ in.

A rating from a weak judge or from four conversations looks exactly like a good one once it is a dot on a plot, so a line with
their number stands above the first figure, and names the gravest. The words are those of `harness.figures.cautions`, as the
terminal and `--json` give them; those of one topic are put under one head, because ten agents that
failed are one thing to know.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.figures.cautions import Caution, Level, gravest_first, worded
from harness.reports.view import NOT_JOINT, PageView
from harness.wording import counted


@dataclass(frozen=True, slots=True)
class Merged:
    """All that is said on one topic."""

    level: Level
    topic: str
    texts: tuple[str, ...]


def cautions(view: PageView) -> tuple[Caution, ...]:
    """Everything that limits what this page can say, gravest first."""
    return gravest_first([*(_difference(what, text) for what, text in view.differences), *view.cautions])


def merged(found: Sequence[Caution]) -> tuple[Merged, ...]:
    """One entry a topic, gravest first, each text once."""
    topics: dict[tuple[Level, str], list[str]] = {}
    for caution in found:
        topics.setdefault((caution.level, caution.topic), []).append(caution.text)
    return tuple(Merged(level, topic, tuple(dict.fromkeys(texts))) for (level, topic), texts in topics.items())


def in_one_line(found: Sequence[Merged]) -> str:
    """`8 cautions before you quote a number: 1 grave (Weak judge), 3 that weaken the figures, 4 to know`."""
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
