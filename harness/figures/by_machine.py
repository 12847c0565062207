"""Figures of each kind of machine of a merged run, shown beside the figures of the whole or in their place.

The same agent answers sooner on a faster machine, so latencies of machines that differ are two figures and not one. Each is
shown with the calibrated error of its machines, because that differs too.
"""

from harness.figures.cells import MachineCell
from harness.figures.latency import turn_figures
from harness.figures.onset_error import largest, onset_error
from harness.store.selection import Selection


def by_machine(selection: Selection) -> list[MachineCell]:
    """One row for each agent, condition and kind of machine; none where all machines are of one kind."""
    fleet, manifest = selection.manifest.fleet, selection.manifest
    if fleet is None or len(fleet.kinds) < 2:
        return []
    rows: list[MachineCell] = []
    for kind, names in fleet.kinds.items():
        here = Selection(selection.store, machines=frozenset(names))
        parts = [part for name in names for part in fleet.machines[name].parts.values()]
        error = largest([onset_error(part.calibration) for part in parts])
        pacing = [part.pacing.p99_error_ms for part in parts if part.pacing is not None]
        for entry in manifest.agents:
            for condition in selection.conditions:
                spoken = entry.kind != "text"
                turns = here.turns(entry.name, condition)
                found = turn_figures(turns, budgets_ms=manifest.budgets_ms, seed=manifest.seed, spoken=spoken)
                rows.append(
                    MachineCell(
                        agent=entry.name,
                        condition=condition,
                        machine=kind,
                        machines=len(names),
                        **{name: value for name, value in found if name in MachineCell.model_fields},
                        measurement_error_ms=error.within_ms if error is not None and spoken else None,
                        pacing_p99_error_ms=max(pacing, default=None) if spoken else None,
                    )
                )
    return sorted(rows, key=lambda row: (row.agent, row.condition, row.machine))
