"""`harness measure`: recordings become a run, with its figures, page, CSV and gate; and it is stopped and continued."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
import soundfile

from harness.audio.pcm import Int16
from harness.figures.summarise import summarise
from harness.store.run_store import RunStore
from tests.harness.calls.made_calls import AGENT_HZ, CALLER_HZ, RATE_HZ, pcm, short_call, side, write_call
from tests.harness.conftest import Finished, begun_by, harness

Here = Callable[..., Finished]
CALLS = 14
LIMITS = """
schema: 1
limits:
  - {{figure: ttfa_ms.p50, at_most: {bound}, mode: recorded}}
"""
RESUME = ("measure", "calls", "--caller", "left", "--agent", "bot", "--out", "r", "--resume", "--json")


def folder_of(place: Path, calls: int) -> Path:
    for seed in range(calls):
        write_call(place / "calls" / f"call-{seed:03}.flac", short_call(seed, 0.4 + 0.05 * (seed % 20)))
    return place / "calls"


def written(run: Path) -> dict[str, int]:
    """Session → when its recording was written."""
    return {path.parent.name: path.stat().st_mtime_ns for path in run.glob("sessions/*/recording.json")}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Finished]:
    """A folder of calls and the run `r` that was measured of them, as the tests of this file read it."""
    place = tmp_path_factory.mktemp("week")
    folder_of(place, CALLS)
    (place / "limits.yaml").write_text(LIMITS.format(bound=1_500))
    how = ("measure", "calls", "--caller", "left", "--agent", "bot", "--out", "r")
    return place, harness(place, *how, "--csv", "t.csv", "--budgets", "limits.yaml", "--json")


@pytest.fixture
def week(measured: tuple[Path, Finished], tmp_path: Path) -> Path:
    """The same for a test that changes it."""
    for name in ("calls", "r"):
        shutil.copytree(measured[0] / name, tmp_path / name)
    return tmp_path


def test_a_folder_becomes_a_run_with_its_figures_page_and_csv(measured: tuple[Path, Finished]) -> None:
    place, done = measured
    assert done.code == 0, done.err
    cell = done.json["agents"]["bot"]
    assert (cell["turns"], cell["kind"]) == (3 * CALLS, "calls")
    assert cell["ttfa_ms"]["p50"] == pytest.approx(725, abs=35)
    assert cell["ttfa_ms"]["p50_interval"] is not None
    assert sum(cell["discarded"].values()) == CALLS
    assert cell["dead_air_ms"]["mean_interval"] is not None
    assert {"recorded_calls", "open_turns", "timing_alone"} <= {c["code"] for c in done.json["cautions"]}
    assert not {"not_calibrated", "unfinished", "discarded"} & {c["code"] for c in done.json["cautions"]}
    with (place / "t.csv").open(encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    assert len(rows) == 3 * CALLS
    assert {row["call"] for row in rows} == {f"call-{seed:03}.flac" for seed in range(CALLS)}
    assert (place / "r/report.html").stat().st_size > 100_000
    assert len(list((place / "r/report-audio").glob("*.flac"))) == CALLS


def test_the_gate_decides_on_it(measured: tuple[Path, Finished], harness_here: Here, tmp_path: Path) -> None:
    place, done = measured
    assert (done.code, done.json["check"]["verdict"]) == (0, "pass")
    (tmp_path / "limits.yaml").write_text(LIMITS.format(bound=200))
    assert harness_here("check", place / "r", "--budgets", "limits.yaml").code == 1


def test_other_steps_read_it_as_any_run(week: Path, harness_here: Here) -> None:
    (week / "runs").mkdir()
    (week / "r").rename(week / "runs/r")
    again = harness_here("remeasure", "runs/r", "--json")
    assert (again.code, again.json["changed"]) == (0, [])
    assert harness_here("report", "runs", "--index").code == 0
    refused = harness_here("run", "--resume", "--out", "runs/r")
    assert refused.code == 2
    assert "harness measure calls --resume" in refused.err
    judge = ("judge", "run", "runs/r", "--judge", "embedded")
    for asks in (judge, (*judge, "--dry-run"), ("listen", "runs/r")):
        refused = harness_here(*asks)
        assert refused.code == 2
        (line,) = [line for line in refused.err.splitlines() if line.startswith("harness: ")]
        assert "timed, not judged" in line


def test_a_call_that_cannot_be_measured_costs_no_other(harness_here: Here, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, 2)
    soundfile.write(folder / "mono.wav", short_call().caller, RATE_HZ)
    (folder / "broken.mp3").write_bytes(b"no sound")
    call = short_call()
    write_call(folder / "noisy.wav", replace(call, caller=pcm(side([(1.0, 2.4)], 11.5, CALLER_HZ, noise_db=-28))))
    done = harness_here("measure", "calls", "--caller", "left", "--out", "r")
    assert done.code == 3
    store = RunStore.open(tmp_path / "r")
    failures = {f.kind: f.detail for f in summarise(store).failures}
    assert set(failures) == {"one_channel", "unreadable", "no_turn"}
    for name, kind in (("mono.wav", "one_channel"), ("broken.mp3", "unreadable"), ("noisy.wav", "no_turn")):
        assert failures[kind].startswith(f"{name}: ")
        assert failures[kind] in done.out + done.err
    assert summarise(store).agents["agent"]["turns"] == 6


@pytest.mark.parametrize(
    ("name", "made", "says"),
    [
        ("mono.wav", lambda call: call.caller, "it has one channel"),
        ("alike.wav", lambda call: np.stack([call.caller, call.agent], axis=1), "which channel is the caller's"),
        ("silent.wav", lambda call: np.stack([call.caller * 0, call.agent], axis=1), "nothing is spoken in it"),
    ],
)
def test_one_call_that_cannot_be_measured_is_one_sentence(
    harness_here: Here,
    tmp_path: Path,
    name: str,
    made: Callable[..., Int16],
    says: str,
) -> None:
    soundfile.write(tmp_path / name, made(short_call()), RATE_HZ)
    side_ = () if "alike" in name else ("--caller", "left")
    done = harness_here("measure", name, "--out", "r", *side_)
    assert done.code == 2
    (line,) = [line for line in done.err.splitlines() if line.startswith("harness: ")]
    assert line.startswith(f"harness: {name}: ")
    assert says in line
    assert not (tmp_path / "r").exists()


def test_swapped_sides_are_named(harness_here: Here, tmp_path: Path) -> None:
    for seed in range(2):
        one = side([(1.0, 2.4), (5.0, 6.0)], 9.0, CALLER_HZ, noise_db=-62, seed=seed)
        other = side([(3.0, 4.2), (6.7, 7.9)], 9.0, AGENT_HZ, seed=seed + 5)
        (tmp_path / "calls").mkdir(exist_ok=True)
        soundfile.write(tmp_path / f"calls/{seed}.wav", np.stack([pcm(one), pcm(other)], axis=1), RATE_HZ)
    done = harness_here("measure", "calls", "--caller", "right", "--out", "r", "--json")
    (caution,) = [c for c in done.json["cautions"] if c["code"] == "sides_swapped"]
    assert "In 2 of 2 calls" in caution["text"]
    right = harness_here("measure", "calls", "--out", "right", "--json")
    assert not [c for c in right.json["cautions"] if c["code"] == "sides_swapped"]


def test_where_nobody_answers_the_named_caller_the_sides_are_doubted(harness_here: Here, tmp_path: Path) -> None:
    one, other = side([(1.0, 2.4)], 5.0, CALLER_HZ), side([(3.0, 4.4)], 5.0, AGENT_HZ)
    soundfile.write(tmp_path / "call.wav", np.stack([pcm(one), pcm(other)], axis=1), RATE_HZ)
    done = harness_here("measure", "call.wav", "--caller", "right", "--out", "r", "--json")
    (caution,) = [c for c in done.json["cautions"] if c["code"] == "sides_swapped"]
    assert "nobody answers" in caution["text"]


def test_a_table_gives_pairs_of_files(harness_here: Here, tmp_path: Path) -> None:
    call = short_call()
    soundfile.write(tmp_path / "in.wav", call.caller, RATE_HZ)
    soundfile.write(tmp_path / "out.wav", call.agent, RATE_HZ)
    (tmp_path / "calls.csv").write_text("caller_file,agent_file\nin.wav,out.wav\n")
    done = harness_here("measure", ".", "--out", "r", "--json")
    assert (done.code, done.json["agents"]["agent"]["turns"]) == (0, 3)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("nowhere",), "is no file or folder"),
        ((".",), "has no recording in it"),
        ((".", "--resume"), "name the folder with --out"),
        ((".", "--agent", "a/b"), "is no agent's name"),
        ((".", "--agent", "people"), "is no agent's name"),
        ((".", "--csv", "no/such/t.csv"), "--csv"),
    ],
)
def test_wrong_input_is_one_sentence(harness_here: Here, tmp_path: Path, options: tuple[str, ...], says: str) -> None:
    done = harness_here("measure", *options)
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert says in line
    assert not (tmp_path / "runs").exists()


def test_what_is_measured_is_not_measured_again_wherever_it_moves(week: Path, harness_here: Here) -> None:
    before = written(week / "r")
    write_call(week / "calls/new.wav", short_call(CALLS + 1))
    (week / "calls/week 2").mkdir()
    (week / "calls/call-000.flac").rename(week / "calls/week 2/first.flac")
    write_call(week / "calls/call-001.flac", short_call(CALLS + 2))
    done = harness_here(*RESUME)
    assert f"{CALLS} measured call(s) found, 2 to measure" in done.err
    assert "1 recording named as one of the run, with another sound" in done.err
    assert done.json["agents"]["bot"]["turns"] == 3 * (CALLS + 2)
    assert before.items() <= written(week / "r").items()
    for other in (("--agent", "other"), ("--caller", "right")):
        refused = harness_here(*RESUME, *other)
        assert refused.code == 2
        assert "choose another --out" in refused.out


def test_calls_that_two_versions_would_measure_are_not_pooled(week: Path, harness_here: Here) -> None:
    begun_by(week / "r", "0.0.9")
    assert harness_here(*RESUME).code == 0
    write_call(week / "calls/new.wav", short_call(CALLS + 1))
    done = harness_here(*RESUME)
    assert done.code == 2
    assert "0.0.9" in done.out


def test_a_run_that_resume_began_leaves_nothing_behind_where_nothing_can_be_measured(
    harness_here: Here, tmp_path: Path
) -> None:
    soundfile.write(os.fsencode(tmp_path) + b"/t\xe9l.wav", short_call().caller, RATE_HZ)
    done = harness_here("measure", ".", "--caller", "left", "--out", "r", "--resume")
    assert done.code == 2
    assert "t·l.wav: it has one channel" in done.err.splitlines()[-1]
    assert not (tmp_path / "r").exists()


def start(place: Path) -> "subprocess.Popen[bytes]":
    line = [sys.executable, "-m", "harness", "measure", "calls", "--caller", "left", "--out", "r", "--resume", "--json"]
    with (place / "out.json").open("wb") as out:
        return subprocess.Popen(line, cwd=place, stdout=out, stderr=subprocess.DEVNULL, env=os.environ)


def test_a_kill_in_the_middle_loses_nothing_finished(tmp_path: Path) -> None:
    folder_of(tmp_path, 4)
    running = start(tmp_path)
    while len(list((tmp_path / "r/sessions").glob("call-*"))) < 1:
        assert running.poll() is None
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.wait()
    finished = RunStore.open(tmp_path / "r", to_resume=True).finished_ids()
    assert len(finished) < 4
    # A folder without its row is not finished: the kill may fall between the two, and the call is then measured again.
    kept = {session: at for session, at in written(tmp_path / "r").items() if session in finished}
    assert kept.keys() == finished
    assert start(tmp_path).wait() == 0
    store = RunStore.open(tmp_path / "r")
    assert len(store.finished_ids()) == 4
    assert all(session.timing is not None for session in store.sessions())
    assert not list((tmp_path / "r/sessions").glob(".partial*"))
    assert kept.items() <= written(tmp_path / "r").items()
    whole = json.loads((tmp_path / "out.json").read_text())
    assert whole["agents"]["agent"]["turns"] == 12


def peak_mib(place: Path, calls: int) -> float:
    place.mkdir()
    folder_of(place, calls)
    running, most = start(place), 0.0
    process = psutil.Process(running.pid)
    while running.poll() is None:
        try:
            most = max(most, process.memory_info().rss / 2**20)
        except psutil.Error:
            break
        time.sleep(0.02)
    assert running.wait() == 0
    return most


@pytest.mark.long
def test_memory_does_not_grow_with_the_number_of_calls(tmp_path: Path) -> None:
    few, many = peak_mib(tmp_path / "few", 40), peak_mib(tmp_path / "many", 160)
    assert many < 1.3 * few
