"""Resuming a run: the settings with which it began, and the refusal of any other.

A run that goes on with another setting would mix two experiments in one figure. So every difference is refused by name before
anything is played; settings that change no figure (`FREE` in `harness.experiment`) may differ.
"""

from collections.abc import Sequence

from harness.errors import UserError
from harness.experiment import Experiment, shown
from harness.run.plan import RunPlan
from harness.scenarios.context import Context
from harness.scenarios.pack import context_hash
from harness.shards.split import WHOLE, Share
from harness.store.events import EventSettings
from harness.store.fleet import LONG_AS_A_HASH
from harness.store.manifest import HARNESS, RunManifest, package_versions
from harness.store.run_store import RunStore
from harness.wording import command


def refuse_changes(plan: RunPlan, manifest: RunManifest, contexts: Sequence[Context]) -> None:
    """Check that a resumed run has the settings with which it began; otherwise its figures would mix two experiments.

    Raises:
        UserError: it has not; names the first content and all settings that differ.
    """
    before = {a.name: a.profile_hash for a in manifest.played}
    now = {p.name: p.hash for p in plan.profiles}
    old_hashes = {c.id: context_hash(c) for c in contexts}
    contents: list[tuple[str, object, object]] = [
        ("agents", sorted(before), sorted(now)),
        *(("profile of agent " + name, before.get(name), now.get(name)) for name in sorted(now)),
        ("contexts", manifest.context_ids, [c.id for c in plan.contexts]),
        *(("context " + name, old_hashes.get(name), value) for name, value in sorted(plan.context_hashes.items())),
        ("events", _shown_events(manifest.events), _shown_events(plan.events)),
    ]
    differ = [each for each in contents if each[1] != each[2]][:1]
    differ += [(name, *both) for name, both in manifest.asked.differences(plan.options).items()]
    if differ:
        raise UserError(
            f"--resume: {'; '.join(_changed(*each) for each in differ)}; "
            "resume with the original settings, or start a new run in another --out"
        )


def timed_sessions(store: RunStore) -> set[str]:
    """The finished sessions that were timed, or that the versions which played them could not time."""
    failed = {failure.session for failure in store.step_failures()}
    return {s.id for s in store.sessions() if s.status == "finished" and (s.timing is not None or s.id in failed)}


def refuse_another_version(store: RunStore, whole: bool, mend: str) -> None:
    """Check that what is left of a run would be played and timed by the versions that did the rest; `whole`: nothing is left.

    A run of which nothing was finished yet is this harness's own from now on, and its manifest says so.

    Raises:
        UserError: another version of the harness, or of a package that figures depend on, is installed now.
    """
    manifest, now = store.manifest, package_versions()
    then = manifest.versions or {HARNESS: manifest.harness_version}
    changed = [name for name in {**then, **now} if then.get(name) != now.get(name) and (name in then or manifest.versions)]
    if whole or not changed:
        return
    if not store.finished_ids():
        store.set_manifest(manifest.model_copy(update={"versions": now, "harness_version": now[HARNESS]}))
        return
    named = ", ".join(f"{name} {then.get(name, 'none')} (now {now.get(name, 'none')})" for name in changed)
    raise UserError(f"--resume: {store.folder} was begun with {named}, and two versions in one figure are none; {mend}")


def _changed(what: str, then: object, today: object) -> str:
    hashed = isinstance(then, str) and len(then) == LONG_AS_A_HASH
    return f"{what} has changed" if hashed else f"{what} was {shown(then)}, is now {shown(today)}"


def _shown_events(settings: EventSettings | None) -> str | None:
    """The events as one line."""
    return ", ".join(f"{e.sound} at {e.at_ms:g} ms" for e in settings.events) if settings is not None else None


def asked_of(manifest: RunManifest) -> tuple[Experiment, Share]:
    """The settings with which a run began, for `--resume` without repeating them.

    Raises:
        UserError: the run was merged from shards, or nothing of it was played, so it cannot be resumed.
    """
    if manifest.calls is not None:
        again = command("measure", manifest.calls.source, "--resume", "--out", "RUN")
        raise UserError(
            f"--resume: the run has calls that already happened, and nothing is played in it; measure more: {again}"
        )
    if manifest.replies is not None:
        raise UserError("--resume: the run's replies were in a file; import the whole file into another --out")
    fleet = manifest.fleet
    if fleet is None:
        return manifest.asked, WHOLE
    if fleet.shard is None:
        raise UserError(
            "--resume: the run was merged from shards and cannot be resumed; play the missing sessions as a shard and merge it"
        )
    return manifest.asked, Share((fleet.shard, fleet.of), fleet.plan_file)
