"""The manifest of a run merged from shards: the plan, and the entry of every machine.

A pure function of the shards' manifests and of the merged manifest so far; their order has no effect. As its error the run
quotes the largest of any machine, because a reader cannot know which machine a figure came from.
"""

from collections.abc import Sequence

from harness.figures.circumstances import onset_error
from harness.store.events import EventSettings
from harness.store.fleet import FleetEntry, MachineEntry, PartEntry, in_common, machine_key
from harness.store.machine_facts import GpuUse
from harness.store.manifest import RunManifest


def key_of(manifest: RunManifest) -> str:
    """The name in the merged run of the machine that played a shard."""
    return machine_key(manifest.machine_id, manifest.machine)


def merged_manifest(shards: Sequence[RunManifest], before: RunManifest | None, *, pool_machines: bool) -> RunManifest:
    """The manifest of `shards` merged with what was merged `before`. All belong to one plan."""
    every = sorted([*shards, *([before] if before is not None else [])], key=lambda m: (m.created, m.machine_id))
    first = every[0]
    assert first.fleet is not None
    plan = first.fleet.plan
    machines = dict(before.fleet.machines) if before is not None and before.fleet is not None else {}
    for shard in shards:
        _enter(machines, shard)
    here = {context for manifest in every for context in manifest.context_ids}
    parts = [part for name in sorted(machines) for _, part in sorted(machines[name].parts.items())]
    spoken = any(agent.kind != "text" for agent in first.played)
    quoted, why_not = _calibration(parts) if spoken else (None, "")
    pool = pool_machines or (before is not None and before.fleet is not None and before.fleet.pool_machines)
    return first.model_copy(
        update={
            "context_ids": [name for name in plan.contexts if name in here],
            "agents": [*first.played, *{agent.name: agent for m in every for agent in m.agents if agent.seated}.values()],
            "machine": in_common(machines[name].facts for name in sorted(machines)),
            "machine_id": "",
            "fleet": FleetEntry(
                plan=plan, of=first.fleet.of, machines={name: machines[name] for name in sorted(machines)}, pool_machines=pool
            ),
            "transcriber": "; ".join(dict.fromkeys(m.transcriber for m in every if m.transcriber)) or None,
            "models": {name: pin for manifest in every for name, pin in manifest.models.items()},
            "voices": _in_order({c: voice for manifest in every for c, voice in manifest.voices.items()}, plan.contexts),
            "events": _events([m.events for m in every], plan.contexts),
            "caller_priority": ", ".join(sorted({part.caller_priority for part in parts if part.caller_priority})) or None,
            "idle_cpu_percent": _most([part.idle_cpu_percent for part in parts]),
            "cards": _cards(every),
            "calibration": quoted,
            "not_calibrated": why_not,
            "pacing": None,
            "invalid": [],
        }
    )


def _enter(machines: dict[str, MachineEntry], shard: RunManifest) -> None:
    fleet = shard.fleet
    assert fleet is not None
    assert fleet.shard is not None
    part = PartEntry(
        shard=fleet.shard,
        contexts=tuple(shard.context_ids),
        calibration=shard.calibration,
        not_calibrated=shard.not_calibrated,
        pacing=shard.pacing,
        idle_cpu_percent=shard.idle_cpu_percent,
        caller_priority=shard.caller_priority,
    )
    name = key_of(shard)
    known = machines[name].parts if name in machines else {}
    parts = {**known, f"{fleet.shard} {shard.created}": part}
    machines[name] = MachineEntry(facts=dict(shard.machine), parts=dict(sorted(parts.items())))


def _calibration(parts: Sequence[PartEntry]) -> tuple[dict[str, float | str | None] | None, str]:
    """The calibration that is valid for all machines, the one with the largest error; None if one machine has none."""
    found = [(error.within_ms, part.calibration) for part in parts if (error := onset_error(part.calibration)) is not None]
    if len(found) < len(parts):
        reasons = dict.fromkeys(part.not_calibrated for part in parts if part.not_calibrated)
        return None, "; ".join(reasons)
    return max(found, key=lambda item: item[0])[1], ""


def _events(settings: Sequence[EventSettings | None], order: dict[str, str]) -> EventSettings | None:
    known = [one for one in settings if one is not None]
    if not known:
        return None
    voices = {context: voice for one in known for context, voice in one.voices.items()}
    return known[0].model_copy(update={"voices": _in_order(voices, order)})


def _in_order(values: dict[str, str], order: dict[str, str]) -> dict[str, str]:
    return {name: values[name] for name in order if name in values}


def _cards(every: Sequence[RunManifest]) -> dict[str, GpuUse]:
    """The GPUs of every shard, each under its own name: two machines both have a `gpu0`."""
    named: dict[str, GpuUse] = {}
    for manifest in every:
        shard = manifest.fleet.shard if manifest.fleet is not None else None
        named |= {name if shard is None else f"{name} of shard {shard}": use for name, use in manifest.cards.items()}
    return dict(sorted(named.items()))


def _most(each: Sequence[dict[str, float]]) -> dict[str, float]:
    names = sorted({name for one in each for name in one})
    return {name: max(one[name] for one in each if name in one) for name in names}
