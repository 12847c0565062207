"""A plan for many machines: fixed once, written to a file, and compared with the files of each machine.

A shard is useless if its machine has another profile, pack, voice or library than the others, and that would only be noticed
days later, when the shards are merged. So each machine makes the plan again from its own files, before anything starts,
and stops at the first difference.
"""

from importlib.metadata import version
from pathlib import Path

from pydantic import ValidationError

from harness import models
from harness.audio.caller_voices import HIBARI
from harness.audio.hibari_package import hibari_files
from harness.calibrate.result import machine_id
from harness.errors import UserError
from harness.local_programs import call, local_python
from harness.measuring.transcribe import TRANSCRIBER
from harness.run.plan import RunPlan
from harness.scenarios.pack import context_hash
from harness.store.fleet import FixedPlan, FleetEntry, PlannedAgent
from harness.store.manifest import RunManifest, package_versions
from harness.timing import METHOD
from harness.voices.choice import open_voices


def fixed(plan: RunPlan) -> FixedPlan:
    """The plan in the form that all shards of a run must share.

    Raises:
        UserError: the user's voices file is malformed.
    """
    voices = open_voices(plan.pack, plan.options.seed, plan.own_voices)
    spoken = any(profile.kind != "text" for profile in plan.profiles)
    weights = plan.weights | ({TRANSCRIBER} if spoken else set())
    if spoken:
        local_python("the caller's voice")  # whose versions are part of the plan
    return FixedPlan(
        harness_version=version("heart-voice-harness"),
        timing_method=METHOD,
        versions=package_versions(),
        experiment=plan.options.model_copy(update={"limit": len(plan.whole)}),
        agents=tuple(PlannedAgent(name=p.name, profile_hash=p.hash) for p in plan.profiles),
        pack=plan.pack.name,
        pack_hash=plan.pack.hash,
        events=plan.events.events if plan.events is not None else (),
        voices={c.id: voices.name_of(voices.wish_of(c)) for c in plan.whole} if spoken else {},
        weights={name: pin_of(name) for name in sorted(weights)},
        contexts={c.id: context_hash(c) for c in plan.whole},
    )


def fleet_of(plan: RunPlan) -> FleetEntry | None:
    """The entry of a shard's manifest about its run; None for a plan without shards."""
    if plan.share.shard is None:
        return None
    number, of = plan.share.shard
    return FleetEntry(plan=fixed(plan), of=of, shard=number, plan_file=plan.share.plan_file)


def read_plan(path: Path) -> FixedPlan:
    """The plan in a file.

    Raises:
        UserError: there is no such file, or it is not a plan of this harness.
    """
    try:
        return FixedPlan.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UserError(f"--plan {path}: cannot be read ({error.strerror}); write it with --write-plan FILE") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise UserError(
            f"--plan {path}: is not a plan of this harness ({where}: {first['msg']}); write a new one with --write-plan FILE"
        ) from error


def refuse_another_plan(plan: RunPlan, expected: FixedPlan, where: str) -> None:
    """Check before anything starts that this machine would play the fixed plan.

    Raises:
        UserError: it would not; names the first difference.
    """
    differs = expected.difference(fixed(plan), "in the plan", "on this machine")
    if differs is not None:
        raise UserError(
            f"{where}: this machine would play something else: {differs}; install what the plan names, or plan anew"
        )


def refuse_another_machine(manifest: RunManifest, folder: Path, played: bool) -> None:
    """Check that a shard is continued on its own machine, which its manifest describes. Another machine can play the whole
    shard from the beginning.

    Raises:
        UserError: it was begun on another machine.
    """
    if played and manifest.machine_id != machine_id():
        raise UserError(
            f"--resume: {folder} was begun on another machine; resume it there, or play the whole shard in another --out"
        )


def pin_of(name: str) -> str:
    """The name of a weight, or of the voice in its own package, in a manifest: version, file and SHA-256."""
    if name == HIBARI:
        return call(_hibari_pin, why="the caller's voice", modules=("hibari",))
    weight = next(w for w in models.catalogue() if w.name == name)
    return f"{weight.version} {weight.files[0].name} {weight.files[0].sha256}"


def _hibari_pin() -> str:
    return hibari_files().pin
