"""The analyser's error over the truth suite, its false onsets, and its speed: `python -m benchmarks.timing [trials]`."""

import sys
import time
from collections.abc import Callable
from itertools import groupby

import numpy as np
import soxr

from benchmarks.made_recordings import AGENT_HZ, CALLER_HZ, Said, make_recording, silence, voice
from benchmarks.made_sounds import music
from benchmarks.truth_suite import figures, run_suite
from harness.calibrate.voice import coloured_noise
from harness.statistics.arrays import Floats
from harness.timing import measure
from harness.timing.figures import TurnTiming

BARS = {"clean": 2.0, "degraded": 5.0, "hard": 20.0}


CALLS = 20
"""Of 30 s each: ten minutes a kind."""


def false_onsets() -> None:
    """Print how often ten minutes of what is no voice was taken for an answer."""
    kinds: dict[str, Callable[[np.random.Generator], Floats]] = {
        "white comfort noise, −50 dB": lambda rng: coloured_noise(30 * AGENT_HZ, -50, rng),
        "pink comfort noise, −45 dB": lambda rng: coloured_noise(30 * AGENT_HZ, -45, rng, "pink"),
        "music on hold, −40 dB": lambda rng: music(30, -40, AGENT_HZ, rng),
    }
    for name, make in kinds.items():
        timings = [
            measure(make_recording(Said(0.2, make(np.random.default_rng(k))), total_s=34).recording) for k in range(CALLS)
        ]
        print(f"10 min of {name}: {sum(not t.no_reply for t in timings)} false onsets")
    echoes = [_echoed(np.random.default_rng(k)) for k in range(CALLS)]
    print(f"10 min of the caller's echo at −30 dB: {sum(not t.no_reply or t.cut_in for t in echoes)} false onsets")


def _echoed(rng: np.random.Generator) -> TurnTiming:
    """A 28 s turn that comes back filtered, 20–200 ms later, 30 dB down."""
    caller = make_recording(speech_s=28.0, total_s=34.0).recording.caller
    said = caller.dry[caller.speech_start_sample : caller.speech_end_sample] / 32768
    through = np.array([1.0, *rng.uniform(-0.3, 0.3, 4)])
    echo = np.convolve(soxr.resample(said, CALLER_HZ, AGENT_HZ), through / np.abs(through).sum()) * 10 ** (-30 / 20)
    heard_at_s = float(rng.uniform(0.02, 0.2)) - 28.0
    return measure(make_recording(Said(heard_at_s, echo), speech_s=28.0, total_s=34.0).recording)


def main() -> None:
    """Print one line for each condition, one for each group, the false onsets, and the time a 30 s call takes."""
    false_onsets()
    trials = list(run_suite(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
    print(f"{'condition':32} {'bias':>7} {'p50':>6} {'p95':>6} {'max':>7}  discarded")
    rows = [(c.name, list(group)) for c, group in groupby(trials, key=lambda t: t.condition)]
    for group, bar in BARS.items():
        rows.append((f"{group} (bar {bar:g} ms)", [t for t in trials if t.condition.group == group]))
    rows.append(("all", trials))
    for name, some in rows:
        f = figures(some)
        print(f"{name:32} {f.bias_ms:7.2f} {f.p50_ms:6.2f} {f.p95_ms:6.2f} {f.max_ms:7.2f}  {f.discarded:.1%}")
    reply = np.concatenate([part for k in range(4) for part in (voice(5.0, k), silence(0.6))])
    recording = make_recording(Said(0.5, reply), speech_s=6.0, total_s=30.0).recording
    measure(recording)
    took = []
    for _ in range(5):
        begun = time.process_time()
        measure(recording)
        took.append(time.process_time() - begun)
    print(f"a 30 s call with 20 s of reply: {min(took):.3f} s of processor time")


if __name__ == "__main__":
    main()
