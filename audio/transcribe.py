"""Transcripts by Whisper, after the call: of the agents' replies, and of callers to check that they are intelligible.

A transcriber for figures must give the same words for the same samples and no words for silence.
So decoding is greedy-free of chance (temperature 0, no fallback to sampling, no text carried over from before), and
speech is found by silero first: Whisper alone writes "you" or "Thank you." for silence. A signal that never rises over
digital near-silence is not decoded at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from harness.audio.level import block_power, decibels
from harness.audio.pcm import Float32, Int16, resample_float, to_float
from harness.audio.speech_edges import silent_runs, speaking, window_samples
from harness.errors import UserError
from harness.installation import install_command
from harness.local_programs import are_here, call

WHISPER_RATE_HZ = 16_000
BEAM_SIZE = 5
LOUDEST_S = 0.03
NEAR_SILENCE_DBFS = -65.0
"""The loudest 30 ms below this is a silent line: comfort noise lies near -70 dBFS, a quiet caller's speech above -50."""

MOST_COMPRESSION = 2.4
"""Text that zlib shortens more than this repeats itself (Whisper's own threshold)."""

LEAST_LOOP_TOKENS = 6
"""A decoding that loops is repeated with no six tokens allowed twice. Whisper's own remedy, sampling at a higher
temperature, would give other words each time. On `heart-mini` base looped in one of twelve turns (2.3 errors a word)."""

MOST_WORDS_PER_S = 10.0
"""Fastest speech. If a fraction of a second is left after the last word, Whisper pads it to 30 s of silence and
fills that with invented words: "I'm sorry, I'm sorry, …" behind several turns of `heart-open`."""

LEAST_SKIPPED_S = 2.0
LEAST_SPOKEN_S = 1.5
"""A stretch of this length with this much sound and no word in it is transcribed again, alone: Whisper's first time stamp may
be after whole sentences, which are then lost (8.5 s of a turn of `heart-open`)."""

LEAST_PAUSE_S = 0.15
"""Shorter silences are closures of plosives inside a word."""


_NEEDS: Final = ("faster_whisper",)
_WHY: Final = "hearing words"


class TranscriberError(UserError):
    """The transcriber cannot be loaded; the message is one line."""


@dataclass(frozen=True, slots=True)
class Transcription:
    """Text, and its words with start and end in seconds from the first sample."""

    text: str
    words: tuple[tuple[str, float, float], ...]


class Transcriber:
    """A CTranslate2 Whisper model from its folder, loaded in the process that has the package (`harness.local_programs`).

    Raises `TranscriberError` if the folder has no such model.
    """

    def __init__(
        self, model_path: Path, device: str = "cpu", threads: int = 2, compute_type: str = "int8", language: str = "en"
    ) -> None:
        self._settings = (model_path, device, threads, compute_type, language)
        self._away = not are_here(_NEEDS)
        if self._away:
            call(_load, self._settings, why=_WHY, modules=_NEEDS)
            return
        try:
            from faster_whisper import WhisperModel
        except ImportError as error:
            raise TranscriberError(f"the package 'faster-whisper' is missing: {install_command('local')}") from error
        try:
            self._model: Any = WhisperModel(
                str(model_path), device=device, compute_type=compute_type, cpu_threads=threads, local_files_only=True
            )
        except Exception as error:  # CTranslate2 raises plain RuntimeError and ValueError of many texts
            raise TranscriberError(f"{model_path} cannot be loaded as a Whisper model: {error}") from error
        self._language = language

    def transcribe(self, samples: Int16, rate_hz: int) -> Transcription:
        """Transcribe mono int16 at `rate_hz`. Silence gives an empty text."""
        if self._away:
            return call(_transcribe, self._settings, samples, rate_hz, why=_WHY, modules=_NEEDS)
        if decibels(block_power(samples, max(1, round(rate_hz * LOUDEST_S))).max(initial=0.0)) < NEAR_SILENCE_DBFS:
            return Transcription("", ())
        signal = resample_float(to_float(samples), rate_hz, WHISPER_RATE_HZ)
        words = self._words(signal)
        for begin_s, end_s in _skipped_s(signal, words):
            stretch = signal[round(begin_s * WHISPER_RATE_HZ) : round(end_s * WHISPER_RATE_HZ)]
            words += [(word, begin_s + start_s, begin_s + stop_s) for word, start_s, stop_s in self._words(stretch)]
        words.sort(key=lambda word: word[1])
        return Transcription(" ".join(word for word, _, _ in words), tuple(words))

    def language_of(self, signal: Float32) -> tuple[str, float]:
        """The language of up to 30 s of mono speech at 16 kHz, as a code of two letters, and how sure the model is (0 to 1)."""
        if self._away:
            return call(_language_of, self._settings, signal, why=_WHY, modules=_NEEDS)
        language, sure, _ = self._model.detect_language(signal)
        return str(language), float(sure)

    def _words(self, signal: Float32) -> list[tuple[str, float, float]]:
        segments = self._decode(signal, {})
        if any(segment.compression_ratio > MOST_COMPRESSION for segment in segments):
            # Before words are removed: an agent that really repeats itself is transcribed with its repetitions.
            segments = self._decode(signal, {"no_repeat_ngram_size": LEAST_LOOP_TOKENS})
        segments = [segment for segment in segments if _could_be_spoken(segment.text, segment.end - segment.start)]
        pauses_s = _pauses_s(signal)
        return [
            (word.word.strip(), _after_pause(float(word.start), float(word.end), pauses_s), float(word.end))
            for segment in segments
            for word in segment.words or ()
        ]

    def _decode(self, signal: Float32, guard: Mapping[str, int]) -> list[Any]:
        segments, _ = self._model.transcribe(
            signal,
            language=self._language,
            beam_size=BEAM_SIZE,
            temperature=0.0,
            condition_on_previous_text=False,
            word_timestamps=True,
            vad_filter=True,
            vad_parameters={"min_silence_duration_ms": 500, "speech_pad_ms": 300},
            **guard,
        )
        return list(segments)


