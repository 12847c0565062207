"""Lines with a media clock: what a listener hears of packets that come unevenly, and what is said of the line."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.agents.connection import LineReport, MediaStamp
from harness.calibrate.synthetic import AGENT_HZ, make_recording, onset_ms, pcm, silence, voice
from harness.recording.playout import heard
from harness.recording.record import Arrival, Recording
from harness.timing import measure
from harness.timing.line import line_quality

PACKET = AGENT_HZ // 50
MS = 1_000_000
REPLY_S = 0.8


def over_rtp(
    late_ms: Sequence[float] = (),
    lost: Sequence[int] = (),
    skew_ppm: float = 0.0,
    trips_ms: Sequence[float] = (),
    after_s: float = 2.0,
) -> tuple[Recording, float]:
    """A call whose agent sends without pause, and replies after a while; and the TTFA of a line that delays nothing.

    `late_ms[k]` is how much later than the quickest packet number k came.
    """
    made = make_recording(total_s=8.0)
    recording = made.recording
    begun_ns = made.spoken_end_ns + round(REPLY_S * 1e9)
    lead = round((begun_ns - recording.caller.t0_ns) * AGENT_HZ / 1e9) // PACKET * PACKET
    sound = pcm(np.concatenate([silence(lead / AGENT_HZ), voice(1.5), silence(after_s)]))
    sound = sound[: len(sound) // PACKET * PACKET].reshape(-1, PACKET)
    arrivals: list[Arrival] = []
    kept: list[NDArray[np.int16]] = []
    missing = 0
    for k, part in enumerate(sound):
        if k in lost:
            missing += 1
            continue
        media_ns = round(k * 20 * MS * (1 + skew_ppm / 1e6))
        late = late_ms[k] if k < len(late_ms) else 0.0
        at_ns = recording.caller.t0_ns + k * 20 * MS + round(late * MS)
        arrivals.append(Arrival(at_ns, len(kept) * PACKET, PACKET, MediaStamp(media_ns, missing)))
        kept.append(part)
        missing = 0
    reports = tuple(LineReport(recording.caller.t0_ns, trip) for trip in trips_ms)
    rtp = replace(recording, agent_pcm=np.concatenate(kept), arrivals=tuple(arrivals), line_reports=reports)
    spoken_end_ms = (made.spoken_end_ns - recording.caller.t0_ns) / MS
    return rtp, lead / AGENT_HZ * 1000 - spoken_end_ms + onset_ms(voice(1.5))


def test_a_packet_that_was_late_long_ago_shifts_nothing() -> None:
    late = [0.0] * 60 + [180.0] + [160.0, 140.0, 120.0, 100.0]
    recording, true_ms = over_rtp(late)
    timing = measure(recording)
    assert timing.ttfa_ms == pytest.approx(true_ms, abs=2.5)
    assert timing.underruns == 0


def test_a_late_onset_is_heard_late_and_what_follows_keeps_its_distance() -> None:
    recording, true_ms = over_rtp()
    onset = next(
        k for k, a in enumerate(recording.arrivals) if np.abs(recording.agent_pcm[a.offset_samples :][:PACKET]).max() > 40
    )
    late = [0.0] * onset + [60.0]
    delayed, _ = over_rtp(late)
    timing = measure(delayed)
    assert timing.ttfa_ms == pytest.approx(true_ms + 60, abs=2.5)
    assert timing.underruns == 0
    assert heard(delayed).underruns == ()


def test_jitter_of_the_line_is_in_the_figures_and_not_piled_up_in_ttfa() -> None:
    jitter = np.random.default_rng(4).uniform(0, 12, 600)
    recording, true_ms = over_rtp(list(jitter))
    timing = measure(recording)
    assert timing.ttfa_ms is not None
    # The onset's own packet may be late by as much; never by the sum of what others were.
    assert -2.5 <= timing.ttfa_ms - true_ms <= 12 + 2.5
    assert timing.line is not None
    assert timing.line.jitter_ms is not None
    assert 2 < timing.line.jitter_ms < 6


def test_loss_is_silence_and_is_counted() -> None:
    recording, true_ms = over_rtp(lost=[20, 21, 40])
    timing = measure(recording)
    assert timing.ttfa_ms == pytest.approx(true_ms, abs=2.5)
    assert timing.line is not None
    assert timing.line.lost == 3
    assert timing.line.lost_share == pytest.approx(3 / (timing.line.packets + 3))


def test_the_skew_of_the_agent_s_clock_is_found_under_jitter() -> None:
    jitter = np.abs(np.random.default_rng(5).normal(0, 3, 600))
    line = line_quality(over_rtp(list(jitter), skew_ppm=400, after_s=9.0)[0])
    assert line is not None
    assert line.skew_ppm == pytest.approx(400, abs=120)
    assert line_quality(make_recording().recording) is None


def test_the_network_has_its_share_of_the_waterfall_and_its_uncertainty() -> None:
    recording, _ = over_rtp(trips_ms=(38.0, 40.0, 44.0))
    timing = measure(recording)
    assert timing.waterfall is not None
    stages = {stage.name: stage.duration_ms for stage in timing.waterfall.stages}
    assert stages["network"] == pytest.approx(40, abs=0.5)
    assert timing.waterfall.network_uncertainty_ms == pytest.approx(20)
    assert sum(stages.values()) == pytest.approx(timing.ttfa_ms, abs=1e-6)
    assert timing.line is not None
    assert timing.line.round_trip_ms == 40
    without, _ = over_rtp()
    assert (plain := measure(without).waterfall) is not None
    assert plain.network_uncertainty_ms is None
    assert "network" not in {stage.name for stage in plain.stages}
