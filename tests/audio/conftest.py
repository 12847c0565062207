"""Voices for the audio tests: a synthetic one that needs no weights, and the real one from the model store."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from harness.audio.pcm import Float32
from harness.audio.synthesis import PiperSynthesiser
from harness.models import resolve


@dataclass
class BuzzVoice:
    """Speaks 60 ms a letter as a buzz, with 90 ms of its own silence around each sentence, as real voices have."""

    rate_hz: int = 22_050
    identity: str = "buzz:1"
    calls: list[tuple[str, ...]] = field(default_factory=list)

    def speak(self, texts: Sequence[str], seed: int) -> list[list[Float32]]:
        self.calls.append(tuple(texts))
        rng = np.random.default_rng(seed)
        edge = np.zeros(round(0.09 * self.rate_hz), dtype=np.float32)
        spoken = []
        for text in texts:
            sentences = [s for s in text.replace("?", ".").split(".") if any(c.isalnum() for c in s)]
            spoken.append([np.concatenate([edge, self._buzz(s, rng), edge]) for s in sentences])
        return spoken

    def _buzz(self, text: str, rng: np.random.Generator) -> Float32:
        time_s = np.arange(round(0.06 * len(text) * self.rate_hz)) / self.rate_hz
        wave = sum(np.sin(2 * np.pi * 120 * k * time_s + rng.uniform(0, 6)) / k for k in range(1, 12))
        return np.asarray(0.3 * wave, dtype=np.float32)


@pytest.fixture
def buzz() -> BuzzVoice:
    return BuzzVoice()


@pytest.fixture(scope="session")
def joe() -> PiperSynthesiser:
    return PiperSynthesiser(resolve("piper-joe"))


@pytest.fixture(scope="session")
def tiny_path() -> Path:
    return resolve("whisper-tiny.en")
