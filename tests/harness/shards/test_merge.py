"""Shards laid together in any order, any number of times, by any number of merges at once, give one run and never another."""

import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.errors import StorageError, UserError
from harness.experiment import Experiment
from harness.figures.latency import turn_figures
from harness.figures.summarise import summarise
from harness.people.withdraw import withdraw_everywhere
from harness.progress import RunProgress
from harness.recording.sitting import Sitting, save_sitting
from harness.run import phases
from harness.run.fixed_plan import fixed, fleet_of, read_plan
from harness.run.phases import RunRequest, asked_before
from harness.run.plan import make_plan, new_manifest
from harness.shards import merge as merging
from harness.shards.merge import Merged
from harness.shards.split import Share
from harness.store.database import locked
from harness.store.machine_facts import Pacing
from harness.store.manifest import AgentEntry
from harness.store.run_store import RunStore
from harness.store.selection import Selection
from harness.store.session import SessionKey
from harness.timing.figures import TurnTiming
from tests.harness.conftest import begin, peer
from tests.present import present

OF = 4
FAST = {"system": "Linux 6", "processor": "Fast", "cores": 8, "memory_gib": 16.0, "python": "3.11"}
SLOW = {**FAST, "processor": "Slow", "cores": 2}


def ttfa_ms(key: SessionKey) -> float:
    return 300.0 + random.Random(f"{key.context_id} {key.agent} {key.repeat}").uniform(0, 400)


def options(**more: Any) -> Experiment:
    agents = (str(peer("raw-pcm-echo")), str(peer("pipecat-echo")))
    return Experiment(agents=agents, limit=8, repeats=2, **more)


def play(store: RunStore, keys: Sequence[SessionKey], began_ns: int) -> None:
    """Finished sessions with figures that depend on the session alone, as a clock of any machine would see them."""
    for n, key in enumerate(keys):
        partial = store.partial_folder(key)
        (partial / "notes.txt").write_text(key.session_id)
        session = store.commit_session(
            key, partial=partial, written_text=f"words for {key.context_id}", started_ns=began_ns + n
        )
        ms = ttfa_ms(key)
        timing = TurnTiming(method="t", spoken_end_ms=1_000.0, ttfa_ms=ms, first_sound_ms=ms, first_speech_ms=ms)
        store.set_timing(session.id, [timing])
        store.set_heard(session.id, f"words for {key.context_id}", ())


def played(
    folder: Path, shard: int | None, *, machine: str = "m1", facts: Any = None, leave: int = 0, plan_file: str = "", **more: Any
) -> Path:
    plan = make_plan(options(**more), Share((shard, OF) if shard else None, plan_file))
    manifest = new_manifest(plan).model_copy(
        update={
            "fleet": fleet_of(plan),
            "machine": facts or FAST,
            "machine_id": machine,
            "calibration": {"trials": 64.0, "ttfa_p95_error_ms": 1.0 + (shard or 0), "ttfa_p50_error_ms": 0.1},
            "pacing": Pacing(p99_error_ms=0.1 * (shard or 1), max_error_ms=1.0, realtime_ratio=1.0, frames=100),
            "voices": {c.id: "joe" for c in plan.contexts},
        }
    )
    store = RunStore.create(folder, manifest, plan.contexts)
    keys = plan.session_keys()
    play(store, keys[: len(keys) - leave], began_ns=hash((machine, shard)) % 10**9)
    store.close()
    return folder


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("four")
    for k in range(1, OF + 1):
        played(folder / f"s{k}", k, machine=f"m{k % 2}")
    return folder


@pytest.fixture
def shards(four: Path, tmp_path: Path) -> list[Path]:
    return [shutil.copytree(four / f"s{k}", tmp_path / f"s{k}") for k in range(1, OF + 1)]


def merged(folders: Sequence[Path], out: Path, **more: bool) -> Merged:
    return merging.merge(folders, out, RunProgress(quiet=True), **more)


def content(folder: Path) -> Any:
    """All that a run holds and that does not depend on where and when it was played."""
    with closing(RunStore.open(folder)) as store:
        manifest = store.manifest.model_dump(exclude={"created", "machine", "machine_id", "fleet", "calibration", "pacing"})
        sessions = [replace(s, folder=Path(), machine="", started_ns=None) for s in store.sessions()]
        files = {p.relative_to(folder): p.read_bytes() for p in sorted((folder / "sessions").rglob("*")) if p.is_file()}
        return manifest, sessions, store.contexts_as_played(), files


