"""A calibration finds the error of this machine, and is kept for the runs that quote it."""

import platform
from pathlib import Path

import numpy as np
import pytest
import soundfile

from harness.calibrate import Calibration, calibrate, keep, newest, result
from harness.calibrate.program import AGENT_HZ, EDGE_S, draw, render
from harness.calibrate.result import METHOD, LoopLag, PacingError, TtfaError, machine_id
from harness.calibrate.run import sound_starts_s
from harness.figures.circumstances import onset_error


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEART_HARNESS_CACHE", str(tmp_path))


async def test_known_delays_are_measured_and_kept() -> None:
    seen: list[tuple[int, int]] = []
    result = await calibrate(4, at_once=4, seed=11, progress=lambda done, of: seen.append((done, of)))
    assert result.trials == 4
    assert sum(result.discarded.values()) <= 1
    assert result.ttfa_error_ms.p50 < 20
    assert result.arrival_error_ms.p99 >= result.pacing_error_ms.p99 > 0
    assert result.independent is not None
    assert result.independent.trials >= 1
    assert seen[-1] == (4, 4)
    assert newest() == result
    quoted = result.quoted()
    assert set(quoted) >= {"ttfa_p95_error_ms", "pacing_p99_error_ms", "loop_lag_p99_ms"}
    assert quoted["ttfa_p95_error_ms"] is None
    assert (found := onset_error(quoted)) is not None
    assert f"(all of {result.measured} trials, half of them within" in found.words


def calibration(created: str, trials: int) -> Calibration:
    pacing = PacingError(p99=0.3, p999=1, max=2)
    return Calibration(
        created=created, machine=machine_id(), method=METHOD, priority="ordinary", trials=trials, discarded={},
        ttfa_error_ms=TtfaError(bias=0.1, p50=0.2, p95=1.41, p99=2, max=3), pacing_error_ms=pacing, arrival_error_ms=pacing,
        loop_lag_ms=LoopLag(p99=1, max=2), independent=None,
    )  # fmt: skip


def test_a_short_calibration_never_hides_a_long_one() -> None:
    keep(first_short := calibration("2030-01-01T00:00:00+00:00", 16))
    assert newest() == first_short
    keep(long := calibration("2030-01-02T00:00:00+00:00", 64))
    assert newest() == long
    keep(calibration("2030-01-03T00:00:00+00:00", 16))
    assert newest() == long
    keep(later := calibration("2030-01-04T00:00:00+00:00", 64))
    assert newest() == later


def test_what_is_quoted_says_how_many_trials_it_rests_on_and_is_rounded_up() -> None:
    words = [onset_error(calibration("2030-01-01T00:00:00+00:00", trials).quoted()) for trials in (64, 16)]
    assert [found.words for found in words if found] == [
        "1.5 ms (95 % of 64 trials)",
        "3.0 ms (all of 16 trials, half of them within 0.2 ms)",
    ]


def test_without_a_calibration_there_is_none_to_quote() -> None:
    assert newest() is None


def test_programs_are_repeatable_and_their_onset_is_where_the_voice_begins() -> None:
    program = draw(np.random.default_rng(5))
    samples, onset_ms = render(program)
    again, _ = render(draw(np.random.default_rng(5)))
    assert np.array_equal(samples, again)
    assert program.lead_s * 1000 - 0.1 <= onset_ms <= (program.lead_s + EDGE_S) * 1000 + 0.1
    assert len(samples) > AGENT_HZ * program.lead_s


def test_the_independent_tool_finds_an_edge_to_the_sample(tmp_path: Path) -> None:
    sound = np.concatenate([np.zeros(4_800), np.full(4_800, 0.25), np.zeros(4_800), np.full(4_800, 0.25)])
    soundfile.write(tmp_path / "x.flac", np.stack([np.zeros(len(sound)), sound], axis=1), 48_000)
    assert sound_starts_s(tmp_path / "x.flac", -40) == pytest.approx([0.1, 0.3], abs=0.0005)


def test_a_pod_that_takes_the_place_of_a_lost_one_is_the_same_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its host name is new; its index of the Job, and the kind of its node, are what a shard goes on by."""
    monkeypatch.setattr(platform, "node", lambda: "heart-3-x7k2p")
    elsewhere = machine_id()
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "3")
    first = machine_id()
    monkeypatch.setattr(platform, "node", lambda: "heart-3-m4w9t")
    assert machine_id() == first != elsewhere
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "4")
    assert machine_id() != first, "another shard of the Job is another machine"
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "3")
    monkeypatch.setattr(result, "machine_facts", lambda: {"processor": "another", "cores": 128})
    assert machine_id() != first, "so is a node of another kind"
