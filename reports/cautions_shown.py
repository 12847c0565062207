"""The cautions of a page: those of its runs, and on a page of several runs their differences.

On a plot, a rating from a weak judge or from four conversations is a dot like a good one. So a caution that changes how a
figure is read is directly under the table that has the figure, with the name of its column; what is only to be known is at the
end of the page. None is on the page twice. The words are those of `harness.figures.cautions`, as in the terminal and `--json`;
those of one topic have one heading, because ten agents that failed are one fact.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.figures.cautions import Caution, Level, gravest_first, worded
from harness.reports.view import NOT_JOINT, PageView

EVERY: Final = "All figures"
_CODES: Final[Mapping[str, tuple[str, ...]]] = {
    "Fast": (
        "no_reply", "why_silent", "undecided", "machines_differ", "lossy_line", "idle_load", "unsure_clock", "stalled",
        "ends_turns", "odd_sound", "throttled", "gpu_clocks", "gpu_shared", "seat_error", "seat_losses",
    ),
    "Kind": (
        "timing_alone", "not_judged", "presentation", "red_lines", "weak_judge", "silent_judge", "own_family",
        "judged_across_conditions", "ranking", "silence", "unjudged", "length_tells", "not_joint", "few_people", "seat_unrated",
        "rehearsal", "to_judge",
    ),
}  # fmt: skip
"""Column of the first table → codes of the cautions that change how its figures are read; any other concerns all columns."""
_SAID: Final = frozenset({"invalid", "few_conversations", "measurement_error"})
"""Codes of cautions that the head of the page says in its first sentences."""
_COLUMN: Final = {code: column for column, codes in _CODES.items() for code in codes}


@dataclass(frozen=True, slots=True)
class Merged:
    """All cautions on one topic."""

    level: Level
    topic: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """The cautions of a page in their places. `figures`: (column, caution) under the table; `rest`: at the end of the page."""

    figures: tuple[tuple[str, Merged], ...]
    rest: tuple[Merged, ...]


def cautions(view: PageView) -> tuple[Caution, ...]:
    """All cautions of this page, gravest first."""
    return gravest_first([*(_difference(what, text) for what, text in view.differences), *view.cautions])


def merged(found: Sequence[Caution]) -> tuple[Merged, ...]:
    """One entry per topic, gravest first, each text once."""
    topics: dict[tuple[Level, str], list[str]] = {}
    for caution in found:
        topics.setdefault((caution.level, caution.topic), []).append(caution.text)
    return tuple(Merged(level, topic, tuple(dict.fromkeys(texts))) for (level, topic), texts in topics.items())


def placed(found: Sequence[Caution], *, judged: bool) -> Placed:
    """The cautions of a page in their places, each once. `judged`: true if the page has any verdict or vote."""
    said = {*_SAID, *(() if judged else ("not_judged",))}
    found = [caution for caution in found if caution.code not in said]
    weaken = [caution for caution in found if caution.level != "note"]
    columns = {column: merged([c for c in weaken if _COLUMN.get(c.code, EVERY) == column]) for column in (EVERY, *_CODES)}
    return Placed(
        tuple((column, caution) for column, topics in columns.items() for caution in topics),
        merged([caution for caution in found if caution.level == "note"]),
    )


def _difference(what: str, text: str) -> Caution:
    return worded("not_joint", text, topic=what) if what == NOT_JOINT else worded("runs_differ", text, topic=what.lower())