def all_of_it(folder: Path) -> Any:
    with closing(RunStore.open(folder)) as store:
        return content(folder), store.manifest, [replace(s, folder=Path()) for s in store.sessions()]


def test_four_shards_are_the_run_that_was_not_dealt(shards: list[Path], tmp_path: Path) -> None:
    found = merged(shards, tmp_path / "merged")
    assert (found.sessions, found.added, found.left) == (32, 32, 0)
    whole = played(tmp_path / "whole", None)
    assert content(tmp_path / "merged") == content(whole)
    together, apart = RunStore.open(tmp_path / "merged"), RunStore.open(whole)
    clock = {"run", "way_to_people", "calibration", "pacing", "machines", "circumstances"}
    one, other = (summarise(store).model_dump(exclude={*clock, "cautions", "warnings"}) for store in (together, apart))
    assert one == other
    assert one["cells"][0]["ttfa_ms"]["p50"] is not None


def test_order_and_repetition_change_nothing(shards: list[Path], tmp_path: Path) -> None:
    once = merged(shards, tmp_path / "once")
    first = all_of_it(tmp_path / "once")
    merged([shards[k] for k in (2, 0, 3, 1)], tmp_path / "other")
    assert all_of_it(tmp_path / "other") == first
    for k in (3, 1):
        merged([shards[k]], tmp_path / "bit", allow_missing=True)
    merged([shards[2], shards[0], shards[1]], tmp_path / "bit")
    assert all_of_it(tmp_path / "bit") == first
    again = merged(shards, tmp_path / "once")
    assert (again.added, again.sessions) == (0, once.sessions)
    assert all_of_it(tmp_path / "once") == first
    copy = shutil.copytree(shards[0], tmp_path / "copy-of-s1")
    assert merged([*shards, copy], tmp_path / "once").added == 0
    assert all_of_it(tmp_path / "once") == first


def test_a_missing_shard_is_named_with_how_to_play_it(shards: list[Path], tmp_path: Path) -> None:
    with pytest.raises(UserError) as missing:
        merged([shards[0], shards[1], shards[3]], tmp_path / "merged")
    assert str(missing.value).startswith("shard 3/4 is missing; play it with: harness run --agent ")
    assert "--shard 3/4 --out DIR" in str(missing.value)
    assert not (tmp_path / "merged").exists(), "nothing was written"
    planned = played(tmp_path / "p1", 1, plan_file="plan.json")
    with pytest.raises(
        UserError, match=r"shard 2/4 is missing; play it with: harness run --plan plan.json --shard 2/4 --out DIR"
    ):
        merged([planned], tmp_path / "merged")


def test_the_command_that_plays_a_missing_shard_plays_the_same_plan_in_any_shell(tmp_path: Path) -> None:
    odd = tmp_path / "it's mine; $HOME"
    odd.mkdir()
    agent = Path(shutil.copy(peer("raw-pcm-echo"), odd / "raw-pcm.toml"))
    asked = Experiment(
        agents=(str(agent),), limit=8, conditions=("clean", "loss5"), repeats=2, concurrency=2, seed=7,
        barge_in_ms=333.3333333, budget_ttfa_ms=612.3456789, budget_ttft_ms=250.0,
    )  # fmt: skip
    plan = make_plan(asked, Share((1, OF)))
    store = RunStore.create(odd / "s1", new_manifest(plan).model_copy(update={"fleet": fleet_of(plan)}), plan.contexts)
    play(store, plan.session_keys(), began_ns=1)
    store.close()
    with pytest.raises(UserError) as missing:
        merged([odd / "s1"], tmp_path / "merged")
    command = str(missing.value).split("play it with: ")[1].removesuffix(" (or add --allow-missing)")
    by_a_shell = f'for word in {command}; do echo "$word"; done'
    words = subprocess.run(["sh", "-c", by_a_shell], capture_output=True, text=True, check=True).stdout
    harness, run, *line = words.splitlines()
    assert (harness, run) == ("harness", "run")
    given: dict[str, list[str]] = {}
    for name, value in zip(line[::2], line[1::2], strict=True):
        given.setdefault(name.removeprefix("--"), []).append(value)
    assert given.pop("shard") == [f"2/{OF}"]
    assert given.pop("out") == ["DIR"]
    same = [word for name, values in given.items() for value in values for word in (f"--{name}", value)]
    again = CliRunner().invoke(app, ["run", *same, "--write-plan", str(odd / "p")])
    assert again.exit_code == 0, again.output
    assert fixed(plan).difference(read_plan(odd / "p")) is None


