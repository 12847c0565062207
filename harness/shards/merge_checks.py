"""Checks of a merge, before a byte is written: shards of one plan, each session played once, none missing.

A copy of a shard is the same shard. A shard that was played again is another result for the same sessions, and nobody may
choose between two results after seeing them; so it is refused, unless the first one failed and `--resume` would have played
it again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UserError
from harness.recording.sitting import load_sitting
from harness.shards.merged_manifest import key_of
from harness.store.fleet import FixedPlan, FleetEntry
from harness.store.manifest import RunManifest
from harness.store.run_store import RunStore
from harness.store.session import Session, SessionKey
from harness.wording import command, counted


@dataclass(frozen=True, slots=True)
class Part:
    """One shard's folder, read. A shard that was played in two places has two."""

    folder: Path
    store: RunStore
    manifest: RunManifest
    fleet: FleetEntry
    sessions: tuple[Session, ...]

    @property
    def machine(self) -> str:
        """The name in the merged run of the machine that played it."""
        return key_of(self.manifest)


def read_parts(folders: Sequence[Path]) -> list[Part]:
    """All shards, in the order of their numbers.

    Raises:
        UserError: a folder is named twice or has no shard, or the shards belong to different plans.
    """
    parts: list[Part] = []
    seen: set[Path] = set()
    try:
        for folder in folders:
            if folder.resolve() in seen:
                raise UserError(f"{folder}: named twice; name each shard once")
            seen.add(folder.resolve())
            parts.append(read_part(folder))
        for part in parts[1:]:
            refuse_another_plan(parts[0].fleet, parts[0].folder, part)
    except UserError:
        for part in parts:
            part.store.close()
        raise
    return sorted(parts, key=lambda part: (part.fleet.shard or 0, part.manifest.created, part.machine))


def read_part(folder: Path, *, to_resume: bool = False) -> Part:
    """One shard's folder.

    Args:
        to_resume: accept sessions without files.

    Raises:
        UserError: there is no shard in it.
    """
    store = RunStore.open(folder, to_resume=to_resume)
    manifest = store.manifest
    if manifest.fleet is None or manifest.fleet.shard is None:
        store.close()
        whole = "was merged already" if manifest.fleet is not None else "was played as a whole run"
        raise UserError(f"{folder}: is not a shard, it {whole}; name folders that `harness run --shard` made")
    return Part(folder, store, manifest, manifest.fleet, tuple(store.sessions()))


def refuse_another_plan(here: FleetEntry, folder: Path, other: Part) -> None:
    """Check that a run or shard in `folder` and `other` have the same plan. Raises UserError with the first difference."""
    differs = here.plan.difference(other.fleet.plan, f"in {folder}", f"in {other.folder}")
    if differs is None and here.of != other.fleet.of:
        differs = f"it has {here.of} shards in {folder} and {other.fleet.of} in {other.folder}"
    if differs is not None:
        raise UserError(f"{other.folder}: belongs to another plan than {folder}: {differs}; merge shards of one plan")


def refuse_withdrawn(parts: Sequence[Part], here: Iterable[Session], out: Path) -> None:
    """Check that an earlier merge has no reply of anybody who has withdrawn from the shard since.

    Raises:
        UserError: it has; with the command that removes it there together with what was made of it, such as verdicts.
    """
    played = {(part.machine, context): part.folder for part in parts for context in part.manifest.context_ids}
    given = {seat.take for part in parts for session in part.sessions if (seat := load_sitting(session.folder)) is not None}
    for session in here:
        shard = played.get((session.machine or "", session.key.context_id))
        seat = load_sitting(session.folder) if shard is not None else None
        if seat is not None and seat.take not in given:
            raise UserError(
                f"{out}: has a reply of {seat.person}, which {shard} has no more; first remove that person here too: "
                f"{command('people', 'withdraw', seat.person, out)}"
            )


