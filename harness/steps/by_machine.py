"""What each kind of machine of a merged run measured, beside the figures of the whole or in their place.

The same agent answers sooner on a faster machine, so latencies of machines that differ are two figures and not one. Each stands
here with what its machines are known to be wrong by, because that differs too.
"""

from harness.steps.latency import summarise_latency
from harness.steps.onset_error import largest, onset_error
from harness.steps.summary import MachineCell, WithinBudget
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
                found = summarise_latency(here.turns(entry.name, condition), budgets_ms=manifest.budgets_ms, seed=manifest.seed)
                spoken = entry.kind != "text"
                rows.append(
                    MachineCell(
                        agent=entry.name,
                        condition=condition,
                        machine=kind,
                        machines=len(names),
                        turns=found.turns,
                        no_reply=found.no_reply,
                        contended=found.contended,
                        ttft_ms=found.quantiles["ttft"],
                        ttfa_ms=found.quantiles["ttfa"],
                        within_budget=WithinBudget(ttft=found.within_ttft, ttfa=found.within_ttfa if spoken else None),
                        cut_in_rate=found.cut_in_rate if spoken else None,
                        pauses_cut=found.pauses_cut,
                        measurement_error_ms=error.within_ms if error is not None and spoken else None,
                        pacing_p99_error_ms=max(pacing, default=None) if spoken else None,
                    )
                )
    return sorted(rows, key=lambda row: (row.agent, row.condition, row.machine))