def test_a_shard_goes_on_as_the_shard_it_was_begun_as_alone(tmp_path: Path) -> None:
    folder = played(tmp_path / "s1", 1)
    request = RunRequest(options(judges=()), Share((1, 1)), out=folder, resume=True)
    with pytest.raises(UserError, match=rf"--shard 1/1: {folder} was begun as shard 1/{OF}; continue with --shard 1/{OF}"):
        phases.run(request, RunProgress(quiet=True), lambda _: ())


def test_an_unfinished_shard_is_named_with_how_to_go_on(shards: list[Path], tmp_path: Path) -> None:
    cut = played(tmp_path / "cut", 3, leave=3)
    with pytest.raises(
        UserError, match=rf"shard 3/4 \({cut}\): 3 of \d+ sessions not played; go on with: .* --resume --out {cut}"
    ):
        merged([shards[0], shards[1], cut, shards[3]], tmp_path / "merged")
    found = merged([shards[0], shards[1], cut, shards[3]], tmp_path / "merged", allow_missing=True)
    assert found.left == 3
    store = RunStore.open(tmp_path / "merged")
    told = [caution.text for caution in summarise(store).cautions if caution.code == "unfinished"]
    assert told == ["3 of the planned sessions are not finished; play them as a shard of the plan and merge it into the run."]
    store.close()
    raw = RunStore.open(shards[2])
    raw._db.execute("UPDATE sessions SET heard_text = NULL WHERE rowid = 1")
    raw._db.commit()
    raw.close()
    with pytest.raises(UserError, match="1 session not yet timed or transcribed"):
        merged(shards, tmp_path / "other")


def test_shards_of_other_plans_are_refused_and_the_difference_is_named(shards: list[Path], tmp_path: Path) -> None:
    seeded = played(tmp_path / "seeded", 2, seed=7)
    with pytest.raises(
        UserError, match=rf"{seeded}: belongs to another plan than {shards[0]}: seed is 1 in {shards[0]} and 7 in {seeded}"
    ):
        merged([shards[0], seeded], tmp_path / "merged")
    older = played(tmp_path / "older", 2)
    store = RunStore.open(older)
    fleet = store.manifest.fleet
    assert fleet is not None
    plan = fleet.plan.model_copy(update={"harness_version": "0.0.9"})
    store.set_manifest(store.manifest.model_copy(update={"fleet": fleet.model_copy(update={"plan": plan})}))
    store.close()
    with pytest.raises(UserError, match=r"harness_version is \S+ in .* and 0\.0\.9 in"):
        merged([shards[0], older], tmp_path / "merged")
    thirds = make_plan(options(), Share((1, 3)))
    RunStore.create(
        tmp_path / "third", new_manifest(thirds).model_copy(update={"fleet": fleet_of(thirds)}), thirds.contexts
    ).close()
    with pytest.raises(UserError, match=r"it has 4 shards in .* and 3 in"):
        merged([shards[0], tmp_path / "third"], tmp_path / "merged")
    with pytest.raises(UserError, match="is not a shard, it was played as a whole run"):
        merged([shards[0], played(tmp_path / "whole", None)], tmp_path / "merged")
    with pytest.raises(UserError, match="named twice; name each shard once"):
        merged([shards[0], shards[0]], tmp_path / "merged")
    with pytest.raises(UserError, match="holds a run that was not merged"):
        merged(shards, tmp_path / "whole")
    assert not (tmp_path / "merged").exists()


def test_what_was_played_twice_is_refused_before_and_after_a_merge(shards: list[Path], tmp_path: Path) -> None:
    again = played(tmp_path / "again", 2, machine="m9")
    with pytest.raises(UserError, match=r"was played there and in .*; leave one of the two out"):
        merged([*shards, again], tmp_path / "merged")
    merged(shards, tmp_path / "merged")
    before = all_of_it(tmp_path / "merged")
    with pytest.raises(UserError, match="was played there and in"):
        merged([again], tmp_path / "merged")
    assert all_of_it(tmp_path / "merged") == before


