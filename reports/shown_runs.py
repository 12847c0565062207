"""The runs of a page, with the names of their agents on it.

A page of one run is a simple case of a page of several, so that all code behind this interface exists once. Everything with
separate figures has a separate name: the name of an agent in two runs includes the run, and on a page of
several conditions it includes the condition, because each is a cell with its own board and latencies and
not one agent with double the turns.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.figures.rank import measured
from harness.figures.silence import silences
from harness.figures.summary import RunSummary
from harness.ranking.joint import Turn
from harness.ranking.question import Measured
from harness.reports.listening.results import human_rows
from harness.scenarios.context import Context
from harness.store.judgment import Judgment, Presentation
from harness.store.judgment_table import JudgmentTable
from harness.store.run_store import RunStore
from harness.store.selection import Selection, Texts, board_rows, quoted_presentation
from harness.store.session import Session
from harness.turns import TurnTable
from harness.turns.of_run import table_of_run


@dataclass(frozen=True, slots=True)
class Names:
    """The names on the page of one run's agents.

    `also`: addition to an agent's own name, by agent. `unsaid`: the only condition, which is not named; None on a
    page of several, where each is named.
    """

    also: Mapping[str, str]
    unsaid: str | None

    def of(self, agent: str, condition: str) -> str:
        """An agent's name on the page; a reference has its own name."""
        if agent not in self.also:
            return agent
        more = [words for words in (self.also[agent], "" if condition == self.unsaid else condition) if words]
        return f"{agent} ({', '.join(more)})" if more else agent


@dataclass(frozen=True, slots=True)
class Part:
    """One run of a page. Its sessions and verdicts carry the names that agents have on the page."""

    store: RunStore
    selection: Selection
    summary: RunSummary
    label: str
    names: Names
    sessions: tuple[Session, ...]

    def every_verdict(self) -> Iterator[Judgment]:
        """All verdicts, also of judges that failed their checks, one at a time: a long run has hundreds of megabytes."""
        return (_as_on_page(row, self.names) for row in self.selection.every_verdict())

    def counted(self) -> tuple[Judgment, ...]:
        """The verdicts that count."""
        return tuple(_as_on_page(row, self.names) for row in self.selection.verdicts)

    def silences(self, condition: str) -> list[Judgment]:
        """The comparisons of one condition that silence decides."""
        return [_as_on_page(row, self.names) for row in silences(self.selection, condition)]

    def timed(self) -> Iterator[tuple[str, TurnTable]]:
        """(name on the page, its rows of the table of turns) of each agent in each condition."""
        for (agent, condition), rows in table_of_run(self.selection).groups("agent", "condition"):
            yield self.names.of(agent, condition), rows

    def quoted_table(self) -> JudgmentTable:
        """The verdicts of the boards that the run is quoted on, in all its conditions."""
        quoted = {condition: self.summary.quoted(condition) for condition in self.selection.conditions}
        return _table_on_page(self.selection.quoted_table(quoted), self.names)


@dataclass(frozen=True, slots=True)
class ShownRuns:
    """The combined runs of a page. `summary` has one cell for every name on the page."""

    title: str
    parts: tuple[Part, ...]
    summary: RunSummary
    contexts: tuple[Context, ...]
    differences: tuple[tuple[str, str], ...] = ()
    """(difference between the runs, its meaning for the reader)."""

    @property
    def several(self) -> bool:
        """True for more than one run."""
        return len(self.parts) > 1


def alone(store: RunStore, summary: RunSummary) -> ShownRuns:
    """A page of one run."""
    names = Names({agent.name: "" for agent in store.manifest.agents}, only_condition(store.manifest.conditions))
    only = part(store, summary, store.folder.name, names)
    cells = [cell.model_copy(update={"agent": names.of(cell.agent, cell.condition)}) for cell in summary.cells]
    seats = [seat.model_copy(update={"agent": names.of(seat.agent, seat.condition)}) for seat in summary.seats]
    shown = summary.model_copy(update={"cells": cells, "seats": seats})
    return ShownRuns(store.folder.name, (only,), shown, store.contexts())


