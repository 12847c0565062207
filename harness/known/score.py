"""Their figures against the true ones: the error of each figure in each behaviour.

One number for a tool would hide what it is good for: it can be exact on clean replies and 2 s wrong after a click. So a row is
one figure in one behaviour and condition, and what is missing or invented is counted beside the errors. A figure that they
never report is not claimed, and has no row. Bias is the median, because one turn that is wrong by seconds would hide all others
in a mean; that turn is the largest error.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any, Final

from harness.errors import UserError
from harness.known.behaviours import behaviour
from harness.known.truth import FIGURES, Figure, TurnTruth
from harness.statistics.interval import TURNS_FOR_P95
from harness.statistics.percentiles import quantile
from harness.wording import UNKNOWN_TEXT, counted, listed

ONSETS: Final[tuple[Figure, ...]] = ("sound", "speech", "answer")
"""Figures with a row in every behaviour: where there is no reply, a row without errors says that none was invented."""
ALL: Final = "all"
HEAD: Final = ("behaviour", "turns", "bias", "p50", "p95", "largest", "missing", "invented")
_MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Theirs:
    """One figure that they report; `ms`: None where they say that there is none."""

    call: str
    turn: int
    figure: Figure
    ms: float | None
    or_call: str = ""
    """Its call where the truth has none that is called `call`; without either `turn` counts all turns of the truth in order."""


@dataclass(frozen=True, slots=True)
class Errors:
    """One figure in the turns of one behaviour and condition (or `ALL`)."""

    figure: Figure
    behaviour: str
    condition: str
    turns: int
    errors_ms: tuple[float, ...]
    """Theirs minus true, of each turn that has the figure in both."""
    missing: int
    """Turns with a true figure and none of theirs; none where the agent states its sound wrongly, which a tool may refuse."""
    invented: int

    @property
    def statistics(self) -> Mapping[str, float | None]:
        """The median signed error, and p50, p95 and the largest of the errors' sizes; None where there are too few."""
        sizes = [abs(error) for error in self.errors_ms]
        return {
            "bias_ms": quantile(self.errors_ms, 0.5) if sizes else None,
            "p50_ms": quantile(sizes, 0.5) if sizes else None,
            "p95_ms": quantile(sizes, 0.95) if len(sizes) >= TURNS_FOR_P95 else None,
            "largest_ms": max(sizes, default=None),
        }

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of a table under `HEAD`."""
        name = self.behaviour if self.condition == ALL else f"{self.behaviour}, {self.condition}"
        shown = (UNKNOWN_TEXT if ms is None else f"{ms:,.1f}".replace("-", "−") for ms in self.statistics.values())
        return (name, str(self.turns), *shown, str(self.missing), str(self.invented))


@dataclass(frozen=True, slots=True)
class Score:
    """The rows, for each figure first those over all behaviours, and what could not be compared."""

    rows: tuple[Errors, ...]
    not_claimed: tuple[Figure, ...]
    unmatched: int
    """Figures of theirs in calls or turns that the truth does not have."""
    unreported: tuple[str, ...]
    """Calls of the truth without any figure of theirs."""

    @property
    def notes(self) -> Iterator[str]:
        """The sentences under the table."""
        yield "Errors are theirs minus true, in ms. Bias: the median. p50, p95 and largest: of their sizes."
        if self.not_claimed:
            yield f"Not reported, so not counted: {listed(self.not_claimed)}."
        if self.unmatched:
            yield f"{counted(self.unmatched, 'figure')} in calls or turns that the truth does not have: not counted."
        if self.unreported:
            named = ", ".join((*self.unreported[:_MOST_NAMED], *["…"][: len(self.unreported) - _MOST_NAMED]))
            yield f"{counted(len(self.unreported), 'call')} without any figure ({named}): all true ones are missing there."

    def as_object(self) -> dict[str, Any]:
        """The score for JSON."""
        rows = [{k: v for k, v in asdict(row).items() if k != "errors_ms"} | dict(row.statistics) for row in self.rows]
        return {"schema": 1, "bias": "median of theirs minus true", **asdict(self), "rows": rows}


_Place = tuple[str, int]
_Given = dict[_Place, dict[Figure, float | None]]


def score(truths: Sequence[TurnTruth], theirs: Sequence[Theirs]) -> Score:
    """The errors of their figures.

    Raises:
        UserError: none of their calls and turns is in the truth, or a turn has a figure twice.
    """
    at = {(truth.call, truth.turn): truth for truth in truths}
    given, unmatched = _placed(list(at), theirs)
    claimed = {each.figure for each in theirs}
    for place, figures in given.items():
        early = [ms for name in ONSETS if (ms := figures.get(name)) is not None and ms < 0]
        if at[place].cut_ms is not None and early:  # they say when its words began, which is the cut
            figures.setdefault("cut", early[-1])
            claimed.add("cut")
    several = len({truth.condition for truth in truths}) > 1
    groups: dict[tuple[str, str], list[TurnTruth]] = defaultdict(list)
    for truth in truths:
        of_one = truth.condition if several else ALL
        for key in dict.fromkeys([(ALL, ALL), (ALL, of_one), (truth.behaviour, of_one)]):
            groups[key].append(truth)
    keys = sorted(groups, key=lambda key: key[0] != ALL)
    made = (_errors(figure, key, groups[key], given) for figure in FIGURES if figure in claimed for key in keys)
    reported = {call for call, _ in given}
    silent = dict.fromkeys(call for call, _ in at if call not in reported)
    return Score(tuple(filter(None, made)), tuple(name for name in FIGURES if name not in claimed), unmatched, tuple(silent))


def _placed(places: Sequence[_Place], theirs: Sequence[Theirs]) -> tuple[_Given, int]:
    """Their figures by call and turn of the truth, and the number of those that have no place there."""
    if not places:
        raise UserError("the truth has no calls: call an agent of `harness known serve` first")
    given: _Given = {}
    calls, known, unmatched = {call for call, _ in places}, set(places), 0
    for each in theirs:
        call = next((name for name in (each.call, PurePath(each.call).stem, each.or_call) if name in calls), None)
        in_order = call is None and not each.call and 0 < each.turn <= len(places)
        place = places[each.turn - 1] if in_order else (call or "", each.turn)
        if place not in known:
            unmatched += each.ms is not None
            continue
        if each.figure in given.setdefault(place, {}):
            raise UserError(f"call {place[0]}, turn {place[1]} has the figure {each.figure} twice; leave one of them out")
        given[place][each.figure] = each.ms
    if not given:
        first, of_truth = next(iter(theirs), None), next(iter(places), None)
        their = f"{(first.call or first.or_call, first.turn)}" if first else "none"
        raise UserError(f"no call and turn is in the truth: its first is {of_truth}, theirs is {their}; name calls as it does")
    return given, unmatched


def _errors(figure: Figure, key: tuple[str, str], turns: Sequence[TurnTruth], given: _Given) -> Errors | None:
    """The row; None where neither they nor the truth have the figure, and nobody expects it."""
    errors, missing, invented = [], 0, 0
    for truth in turns:
        true_ms, ms = truth.ms(figure), given.get((truth.call, truth.turn), {}).get(figure)
        if ms is None:
            known = behaviour(truth.behaviour)
            missing += true_ms is not None and not (known is not None and known.mistake)
        elif truth.cut_ms is not None and figure in ONSETS and ms < 0:
            continue  # it is in the row of cuts
        elif true_ms is None:
            invented += 1
        else:
            errors.append(ms - true_ms)
    expected = figure in ONSETS or key[0] == ALL
    return (
        Errors(figure, *key, len(turns), tuple(errors), missing, invented) if expected or errors or missing + invented else None
    )