def test_a_session_that_failed_gives_way_to_one_that_did_not(shards: list[Path], tmp_path: Path) -> None:
    broken = played(tmp_path / "broken", 2, machine="m9", leave=100)
    plan = make_plan(options(), Share((2, OF)))
    store, key = RunStore.open(broken), plan.session_keys()[0]
    store.commit_session(key, partial=store.partial_folder(key), failure_kind="agent_died", started_ns=5)
    store.close()
    merged([broken], tmp_path / "merged", allow_missing=True)
    merged(shards, tmp_path / "merged")
    found = RunStore.open(tmp_path / "merged")
    assert found.session(key.session_id).status == "finished"
    assert (found.session(key.session_id).folder / "notes.txt").read_text() == key.session_id
    merged([broken], tmp_path / "merged")
    assert found.session(key.session_id).status == "finished"


def test_latencies_of_machines_that_differ_are_kept_apart_until_told_otherwise(tmp_path: Path) -> None:
    folders = [played(tmp_path / f"s{k}", k, machine=f"m{k}", facts=SLOW if k == 4 else FAST) for k in range(1, OF + 1)]
    merged(folders, tmp_path / "merged")
    store = RunStore.open(tmp_path / "merged")
    summary = summarise(store)
    for cell in summary.whole:
        assert (cell.turns, cell.ttfa_ms.p50, cell.within_budget.ttfa, cell.dead_air_ms.mean) == (16, None, None, None)
    fast, slow = (row for row in summary.by_machine if row.agent == "raw-pcm-echo")
    assert (fast.machine, fast.machines) == ("Fast, 8 cores, instruction sets not known", 3)
    assert (slow.machine, slow.machines) == ("Slow, 2 cores, instruction sets not known", 1)
    assert fast.turns + slow.turns == 16
    assert (fast.measurement_error_ms, slow.measurement_error_ms) == (4.0, 5.0)
    assert present(fast.pacing_p99_error_ms) == pytest.approx(0.3)
    assert present(slow.pacing_p99_error_ms) == pytest.approx(0.4)
    shard = RunStore.open(folders[3])
    alone = turn_figures(
        Selection(shard).turns("raw-pcm-echo", "clean"), budgets_ms=shard.manifest.budgets_ms, seed=shard.manifest.seed
    )
    assert slow.ttfa_ms == alone.ttfa_ms
    (caution,) = [c for c in summary.cautions if c.code == "machines_differ"]
    assert caution.text.startswith("This run was played on 2 kinds of machine, so no latency is pooled")
    assert summary.calibration is not None
    assert summary.calibration["ttfa_p95_error_ms"] == 5.0

    merged(folders, tmp_path / "merged", pool_machines=True)
    pooled = summarise(RunStore.open(tmp_path / "merged"))
    assert all(cell.ttfa_ms.p50 is not None for cell in pooled.whole)
    assert len(pooled.by_machine) == 4
    (caution,) = [c for c in pooled.cautions if c.code == "machines_differ"]
    assert caution.text.startswith("Latencies of 2 kinds of machine are pooled here, as --pool-machines asked.")


def test_machines_that_are_alike_stand_together(shards: list[Path], tmp_path: Path) -> None:
    merged(shards, tmp_path / "merged")
    summary = summarise(RunStore.open(tmp_path / "merged"))
    assert not summary.by_machine
    assert not [c for c in summary.cautions if c.code == "machines_differ"]
    assert [(m.processor, m.machines) for m in summary.machines] == [("Fast", 2)]


def test_a_merged_run_is_not_gone_on_with_as_if_it_were_one_machines(shards: list[Path], tmp_path: Path) -> None:
    merged(shards, tmp_path / "merged")
    with pytest.raises(UserError, match="merged from shards and cannot be resumed"):
        asked_before(tmp_path / "merged")


def test_two_merges_at_once_do_not_mix(shards: list[Path], tmp_path: Path) -> None:
    (tmp_path / "merged").mkdir()
    with locked(tmp_path / "merged"), pytest.raises(UserError, match="another harness process is writing this run"):
        merged(shards, tmp_path / "merged")
    assert merged(shards, tmp_path / "merged").added == 32