def names_of(stores: Mapping[str, RunStore]) -> dict[str, Names]:
    """Label → the names of that run's agents on a page of all these runs."""
    seen = Counter(agent.name for store in stores.values() for agent in store.manifest.agents)
    unsaid = only_condition([condition for store in stores.values() for condition in store.manifest.conditions])
    return {
        label: Names({a.name: label if seen[a.name] > 1 else "" for a in store.manifest.agents}, unsaid)
        for label, store in stores.items()
    }


def only_condition(conditions: Sequence[str]) -> str | None:
    """The condition of all of these, which no name needs to say; None if there are several."""
    return conditions[0] if len(set(conditions)) == 1 else None


def part(store: RunStore, summary: RunSummary, label: str, names: Names) -> Part:
    """A run with its agents under their names on the page."""
    selection = Selection(store, human_rows(store))
    of_page = (replace(s, key=replace(s.key, agent=names.of(s.key.agent, s.key.condition))) for s in selection.sessions)
    return Part(store=store, selection=selection, summary=summary, label=label, names=names, sessions=tuple(of_page))


def _as_on_page(row: Judgment, names: Names) -> Judgment:
    a, b = names.of(row.system_a, row.condition), names.of(row.system_b, row.condition)
    return row if (a, b) == (row.system_a, row.system_b) else row.model_copy(update={"system_a": a, "system_b": b})


def _table_on_page(table: JudgmentTable, names: Names) -> JudgmentTable:
    # An agent has a name for each condition, so the table's systems become those of all conditions.
    spelled = [[names.of(system, condition) for system in table.systems] for condition in table.conditions]
    systems = tuple(sorted({name for row in spelled for name in row}))
    code = np.array([[systems.index(name) for name in row] for row in spelled], dtype=np.int32)
    if not len(table):
        return table
    sides = {side: code[table["condition"], table[side]] for side in ("first", "second")}
    return replace(table, systems=systems, columns={**table.columns, **sides})


def quoted_rows(part: Part) -> list[Judgment]:
    """The rows of `Part.quoted_table`, as objects."""
    return [
        row
        for condition in part.selection.conditions
        for row in board_rows(part.counted(), condition, part.summary.quoted(condition))
    ]


def quoted_on_page(parts: Sequence[Part], condition: str) -> Presentation:
    """The presentation that a page of all these runs quotes in one condition."""
    having = [each for each in parts if condition in each.selection.conditions]
    boards = [b for each in having for b in each.summary.boards if b.condition == condition]
    return quoted_presentation({b.presentation for b in boards if b.quotable})


def measured_on_page(
    parts: Sequence[Part],
    condition: str,
    contexts: frozenset[str] | None = None,
    *,
    presentation: Presentation | None = None,
) -> Measured:
    """The measurements in one condition of all runs that have it, by the names on the page; texts as the page quotes them,
    or of one `presentation`."""
    latencies: dict[str, dict[str, Mapping[str, Sequence[Turn]]]] = {}
    cut_ins: dict[str, Mapping[str, Sequence[bool]]] = {}
    texts: Texts = {}
    for each in parts:
        if condition not in each.selection.conditions:
            continue
        found = measured(each.selection, condition, presentation or quoted_on_page(parts, condition), contexts)
        for figure, systems in found.latencies.items():
            shown = {each.names.of(name, condition): values for name, values in systems.items()}
            latencies.setdefault(figure, {}).update(shown)
        cut_ins |= {each.names.of(name, condition): values for name, values in found.cut_ins.items()}
        texts |= {(context, each.names.of(name, condition), n): text for (context, name, n), text in found.texts.items()}
    return Measured(latencies, cut_ins, texts)


def reply_texts(shown: ShownRuns, presentation: Presentation | None = None) -> Texts:
    """The replies of a page as the quoted verdicts read them, or of one `presentation`, by the names on it."""
    found: Texts = {}
    for each in shown.parts:
        for condition in each.selection.conditions:
            found |= measured_on_page([each], condition, presentation=presentation).texts
    return found
