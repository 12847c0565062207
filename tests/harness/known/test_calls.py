"""The recordings of known calls: what was laid out is what their truth says, and `harness measure` finds it."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile

from harness.calls.as_run import CallsAsked, measure_calls
from harness.calls.recordings import find_calls
from harness.known.behaviours import BEHAVIOURS
from harness.known.calls import CONDITIONS, MS, RATE_HZ, ROWS, known_calls, planned, write_calls
from harness.known.formats import read_theirs
from harness.known.score import ALL, Errors, score
from harness.known.truth import read_truth
from harness.progress import RunProgress

CLEAN = [(row, "clean") for row in ROWS if BEHAVIOURS.get(row) is None or BEHAVIOURS[row].bed == "none"]


def test_each_behaviour_meets_each_condition_in_five_seeds() -> None:
    every = [pair for seed in range(1, 6) for pair in planned(seed)]
    assert {len(planned(seed)) for seed in range(1, 6)} == {60}
    quiet = {(row, condition) for row in ROWS for condition in CONDITIONS if row == "breath" and "noisy" in condition}
    assert set(every) == {(row, condition) for row in ROWS for condition in CONDITIONS} - quiet
    assert all(len(set(planned(seed))) == 60 for seed in range(1, 6))


def test_sound_begins_and_ends_at_the_sample_of_the_truth() -> None:
    for call in known_calls(3, CLEAN):
        caller, agent = (np.flatnonzero(side) for side in call.samples.T)
        for truth in call.truths:
            end = round(truth.spoken_end_s * RATE_HZ)
            assert end - MS < caller[caller < end][-1] < end
            silent_until = caller[caller >= end]
            assert not len(silent_until) or silent_until[0] > end + MS
            for onset_ms in (truth.sound_ms, truth.cut_ms):
                if onset_ms is not None:
                    onset = end + round(onset_ms * MS)
                    before = agent[agent < onset]
                    assert 0 <= agent[agent >= onset][0] - onset < MS, truth
                    assert not len(before) or onset - before[-1] > 100 * MS, truth


def test_an_agent_that_yields_is_silent_so_long_after_its_caller_begins() -> None:
    for call in known_calls(2, [("yields-60", "clean"), ("yields-400", "clean")]):
        caller, agent = (np.flatnonzero(side) for side in call.samples.T)
        for before, truth in zip(call.truths, call.truths[1:], strict=False):
            began = caller[caller >= round(before.spoken_end_s * RATE_HZ)][0]
            last = agent[agent < round(truth.spoken_end_s * RATE_HZ)][-1]
            assert truth.yield_ms is not None
            assert abs((last + 1 - began) / MS - truth.yield_ms) < 1.0


def test_the_same_seed_gives_the_same_samples_and_another_seed_others() -> None:
    plan = [("earcon", "telephone-noisy"), ("breath", "cross-talk")]
    for one, again, other in zip(known_calls(1, plan), known_calls(1, plan), known_calls(2, plan), strict=True):
        assert one.truths == again.truths
        assert np.array_equal(one.samples, again.samples)
        assert one.truths[0].spoken_end_s != other.truths[0].spoken_end_s


SHORT = [
    ("fixed-300", "clean"), ("click", "clean"), ("cut-pause", "clean"), ("yields-60", "clean"), ("late-greeting", "clean"),
    ("underrun", "telephone"), ("never-yields", "telephone"), ("fixed-1200", "telephone-noisy"), ("cut-over", "noisy"),
    ("yields-400", "telephone-noisy"), ("echo", "telephone-noisy"), ("no-reply", "cross-talk"),
]  # fmt: skip


def scored(folder: Path, seed: int, plan: Sequence[tuple[str, str]] | None = None) -> dict[tuple[str, str, str], Errors]:
    """Figure, behaviour and condition → our errors on recordings, as `harness measure` and `known score` find them."""
    write_calls(folder / "calls", seed, plan=plan)
    asked = CallsAsked(find_calls(folder / "calls"), folder / "calls", "agent", folder / "run")
    measure_calls(asked, RunProgress(quiet=True)).close()
    found = score(read_truth(folder / "calls" / "truth.csv"), read_theirs(folder / "run"))
    assert not found.unreported
    assert not found.unmatched
    return {(row.figure, row.behaviour, row.condition): row for row in found.rows}


def most_ms(row: Errors, share: float) -> float:
    return float(np.quantile(np.abs(row.errors_ms), share))


def test_ours_are_right_on_recordings(tmp_path: Path) -> None:
    rows = scored(tmp_path, 8, SHORT)
    for figure in ("sound", "speech", "answer", "yield", "cut"):
        assert (rows[figure, ALL, ALL].missing, rows[figure, ALL, ALL].invented) == (0, 0), figure
    assert most_ms(rows["speech", ALL, "clean"], 1) <= 5
    assert most_ms(rows["speech", ALL, "telephone-noisy"], 1) <= 25
    assert len(rows["yield", ALL, ALL].errors_ms) == 4
    assert len(rows["cut", ALL, ALL].errors_ms) == 4


@pytest.mark.long
@pytest.mark.parametrize("seed", [4, 5])
def test_ours_are_right_on_all_recordings(seed: int, tmp_path: Path) -> None:
    """Of seeds on which nothing was chosen."""
    rows = scored(tmp_path, seed)
    for figure in ("speech", "yield", "cut"):
        assert (rows[figure, ALL, ALL].missing, rows[figure, ALL, ALL].invented) == (0, 0), figure
    assert most_ms(rows["speech", ALL, "clean"], 0.95) <= 5
    assert most_ms(rows["speech", ALL, "telephone-noisy"], 0.95) <= 25


@pytest.mark.long
def test_sixty_calls_are_written_in_little_space(tmp_path: Path) -> None:
    heard: list[str] = []
    assert write_calls(tmp_path, 4, heard.append) == len(heard) == 60
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 30e6
    with (tmp_path / "calls.csv").open(newline="") as table:
        assert {row["file"]: row["caller"] for row in csv.DictReader(table)} == {f"{name}.flac": "left" for name in heard}
    assert {turn.call for turn in read_truth(tmp_path / "truth.csv")} == set(heard)
    whole = soundfile.info(tmp_path / f"{heard[0]}.flac")
    assert (whole.samplerate, whole.channels) == (RATE_HZ, 2)