def test_a_disk_without_room_is_said_before_a_byte_is_copied(
    shards: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "free_bytes", lambda _: 1_000)
    with pytest.raises(StorageError, match=r"the merged run needs about 1.3 MB and 0.0 MB are free"):
        merged(shards, tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def merge_command(shards: Sequence[Path], out: Path) -> "subprocess.Popen[str]":
    return begin("merge", *shards, "--out", out)


def test_a_merge_that_is_killed_goes_on_where_it_was(shards: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "merged"
    running = merge_command(shards, out)
    sessions = out / "sessions"
    while running.poll() is None and not (sessions.exists() and len(list(sessions.iterdir())) > 3):
        time.sleep(0.001)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    both = [merge_command(shards, out), merge_command(shards[::-1], out)]
    ended = [(p.communicate(timeout=60), p.returncode) for p in both]
    assert {code for _, code in ended} <= {0, 2}
    for (_, err), code in ended:
        assert code == 0 or err.strip().endswith("another harness process is writing this run; wait for it or stop it")
    merged(shards, out)
    merged(shards, tmp_path / "calm")
    assert all_of_it(out) == all_of_it(tmp_path / "calm")
    assert not list(sessions.glob(".partial-*"))


def seat(folder: Path, persons: int, after: int = 0) -> None:
    """Replies of these many people to the first conversation of a shard, or of a merged run."""
    store = RunStore.open(folder)
    manifest = store.manifest
    entry = AgentEntry(name="people", kind="person", profile_hash="q" * 64, profile_text="", runs_here=False)
    store.set_manifest(manifest.model_copy(update={"agents": [*manifest.played, entry]}))
    first = next(s.key for s in store.sessions())
    play(store, [replace(first, agent="people", profile_hash="q" * 64, repeat=after + n) for n in range(persons)], 0)
    store.close()


def names_of(folder: Path) -> set[str]:
    with closing(RunStore.open(folder)) as store:
        return {sitting.person for s in store.sessions() if (sitting := store.sitting(s)) is not None}


def sit(shard: Path, repeat: int, person: str) -> None:
    """The sitting of the seat's nth session."""
    (folder,) = (shard / "sessions").glob(f"*__people__*__r{repeat}")
    (folder / "recording.json").write_text(json.dumps(person))
    save_sitting(Sitting(person, False, f"sitting-{person}", f"take-{person}"), folder)


def test_whoever_withdrew_from_a_shard_does_not_stay_in_the_merged_run(shards: list[Path], tmp_path: Path) -> None:
    seat(shards[1], 2)
    sit(shards[1], 0, "P-anna")
    sit(shards[1], 1, "P-cleo")
    out = tmp_path / "merged"
    merged(shards, out)
    assert names_of(out) == {"P-anna", "P-cleo"}
    withdraw_everywhere(shards[1], "P-anna")
    with pytest.raises(UserError, match=r"a reply of P-anna, which .*s2 has no more; .*harness people withdraw P-anna"):
        merged(shards, out)
    assert "P-anna is removed, with 1 recording" in withdraw_everywhere(out, "P-anna")
    assert names_of(out) == {"P-cleo"}
    merged(shards, out)
    assert names_of(out) == {"P-cleo"}
    with pytest.raises(UserError, match="nobody of that name"):
        withdraw_everywhere(out, "P-anna")


def test_another_take_in_the_same_place_comes_with_its_own_sound(shards: list[Path], tmp_path: Path) -> None:
    seat(shards[1], 1)
    sit(shards[1], 0, "P-anna")
    out = tmp_path / "merged"
    merged(shards, out)
    into, there = RunStore.open(out), RunStore.open(shards[1])
    (session,) = (s for s in there.sessions() if s.key.agent == "people")
    machine = present(into.session(session.id).machine)
    sit(shards[1], 0, "P-ben")
    into.adopt(there, session, machine)
    assert (into.session(session.id).folder / "recording.json").read_text() == '"P-ben"'
    assert present(into.sitting(session)).person == "P-ben"
    into.close()
    there.close()


def test_people_of_any_shard_are_in_the_merged_run_and_no_session_of_the_plan(shards: list[Path], tmp_path: Path) -> None:
    seat(shards[1], 3)
    seat(shards[2], 1)
    out = tmp_path / "merged"
    whole = merged(shards, out)
    assert (whole.sessions, whole.left) == (32, 0)
    selection = Selection(RunStore.open(out))
    assert selection.manifest.seated == {"people"}
    assert len(selection.sessions) - len(selection.of_the_plan) == 4
    assert selection.replicates == (0, 1, 2)
    assert "unfinished" not in {caution.code for caution in summarise(selection.store).cautions}
    selection.store.close()
    again = merged(shards, out)
    assert (again.sessions, again.added, again.left) == (32, 0, 0)
    seat(out, 2, after=3)
    assert merged(shards, out, allow_missing=True).left == 0
