"""A plan that many machines play: fixed once, written to a file, and held against what each machine has.

A shard is worth nothing if its machine has another profile, pack, voice or library than the others, and that would only show
days later, when the shards are laid together. So each machine makes the plan anew from its own files, before anything starts,
and stops at the first thing that is not as it was fixed.
"""

from importlib.metadata import version
from pathlib import Path

from pydantic import ValidationError

from harness import models
from harness.calibrate.result import machine_id
from harness.errors import UserError
from harness.measuring.transcribe import TRANSCRIBER
from harness.run.plan import RunPlan
from harness.scenarios.pack import context_hash
from harness.store.fleet import FixedPlan, FleetEntry, PlannedAgent
from harness.store.manifest import RunManifest, package_versions
from harness.timing import METHOD
from harness.voices.choice import open_voices


def fixed(plan: RunPlan) -> FixedPlan:
    """What every shard of a run must share with this one.

    Raises:
        UserError: the user's voices file is malformed.
    """
    voices = open_voices(plan.pack, plan.options.seed, frozenset(w for p in plan.profiles for w in p.weights))
    spoken = any(profile.kind != "text" for profile in plan.profiles)
    weights = {name for profile in plan.profiles for name in profile.weights} | ({TRANSCRIBER} if spoken else set())
    return FixedPlan(
        harness_version=version("heart-voice-harness"),
        timing_method=METHOD,
        versions=package_versions(),
        experiment=plan.options.model_copy(update={"limit": len(plan.whole)}),
        agents=tuple(PlannedAgent(name=p.name, profile_hash=p.hash) for p in plan.profiles),
        pack=plan.pack.name,
        pack_hash=plan.pack.hash,
        events=plan.events.events if plan.events is not None else (),
        voices={c.id: voices.chosen(voices.wish_of(c)) for c in plan.whole} if spoken else {},
        weights={name: pin_of(name) for name in sorted(weights)},
        contexts={c.id: context_hash(c) for c in plan.whole},
    )


def fleet_of(plan: RunPlan) -> FleetEntry | None:
    """What the manifest of a shard says of the run that it is a part of; None for a plan that is not dealt."""
    if plan.share.shard is None:
        return None
    number, of = plan.share.shard
    return FleetEntry(plan=fixed(plan), of=of, shard=number, plan_file=plan.share.plan_file)


def read_plan(path: Path) -> FixedPlan:
    """The plan in a file.

    Raises:
        UserError: there is none, or it is not a plan of this harness.
    """
    try:
        return FixedPlan.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UserError(f"--plan {path}: cannot be read ({error.strerror}); write it with: harness plan --out FILE") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise UserError(
            f"--plan {path}: is no plan of this harness ({where}: {first['msg']}); write it anew with: harness plan --out FILE"
        ) from error


def refuse_another_plan(plan: RunPlan, expected: FixedPlan, where: str) -> None:
    """Leave before anything starts where this machine would not play what was fixed.

    Raises:
        UserError: names the first thing that differs.
    """
    differs = expected.difference(fixed(plan), "in the plan", "on this machine")
    if differs is not None:
        raise UserError(f"{where}: this machine would play something else: {differs}; bring what the plan names, or plan anew")


def refuse_another_machine(manifest: RunManifest, folder: Path, played: bool) -> None:
    """A shard's sessions are of one machine, which its manifest describes; what is left of it can be played elsewhere from the
    beginning.

    Raises:
        UserError: it was begun on another machine than this one.
    """
    if played and manifest.machine_id != machine_id():
        raise UserError(
            f"--resume: {folder} was begun on another machine; go on there, or play the whole shard in another --out"
        )


def pin_of(name: str) -> str:
    """A weight as a manifest names it: version, file and SHA-256."""
    weight = next(w for w in models.catalogue() if w.name == name)
    return f"{weight.version} {weight.files[0].name} {weight.files[0].sha256}"
