"""The few figures of an agent that a list of many runs shows: its latency, its share within the budget, pauses cut, and whose
the quality is.

A summary ranks and resamples every figure of every subset, which takes a second or more for one run. A list of two hundred
runs needs six figures of each, from the same turns by the same rules, so they are computed here alone; a test compares them
with the summary's. No sound is decoded.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.figures.cells import JudgeSummary
from harness.figures.latency import differs, filler_first, quantiles
from harness.figures.quality_state import state_of
from harness.figures.rank import Place, board_table, contexts_of, people_or_why
from harness.ranking.board import QualityState
from harness.ranking.board_rows import judges_of
from harness.statistics.interval import Interval
from harness.store.manifest import AgentEntry
from harness.store.selection import Selection
from harness.timing.quantiles import Quantiles
from harness.turns.estimate import estimate
from harness.turns.speakers import by_speaker, speakers_of
from harness.turns.table import TurnTable

Share = tuple[float | None, Interval | None]


@dataclass(frozen=True, slots=True)
class ListedRun:
    """One agent in one line condition. `measure`: `ttfa`, or `ttft` of a text endpoint."""

    measure: str
    turns: int
    latency: Quantiles
    answer: Quantiles | None
    """The answer, where it differs from TTFA on over 5 % of the replies."""
    within_budget: Share
    pauses_cut: Share
    inner_pauses: int
    """Inner pauses in which it could choose."""


def figures_in_a_list(selection: Selection, entry: AgentEntry, condition: str) -> ListedRun:
    """The figures of one agent in one condition, equal to those of its cell in the run's summary."""
    manifest = selection.manifest
    turns = by_speaker(selection.turns(entry.name, condition), speakers_of(selection.contexts))
    table = TurnTable.of_groups(turns, manifest.budgets_ms)
    spoken = entry.kind != "text"
    measure = "ttfa" if spoken else "ttft"
    within = estimate(table, f"within_budget.{measure}")
    cut = estimate(table, "pauses_cut_share") if spoken else None
    return ListedRun(
        measure=measure,
        turns=len(table),
        latency=quantiles(table, measure, manifest.seed),
        answer=quantiles(table, "answer", manifest.seed) if differs(filler_first(table)) else None,
        within_budget=(within.value, within.interval) if within is not None else (None, None),
        pauses_cut=(cut.value, cut.interval) if cut is not None else (None, None),
        inner_pauses=len(table.given("pauses_cut_share").row) if spoken else 0,
    )


def state_in_a_list(selection: Selection, condition: str, judges: Sequence[JudgeSummary]) -> QualityState:
    """The state of the board that a condition is quoted on, without rating anything. `judges`: those of the run."""
    place = Place(condition, selection.quoted(condition))
    inside = contexts_of(selection, place)
    people, _ = people_or_why(selection, condition, inside)
    return state_of(people, judges_of(board_table(selection, place, inside)), judges)