def chosen_sessions(parts: Sequence[Part], here: Mapping[str, Session], out: Path) -> dict[str, tuple[Part, Session]]:
    """Session → the part that it is taken from. `here`: sessions of earlier merges, included only if a part has them too.

    Raises:
        UserError: a session was played twice.
    """
    found: dict[str, tuple[Part, Session]] = {}
    for part in parts:
        for session in part.sessions:
            there = found.get(session.id)
            if there is not None:
                _refuse_twice(there[1], there[0].machine, there[0].folder, session, part)
            if session.id in here:
                _refuse_twice(here[session.id], here[session.id].machine, out, session, part)
            if there is None or _rank(session, part.machine) > _rank(there[1], there[0].machine):
                found[session.id] = part, session
    return {
        name: (part, session)
        for name, (part, session) in found.items()
        if name not in here or _rank(session, part.machine) >= _rank(here[name], here[name].machine)
    }


def _refuse_twice(there: Session, machine: str, folder: Path, session: Session, part: Part) -> None:
    both = there.status == session.status == "finished"
    if both and (machine, there.started_ns) != (part.machine, session.started_ns):
        raise UserError(
            f"{part.folder}: session {session.id} was played there and in {folder}; leave one of the two out of the merge"
        )


def _rank(session: Session, machine: str) -> tuple[bool, str, int]:
    """The order of choice: a finished session before a failed one; of two that failed always the same one."""
    return session.status == "finished", machine, session.started_ns or 0


def refuse_missing(parts: Sequence[Part], merged: FleetEntry, have: Mapping[str, Session]) -> None:
    """Check that the shards are the whole run.

    Args:
        merged: the entry with the shards of this merge and of earlier ones.
        have: all sessions that the merged run would have.

    Raises:
        UserError: they are not; names the first shard that is missing or unfinished, and the command to play it.
    """
    dealt = merged.dealt
    for number in range(1, merged.of + 1):
        folders = [part.folder for part in parts if part.fleet.shard == number]
        if number not in dealt:
            plan_file = next((p.fleet.plan_file for p in parts if p.fleet.plan_file), "")
            play = how_to_play(merged.plan, plan_file, number, merged.of)
            raise UserError(f"shard {number}/{merged.of} is missing; play it with: {play} (or add --allow-missing)")
        expected = sessions_of(merged.plan, dealt[number])
        unplayed = [name for name in expected if name not in have]
        where = f" ({folders[0]})" if folders else ""
        mend = go_on(folders[0] if folders else "SHARD")
        if unplayed:
            raise UserError(
                f"shard {number}/{merged.of}{where}: {len(unplayed)} of {counted(len(expected), 'session')} not played; "
                f"go on with: {mend} (or add --allow-missing)"
            )
    for part in parts:
        raw = _not_measured(part)
        if raw:
            raise UserError(
                f"shard {part.fleet.shard}/{merged.of} ({part.folder}): {counted(len(raw), 'session')} not yet timed or "
                f"transcribed; go on with: {go_on(part.folder)} (or add --allow-missing)"
            )


def _not_measured(part: Part) -> list[str]:
    spoken = {agent.name for agent in part.manifest.agents if agent.kind != "text"}
    failed = {failure.session for failure in part.store.step_failures()}
    played = [s for s in part.sessions if s.status == "finished" and s.key.agent in spoken and s.id not in failed]
    return [s.id for s in played if s.timing is None or s.heard_text is None]


def sessions_of(plan: FixedPlan, contexts: Sequence[str]) -> list[str]:
    """The ids of all sessions of some contexts of a plan."""
    asked = plan.experiment
    return [
        SessionKey(context, plan.contexts[context], agent.name, agent.profile_hash, asked.mode, condition, repeat).session_id
        for context in contexts
        for condition in asked.conditions
        for repeat in range(asked.repeats)
        for agent in plan.agents
    ]


def how_to_play(plan: FixedPlan, plan_file: str, number: int, of: int) -> str:
    """The command that plays one shard, quoted for a shell."""
    what = ["--plan", plan_file] if plan_file else plan.experiment.on_the_line()
    return command("run", *what, "--shard", f"{number}/{of}", "--out", "DIR")


def go_on(folder: Path | str) -> str:
    """The command that resumes a shard in its folder, quoted for a shell."""
    return command("run", "--resume", "--out", folder)
