"""Several judges in one table: what each is right on, how steady it is, and what an answer costs.

The table is for choosing a judge, so one that could not be asked has a row too, with the reason: an empty row is a judge that
nobody has measured, and no recommendation. Costs are of an answer, because one run asks more questions than another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.judging.validation.sentences import standing
from harness.store.judgment import JudgeCheck, PeopleCheck, ShareOfPairs
from harness.wording import share, share_band

HEADINGS = (
    "judge", "known answers", "flips", "red lines, first set", "second set", "where the right reply is short", "people's pairs",
    "κ", "s an answer", "US$ per 1,000 answers", "state",
)  # fmt: skip
_NOTHING = "–"


@dataclass(frozen=True, slots=True)
class TableRow:
    """One judge. `check` is None where it could not be asked, for the reason in `why_not`."""

    judge: str
    check: JudgeCheck | None = None
    people: PeopleCheck | None = None
    """The check against the people's pairs that the table is about."""
    usd_per_1000: float | None = None
    price_as_of: str = ""
    why_not: str = ""

    @property
    def complete(self) -> bool:
        """True if the judge answered everything that it was asked."""
        checks = (self.check, self.people, self.check.red_lines if self.check is not None else None)
        return self.check is not None and not any(one.missing for one in checks if one is not None)

    def as_object(self) -> dict[str, Any]:
        """The row for programs."""
        check, people = self.check, self.people
        lines = check.red_lines if check is not None else None
        found: dict[str, Any] = {"judge": self.judge, "why_not": self.why_not, "standing": standing(check) if check else None}
        for name in ("accuracy", "accuracy_interval", "pairs", "flip_rate", "seconds_per_answer"):
            found[name] = getattr(check, name, None)
        for name in ("first", "second"):
            found[f"red_lines_{name}_set"] = _dumped(lines.by_set.get(name) if lines is not None else None)
        found["red_lines_short_right"] = _dumped(lines.by_length.get("short_right") if lines is not None else None)
        for name in ("source", "accuracy", "accuracy_interval", "pairs", "kappa", "raters_kappa", "best_baseline"):
            found[f"people_{name}"] = getattr(people, name, None)
        found["people_best_baseline_accuracy"] = people.baselines.get(people.best_baseline) if people is not None else None
        return found | {"usd_per_1000_answers": self.usd_per_1000, "price_as_of": self.price_as_of}


def markdown(rows: Sequence[TableRow]) -> str:
    """The table in Markdown, with the source of people's pairs under it."""
    lines = [HEADINGS, tuple("---" for _ in HEADINGS), *map(_cells, rows)]
    table = "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
    sources = dict.fromkeys(row.people.source for row in rows if row.people is not None)
    dates = dict.fromkeys(row.price_as_of for row in rows if row.price_as_of)
    rule = "in round brackets what the best rule without understanding reaches"
    under = [f"People's pairs: {', '.join(sources)}; {rule}."] if sources else []
    under += [f"Prices of {', '.join(dates)}."] if dates else []
    return "\n\n".join([table, *under])


def _cells(row: TableRow) -> tuple[str, ...]:
    check = row.check
    if check is None:
        return (row.judge, *[_NOTHING] * (len(HEADINGS) - 2), f"not measured: {row.why_not}")
    lines = check.red_lines
    sets = lines.by_set if lines is not None else {}
    people = row.people
    rule = "" if people is None else f" ({share(people.baselines.get(people.best_baseline))})"
    return (
        row.judge,
        _share(check.accuracy, check.accuracy_interval, check.pairs),
        _NOTHING if check.flip_rate is None else share(check.flip_rate),
        _of(sets.get("first")),
        _of(sets.get("second")),
        _of(lines.by_length.get("short_right") if lines is not None else None),
        _NOTHING if people is None else _share(people.accuracy, people.accuracy_interval, people.pairs) + rule,
        _NOTHING if people is None or people.kappa is None else f"{people.kappa:.2f}",
        _NOTHING if check.seconds_per_answer is None else f"{check.seconds_per_answer:.2f}",
        _NOTHING if row.usd_per_1000 is None else f"{row.usd_per_1000:.2f}",
        standing(check),
    )


def _of(found: ShareOfPairs | None) -> str:
    return _NOTHING if found is None else _share(found.right, found.interval, found.pairs)


def _share(value: float | None, interval: tuple[float, float] | None, pairs: int) -> str:
    if value is None:
        return _NOTHING
    return f"{share(value)} [{share_band(interval)}] of {pairs}" if interval else f"{share(value)} of {pairs}"


def _dumped(found: ShareOfPairs | None) -> dict[str, Any] | None:
    return None if found is None else found.model_dump()
