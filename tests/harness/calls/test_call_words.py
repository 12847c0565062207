"""Words of recorded calls: only where they are asked for, and none of another language."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.calls.as_run import CallsAsked, measure_calls
from harness.calls.recordings import find_calls
from harness.calls.words import SURE, add_words
from harness.figures.summarise import summarise
from harness.progress import RunProgress
from harness.store.run_store import RunStore
from tests.harness.calls.made_calls import short_call, write_call
from tests.present import present


@dataclass(frozen=True)
class Heard:
    text: str
    words: tuple[tuple[str, float, float], ...]


@dataclass
class Ear:
    """A transcriber that hears one word half a second into each reply, and is this sure of a language."""

    language: str = "en"
    sure: float = 0.99

    def transcribe(self, samples: NDArray[np.int16], rate_hz: int) -> Heard:
        begin_s = float(np.flatnonzero(samples)[0]) / rate_hz
        return Heard("Train", (("Train", begin_s + 0.5, begin_s + 0.8),))

    def language_of(self, signal: NDArray[np.float32]) -> tuple[str, float]:
        assert np.sqrt(np.mean(signal[:1_600] ** 2)) > 0.01, "it is given the agent's speech"
        return self.language, self.sure


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("calls")
    for seed in range(2):
        write_call(place / f"calls/{seed}.wav", short_call(seed))
    asked = CallsAsked(find_calls(place / "calls", caller="left"), place / "calls", "agent", place / "r")
    measure_calls(asked, RunProgress(quiet=True)).close()
    return place / "r"


@pytest.fixture
def store(measured: Path, tmp_path: Path) -> RunStore:
    return RunStore.open(shutil.copytree(measured, tmp_path / "r"))


def test_without_words_nothing_is_transcribed(store: RunStore) -> None:
    assert [session.heard_text for session in store.sessions()] == [None, None]
    assert summarise(store).agents["agent"]["first_word_ms"]["p50"] is None


def test_words_give_the_first_word(store: RunStore) -> None:
    add_words(store, RunProgress(quiet=True), Ear())
    cell = summarise(store).agents["agent"]
    assert cell["first_word_ms"]["p50"] == pytest.approx(present(cell["ttfa_ms"]["p50"]) + 500, abs=60)
    assert cell["first_substance_ms"]["p50"] is not None


def test_of_another_language_there_are_times_and_no_words(store: RunStore) -> None:
    add_words(store, RunProgress(quiet=True), Ear("de"))
    summary = summarise(store)
    cell = summary.agents["agent"]
    assert cell["ttfa_ms"]["p50"] is not None
    assert cell["first_word_ms"]["p50"] is None
    (caution,) = [c for c in summary.cautions if c.code == "other_language"]
    assert "2 calls (de 2)" in caution.text


def test_an_unsure_guess_of_a_language_is_not_believed(store: RunStore) -> None:
    add_words(store, RunProgress(quiet=True), Ear("cy", SURE - 0.1))
    assert not summarise(store).circumstances.other_language
    assert summarise(store).agents["agent"]["first_word_ms"]["p50"] is not None
