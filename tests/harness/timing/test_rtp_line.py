"""Lines with a media clock: what a listener hears of packets that come unevenly, and what is said of the line."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.made_recordings import AGENT_HZ, make_recording, onset_ms, pcm, silence, voice
from harness.agents.connection import LineReport, MediaStamp
from harness.recording.playout import heard
from harness.recording.record import Arrival, Recording
from harness.timing import measure
from harness.timing.rtp_line import NetworkShare, line_quality, line_refused, network_share
from tests.present import present

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


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -5.0, 1e300])
def test_what_can_be_no_way_there_and_back_is_refused_by_name(wrong: float) -> None:
    recording, ttfa_ms = over_rtp()
    reports = (LineReport(recording.caller.t0_ns, wrong, -1, wrong),)
    timing = measure(replace(recording, line_reports=reports))
    assert timing.ttfa_ms == pytest.approx(ttfa_ms, abs=2)
    assert timing.refused == ("a way there and back of no possible length",)
    assert timing.line is not None
    assert (timing.line.round_trip_ms, timing.line.sent_lost, timing.line.sent_jitter_ms) == (None, None, None)
    assert timing.waterfall is not None
    assert timing.waterfall.network_uncertainty_ms is None
    good = tuple(LineReport(recording.caller.t0_ns, ms, 2, 1.5) for ms in (40.0, wrong, 44.0))
    assert (among := line_quality(replace(recording, line_reports=good))) is not None
    assert (among.round_trip_ms, among.sent_lost, among.sent_jitter_ms) == (42.0, 2, 1.5)


def _with_media(recording: Recording, move: Callable[[int, int], int]) -> Recording:
    """The same packets at other places of the media clock, by their number and place."""
    moved = tuple(
        replace(a, media=replace(a.media, at_ns=move(k, a.media.at_ns))) for k, a in enumerate(recording.arrivals) if a.media
    )
    return replace(recording, arrivals=moved)


@pytest.mark.parametrize(
    "move",
    [
        lambda _, at: -at,
        lambda k, at: at - 40 * MS * (k % 7 == 3),
        lambda _, at: at * 1_000_000,
        lambda k, at: at + 9_000 * MS * k,
        lambda k, at: 2**62 if k == 60 else at,
    ],
    ids=["backwards", "back now and then", "a million times as fast", "ever farther ahead", "one that leaps"],
)
def test_a_media_clock_that_goes_back_or_leaps_is_named_and_gives_no_figure(move: Callable[[int, int], int]) -> None:
    recording, ttfa_ms = over_rtp()
    timing = measure(_with_media(recording, move))
    assert timing.refused == ("the agent's media clock went back, or leapt: no jitter, no skew",)
    assert timing.line is not None
    assert (timing.line.jitter_ms, timing.line.skew_ppm) == (None, None)
    assert timing.ttfa_ms == pytest.approx(ttfa_ms, abs=25)


def test_a_line_that_stood_still_for_seconds_and_caught_up_has_not_leapt() -> None:
    recording, _ = over_rtp(late_ms=[0.0] * 20 + [max(0.0, 8_000 - 20.0 * k) for k in range(120)])
    assert line_refused(recording) == ()


def test_jitter_is_that_of_rfc_3550() -> None:
    """The packet before the last comes 16 ms late: 1 ms of jitter, of which 15/16 are left when the way back adds its own."""
    made, _ = over_rtp()
    behind = {len(made.arrivals) - 2: 16 * MS}
    late = tuple(replace(a, arrival_ns=a.arrival_ns + behind.get(k, 0)) for k, a in enumerate(made.arrivals))
    jitter_ms = present(line_quality(replace(made, arrivals=late))).jitter_ms
    still_ms = present(line_quality(made)).jitter_ms
    assert still_ms == pytest.approx(0, abs=1e-6)
    assert jitter_ms == pytest.approx(1 + 15 / 16, abs=1e-6)


def test_a_packet_that_came_later_than_its_neighbours_was_the_network_s_by_so_much() -> None:
    recording, _ = over_rtp(late_ms=[0.0] * 200 + [30.0], trips_ms=(40.0,))
    late, before = recording.arrivals[200].arrival_ns, recording.arrivals[199].arrival_ns
    assert network_share(recording, late) == NetworkShare(20 * MS, 50 * MS, 20 * MS)
    assert network_share(recording, before) == NetworkShare(20 * MS, 20 * MS, 20 * MS)
    assert network_share(recording, late + 1) == NetworkShare(20 * MS, 20 * MS, 20 * MS), "no packet came then"
    shared = replace(
        recording,
        arrivals=(replace(recording.arrivals[0], arrival_ns=recording.caller.t0_ns - 50 * MS), *recording.arrivals[1:]),
    )
    assert network_share(shared, before) == NetworkShare(20 * MS, 20 * MS, 20 * MS), (
        "a quick packet seconds ago is no neighbour"
    )
