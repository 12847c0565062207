"""The merge of shards: one run made of parts that many machines played, to be judged and ranked once.

Finished sessions are written in the places and the order of a whole run, so that everything after the calls is the same. It can
be repeated at any time, in any order, with more shards or the same; all errors in the input are found before the first byte is
written. Data that depend on a machine stay with it: its calibration, its pacing and its idle load.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.errors import StorageError, UserError
from harness.figures.validity import with_validity
from harness.progress import RunProgress
from harness.scenarios.context import Context
from harness.shards.merge_checks import Part, chosen_sessions, read_parts, refuse_another_plan, refuse_missing, refuse_withdrawn
from harness.shards.merged_manifest import merged_manifest
from harness.store.database import DATABASE, locked
from harness.store.disk import free_bytes, storage_named
from harness.store.fleet import FleetEntry
from harness.store.manifest import RunManifest
from harness.store.run_store import RunStore
from harness.store.session import Session

MB: Final = 1_000_000
ONCE_BYTES: Final = 1_300_000
"""Bytes for the database and the report's page, as for any run (harness/run/disk_space.py)."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The result of a merge. `left`: number of the plan's sessions that no shard has, if that was allowed."""

    folder: Path
    sessions: int
    added: int
    left: int
    fleet: FleetEntry


@dataclass(frozen=True, slots=True)
class _Work:
    """A merge that has passed all checks."""

    manifest: RunManifest
    fleet: FleetEntry
    chosen: tuple[tuple[Part, Session], ...]
    added: tuple[tuple[Part, Session], ...]
    sessions: int
    contexts: tuple[tuple[int, Context], ...]
    """The sessions with their positions in the run."""


def merge(
    folders: Sequence[Path], out: Path, progress: RunProgress, *, pool_machines: bool = False, allow_missing: bool = False
) -> Merged:
    """Merge the shards in `folders` into `out`: a new folder, or the run of an earlier merge of some of them.

    Args:
        pool_machines: pool latencies of different machines.
        allow_missing: continue without sessions that no shard has; a later merge adds them.

    Raises:
        UserError: shards of different plans, one that is missing or unfinished, a session that was played twice, another merge
            is running, or `out` holds another run; nothing has been written.
        StorageError: the disk has no room; copied sessions stay, and merging again continues.
    """
    if not folders:
        raise UserError("harness merge: name the folders of the shards")
    parts = read_parts(folders)
    try:
        work = _sound(parts, out, pool_machines, allow_missing)
        _refuse_without_room(work, out)
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"--out {out}: cannot be written ({error.strerror}); choose another path") from error
        with locked(out), storage_named(out, lambda: "copied sessions are saved; free some space and merge again"):
            # Read again, because another merge may have ended before the lock was taken.
            work = _sound(parts, out, pool_machines, allow_missing)
            _lay_together(parts, work, out, progress)
    finally:
        for part in parts:
            part.store.close()
    plan = work.fleet.plan
    planned = len(plan.contexts) * len(plan.agents) * len(plan.experiment.conditions) * plan.experiment.repeats
    return Merged(out, work.sessions, len(work.added), planned - work.sessions, work.fleet)


def _sound(parts: Sequence[Part], out: Path, pool_machines: bool, allow_missing: bool) -> _Work:
    before, here = _before(out, parts[0])
    refuse_withdrawn(parts, here.values(), out)
    chosen = chosen_sessions(parts, here, out)
    manifest = merged_manifest([part.manifest for part in parts], before, pool_machines=pool_machines)
    fleet = manifest.fleet
    assert fleet is not None
    have = {**here, **{name: session for name, (_, session) in chosen.items()}}
    if not allow_missing:
        refuse_missing(parts, fleet, have)
    place = {name: k for k, name in enumerate(fleet.plan.contexts)}
    contexts = {c.id: c for part in parts for c in part.store.contexts_as_played()}
    return _Work(
        manifest=manifest,
        fleet=fleet,
        chosen=tuple(chosen.values()),
        added=tuple(
            (part, s)
            for part, s in chosen.values()
            if s.id not in here or (part.machine, s.started_ns) != (here[s.id].machine, here[s.id].started_ns)
        ),
        sessions=sum(session.key.agent not in manifest.seated for session in have.values()),
        contexts=tuple((place[name], context) for name, context in contexts.items()),
    )


def _before(out: Path, first: Part) -> tuple[RunManifest | None, dict[str, Session]]:
    """The run that earlier merges made in `out`: its manifest and its sessions, none where there is no run.

    Raises:
        UserError: another run is there.
    """
    if not (out / DATABASE).exists():
        return None, {}
    store = RunStore.open(out)
    try:
        manifest = store.manifest
        if manifest.fleet is None or manifest.fleet.shard is not None:
            raise UserError(f"--out {out}: holds a run that was not merged; choose another path")
        refuse_another_plan(manifest.fleet, out, first)
        return manifest, {session.id: session for session in store.sessions()}
    finally:
        store.close()


def _refuse_without_room(work: _Work, out: Path) -> None:
    needed = ONCE_BYTES + sum(_bytes_in(session.folder) for _, session in work.added)
    free = free_bytes(out)
    if free < needed:
        raise StorageError(
            f"--out {out}: the merged run needs about {needed / MB:.1f} MB and {free / MB:.1f} MB are free; "
            "free some space, or choose another place with --out"
        )


def _lay_together(parts: Sequence[Part], work: _Work, out: Path, progress: RunProgress) -> None:
    # Contexts and machines are written before the sessions that name them, so that a merge may be killed between any two.
    if (out / DATABASE).exists():
        store = RunStore.open(out)
        store.set_manifest(work.manifest)
    else:
        store = RunStore.create(out, work.manifest, ())
    try:
        store.set_contexts(work.contexts)
        store.drop_partial_folders()
        progress.phase("Merging", len(work.chosen))
        for part, session in work.chosen:
            store.adopt(part.store, session, part.machine)
            progress.step(session.id)
        for part in parts:
            keep_beside(part, out)
        progress.phase("Pacing of all calls")
        store.set_manifest(with_validity(store))
    finally:
        store.close()


def keep_beside(part: Part, out: Path) -> None:
    """Copy a shard's logs and samples of its machine under its own name: clocks of two machines are not comparable."""
    target = out / "logs" / f"shard-{part.fleet.shard}-{part.machine}"
    target.mkdir(parents=True, exist_ok=True)
    for source in (part.store.telemetry_file, part.store.servers_file, *sorted((part.folder / "logs").glob("*"))):
        if source.is_file():
            shutil.copyfile(source, target / source.name)


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