_Settings = tuple[Path, str, int, str, str]


@lru_cache(maxsize=2)
def _loaded(settings: _Settings) -> Transcriber:
    return Transcriber(*settings)


def _load(settings: _Settings) -> None:
    _loaded(settings)


def _transcribe(settings: _Settings, samples: Int16, rate_hz: int) -> Transcription:
    return _loaded(settings).transcribe(samples, rate_hz)


def _language_of(settings: _Settings, signal: Float32) -> tuple[str, float]:
    return _loaded(settings).language_of(signal)


def _could_be_spoken(text: str, duration_s: float) -> bool:
    """True if the text could be spoken in this time. One word always could: alignment may give a short one almost no time."""
    return len(text.split()) <= 1 + MOST_WORDS_PER_S * duration_s


def _skipped_s(signal: Float32, words: list[tuple[str, float, float]]) -> list[tuple[float, float]]:
    """The stretches between, before and after words with speech but without transcript.

    Empty if there is no word at all, because a second pass would be the same as the first.
    """
    if not words:
        return []
    edges = [0.0, *(edge for _, start_s, end_s in words for edge in (start_s, end_s)), signal.size / WHISPER_RATE_HZ]
    active = speaking(signal, WHISPER_RATE_HZ)
    window_s = window_samples(WHISPER_RATE_HZ) / WHISPER_RATE_HZ
    return [
        (begin_s, end_s)
        for begin_s, end_s in zip(edges[::2], edges[1::2], strict=True)
        if end_s - begin_s >= LEAST_SKIPPED_S
        and active[int(begin_s / window_s) : int(end_s / window_s)].sum() * window_s >= LEAST_SPOKEN_S
    ]


def _pauses_s(signal: Float32) -> list[tuple[float, float]]:
    window_s = window_samples(WHISPER_RATE_HZ) / WHISPER_RATE_HZ
    runs = ((start * window_s, end * window_s) for start, end in silent_runs(signal, WHISPER_RATE_HZ))
    return [(start, end) for start, end in runs if end - start >= LEAST_PAUSE_S]


def _after_pause(start_s: float, end_s: float, pauses_s: list[tuple[float, float]]) -> float:
    """The start of a word after a pause: Whisper's alignment counts a pause to the word after it, but sound resumes later."""
    inside = [resumed for began, resumed in pauses_s if start_s < resumed < end_s and began < end_s]
    return max([start_s, *inside])
