"""Rendering many turns: the same samples wherever they are made, and recordings as equals."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from harness import models
from harness.audio.prosody import Speaker
from harness.audio.speech import SPEECH_LEVEL_DBFS, PlainDirections, render_turn
from harness.audio.speech_edges import level_db
from harness.audio.speech_recording import RecordingError, load_turn
from harness.audio.speech_text import SpeechTextError
from harness.audio.synthesis import PiperSynthesiser
from harness.voices.rendering import RenderJob, render_missing


@pytest.mark.models
@pytest.mark.long
def test_processes_render_the_same_samples_as_one_thread(tmp_path: Path) -> None:
    model = models.resolve("piper-joe")
    texts = [f"{word} is fine." for word in ("Monday", "Tuesday", "Friday", "Sunday", "Today", "Noon")]
    jobs = [RenderJob(text, PlainDirections("fear", 0.5), model, Speaker(1.5, 1.1)) for text in texts]
    steps: list[int] = []
    render_missing(jobs, tmp_path, lambda: steps.append(1), workers=2)
    assert len(steps) == len(list(tmp_path.iterdir())) == len(texts)
    here = render_turn(texts[0], jobs[0].directions, PiperSynthesiser(model), None, jobs[0].speaker)
    kept = render_turn(texts[0], jobs[0].directions, PiperSynthesiser(model), tmp_path, jobs[0].speaker)
    assert np.array_equal(here.samples, kept.samples)


@pytest.mark.models
def test_a_turn_that_cannot_be_spoken_stops_with_its_own_words(tmp_path: Path) -> None:
    job = RenderJob("a <laugh> b", None, models.resolve("piper-joe"), Speaker())
    with pytest.raises(SpeechTextError, match="<laugh>"):
        render_missing([job], tmp_path, workers=1)


def _recorded(path: Path, rate_hz: int = 44_100) -> None:
    chance = np.random.default_rng(0)
    burst = chance.normal(0, 0.02, rate_hz)
    gap = np.zeros(round(0.3 * rate_hz))
    mono = np.concatenate([np.zeros(rate_hz // 2), burst, gap, burst, np.zeros(rate_hz // 4)])
    soundfile.write(path, np.stack([mono, mono], axis=1), rate_hz)


@pytest.mark.parametrize("suffix", [".wav", ".flac", ".ogg"])
def test_a_recording_becomes_a_turn_with_its_edges_cut_and_its_pauses_found(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"turn{suffix}"
    _recorded(path)
    turn = load_turn(path, "what was said")
    assert turn.rate_hz == 16_000
    assert turn.duration_s == pytest.approx(2.3, abs=0.05)
    assert level_db((turn.samples / 32_768).astype(np.float32), 16_000) == pytest.approx(SPEECH_LEVEL_DBFS, abs=0.3)
    ((start, end),) = turn.pauses
    assert start / 16_000 == pytest.approx(1.0, abs=0.03)
    assert (end - start) / 16_000 == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize("content", [b"not audio", b""])
def test_what_is_no_recording_is_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "turn.wav"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match="not audio that libsndfile reads"):
        load_turn(path, "text")


def test_a_silent_recording_is_refused(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "turn.wav", np.zeros(8_000), 16_000)
    with pytest.raises(RecordingError, match="holds no sound"):
        load_turn(tmp_path / "turn.wav", "text")
