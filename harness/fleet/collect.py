"""The run folder of a cluster's run, which receives each session as it arrives, from any machine.

The rules are those of `harness merge`, applied one session at a time: one plan, every session once, machines separate,
and contexts and machines written before the sessions that refer to them. So the folder is a merged run at any time, and a head
that was killed continues from it.
"""

import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from harness.errors import UserError
from harness.fleet.shipping import unpacked
from harness.shards.merge import keep_beside
from harness.shards.merge_checks import Part, read_part, refuse_another_plan
from harness.shards.merged_manifest import merged_manifest
from harness.store.database import DATABASE
from harness.store.fleet import FixedPlan
from harness.store.run_store import RunStore
from harness.store.session import Session


class Gathering:
    """A run folder that is being filled. It has no run before the first session has arrived."""

    def __init__(self, folder: Path, plan: FixedPlan, of: int) -> None:
        self.folder = folder
        self.twice: list[str] = []
        """Sessions that arrived a second time, from another call, and were left out."""
        self._plan = plan
        self._of = of
        self._store: RunStore | None = None
        self._have: dict[str, Session] = {}

    def __enter__(self) -> Self:
        """Open the folder that an earlier head left.

        Raises:
            UserError: the folder has a run of another plan or number of shards, or one without shards.
        """
        if (self.folder / DATABASE).exists():
            self._store = RunStore.open(self.folder, to_resume=True)
            self._refuse_another_run(self._store)
            finished = self._store.finished_ids()
            self._have = {s.id: s for s in self._store.sessions() if s.status == "failed" or s.id in finished}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._store is not None and kind is not None:
            self._store.close()

    @property
    def store(self) -> RunStore | None:
        """The run; None before the first session."""
        return self._store

    @property
    def finished(self) -> frozenset[str]:
        """Ids of the sessions that are stored and must not be played again."""
        return frozenset(name for name, session in self._have.items() if session.status == "finished")

    def take(self, pack: bytes) -> int:
        """Store what a worker sent; returns the number of new sessions.

        Raises:
            UserError: it belongs to another plan, or cannot be read.
        """
        with tempfile.TemporaryDirectory(prefix="heart-arriving-") as place:
            part = read_part(unpacked(pack, Path(place)), to_resume=True)
            try:
                return self._take(part)
            finally:
                part.store.close()

    def _take(self, part: Part) -> int:
        store = self._store
        before = store.manifest if store is not None else None
        if before is not None and before.fleet is not None:
            refuse_another_plan(before.fleet, self.folder, part)
        manifest = merged_manifest([part.manifest], before, pool_machines=False)
        if store is None:
            store = self._store = RunStore.create(self.folder, manifest, ())
        elif manifest != before:
            store.set_manifest(manifest)
        place = {name: k for k, name in enumerate(self._plan.contexts)}
        store.set_contexts((place[context.id], context) for context in part.store.contexts_as_played())
        added = 0
        for session in part.sessions:
            there = self._have.get(session.id)
            kept = there is not None and there.status == "finished"
            if there is not None and kept and (there.machine, there.started_ns) != (part.machine, session.started_ns):
                self.twice += [session.id] if session.status == "finished" else []
                continue
            added += session.status == "finished" and not kept
            store.adopt(part.store, session, part.machine)
            self._have[session.id] = store.session(session.id)
        keep_beside(part, self.folder)
        return added

    def _refuse_another_run(self, store: RunStore) -> None:
        fleet = store.manifest.fleet
        if fleet is None or fleet.shard is not None:
            what = "a run without shards" if fleet is None else "a shard"
            raise UserError(f"--resume: {self.folder} holds {what}; go on with it as it was begun, or choose another --out")
        differs = fleet.plan.difference(self._plan, f"in {self.folder}", "on this machine")
        if differs is None and fleet.of != self._of:
            differs = f"it was divided into {fleet.of} shards, and is now divided into {self._of}"
        if differs is not None:
            raise UserError(f"--resume: {self.folder} is of another plan: {differs}; choose another --out")
