"""Check of a labeller against people: a stratified sample, two people who label independently, their settled labels, macro-F1.

Sheets are CSV, because people fill them in a spreadsheet. They are blind: no system is named, items are in a
different order on each sheet, and only the key, stored separately, leads back. Any mark in a strategy's cell means present, an
empty cell absent; so that "absent" and "not labelled yet" differ, each row has a cell `done`. Where the two disagree, a sheet
of those cells alone is written for both to settle; without it there is no consensus and no figure.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.errors import UserError
from harness.judging.completion import Completion
from harness.judging.rubric import spoken_words
from harness.ranking.strategies import STRATEGIES, StrategyLabel
from harness.scenarios.context import Context
from harness.statistics.reliability import cohen_kappa
from harness.tables.csv_rows import CsvRows, Row
from harness.tables.csv_text import csv_text

CONSENSUS = "human:consensus"
HEADER = ("item", "seeker", "reply", "done", *STRATEGIES)
SETTLE_HEADER = ("item", "seeker", "reply", "strategy", "first", "second", "present")
_YES, _NO = frozenset({"1", "x", "y", "yes", "present"}), frozenset({"0", "n", "no", "absent"})
Marks = Mapping[tuple[int, str], bool]
"""(item, strategy) → present."""


@dataclass(frozen=True, slots=True)
class TwoLabellers:
    """Agreement of two sheets. `kappa` over all cells; None without variation."""

    agreed: Marks
    disagreed: tuple[tuple[int, str, bool, bool], ...]
    kappa: float | None
    items: int


def sample_for_people(
    contexts: Sequence[Context], completions: Sequence[Completion], size: int, seed: int
) -> tuple[Completion, ...]:
    """A sample for two human labellers, stratified by system and subset: as equal as the counts allow."""
    subset = {c.id: c.subset for c in contexts}
    rng = random.Random(f"labelling sample {seed}")
    strata: dict[tuple[str, str], list[Completion]] = defaultdict(list)
    for c in completions:
        if c.context_id in subset:
            strata[c.system, subset[c.context_id]].append(c)
    for group in strata.values():
        rng.shuffle(group)
    chosen: list[Completion] = []
    while len(chosen) < size and any(strata.values()):
        for key in sorted(strata):
            if strata[key] and len(chosen) < size:
                chosen.append(strata[key].pop())
    rng.shuffle(chosen)
    return tuple(chosen)


def labelling_sheet(contexts: Sequence[Context], sample: Sequence[Completion], seed: int) -> str:
    """A blinded CSV for one labeller: no system is named; `item` leads back to it through `sheet_key`."""
    turns = {c.id: c for c in contexts}
    order = list(range(len(sample)))
    random.Random(f"sheet {seed}").shuffle(order)
    return csv_text(
        HEADER,
        [
            [
                n + 1,
                spoken_words(turns[sample[n].context_id].turns[-1].text),
                sample[n].text,
            ]
            + [""] * (1 + len(STRATEGIES))
            for n in order
        ],
    )


def sheet_key(sample: Sequence[Completion]) -> dict[int, tuple[str, str]]:
    """Item number → (context, system), stored separately from the sheets."""
    return {n: (c.context_id, c.system) for n, c in enumerate(sample, start=1)}


def read_sheet(path: Path, items: Sequence[int]) -> Marks:
    """One person's labels.

    Raises:
        UserError: unreadable, another header, an item missing, twice or not done, or a mark that is neither yes nor no.
    """
    found: dict[tuple[int, str], bool] = {}
    seen: set[int] = set()
    for row in _rows(path, HEADER):
        item = _item(row, items)
        if item in seen:
            raise UserError(f"{row.where}: item {item} is there twice")
        seen.add(item)
        if not _mark(row.cells["done"], f"{row.where}: done"):
            raise UserError(f"{row.where}: item {item} is not marked as done")
        for strategy in STRATEGIES:
            found[item, strategy] = _mark(row.cells[strategy], f"{row.where}: {strategy}")
    missing = sorted(set(items) - seen)
    if missing:
        raise UserError(f"{path}: item {missing[0]} is missing")
    return found


def compare(first: Marks, second: Marks) -> TwoLabellers:
    """The agreement of two people, and the cells that they have to settle."""
    confusion = np.zeros((2, 2))
    for cell, present in first.items():
        confusion[int(present), int(second[cell])] += 1
    kappa = float(cohen_kappa(confusion)) if confusion.sum() else float("nan")
    return TwoLabellers(
        agreed={cell: present for cell, present in first.items() if second[cell] == present},
        disagreed=tuple((*cell, present, second[cell]) for cell, present in first.items() if second[cell] != present),
        kappa=kappa if np.isfinite(kappa) else None,
        items=len({item for item, _ in first}),
    )


def settling_sheet(
    contexts: Sequence[Context], sample: Mapping[int, Completion], disagreed: Sequence[tuple[int, str, bool, bool]]
) -> str:
    """A CSV of the cells on which two people disagree, for both to settle in the column `present`."""
    turns = {c.id: c for c in contexts}
    said = {True: "present", False: "absent"}
    rows = []
    for item, strategy, one, other in disagreed:
        reply = sample[item]
        seeker = spoken_words(turns[reply.context_id].turns[-1].text)
        rows.append([item, seeker, reply.text, strategy, said[one], said[other], ""])
    return csv_text(SETTLE_HEADER, rows)


def read_settled(path: Path, disagreed: Sequence[tuple[int, str, bool, bool]]) -> Marks:
    """The settled cells.

    Raises:
        UserError: unreadable, or a cell that is still open.
    """
    open_cells = {(item, strategy) for item, strategy, _, _ in disagreed}
    found: dict[tuple[int, str], bool] = {}
    for row in _rows(path, SETTLE_HEADER):
        cell = (_item(row, [item for item, _ in open_cells]), row.cells["strategy"])
        if cell in open_cells:
            if not row.cells["present"].strip():
                raise UserError(f"{row.where}: not settled; write 1 or 0 into `present`")
            found[cell] = _mark(row.cells["present"], f"{row.where}: present")
    missing = sorted(open_cells - set(found))
    if missing:
        raise UserError(f"{path}: item {missing[0][0]}, {missing[0][1]}: is missing; delete the file to have it made anew")
    return found


def consensus(marks: Marks, key: Mapping[int, tuple[str, str]]) -> list[StrategyLabel]:
    """The people's labels as labels of replies."""
    return [
        StrategyLabel(
            context=key[item][0],
            system=key[item][1],
            strategy=strategy,
            state="present" if present else "absent",
            labeller=CONSENSUS,
        )
        for (item, strategy), present in sorted(marks.items())
    ]


def _rows(path: Path, header: Sequence[str]) -> Iterator[Row]:
    rows = CsvRows(path, header)
    rows.must_have(header, header, "leave the first line as it was exported")
    yield from rows


def _item(row: Row, items: Sequence[int]) -> int:
    cell = row.cells["item"].strip()
    if cell not in map(str, items):
        raise UserError(f"{row.where}: item {cell[:40]!r} is not of this sample")
    return int(cell)


def _mark(cell: str, where: str) -> bool:
    said = cell.strip().casefold()
    if said and said not in _YES | _NO:
        raise UserError(f"{where}: {cell.strip()[:40]!r} is neither yes (1, x) nor no (0, empty)")
    return said in _YES
