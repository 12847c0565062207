"""What one session does to a step after its call is named, ends nothing, and is mended by running the step again."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.made_recordings import Said, make_recording, voice
from harness.audio.vocal import silero
from harness.figures.summarise import summarise
from harness.figures.validity import with_validity
from harness.measuring.remeasure import remeasure
from harness.measuring.transcribe import GIVEN, transcribe_all
from harness.progress import RunProgress
from harness.recording.files import AGENT_FILE, save
from harness.reports.write import write_joint_report
from harness.run.sessions import measure_missing
from harness.store.run_store import RunStore
from harness.store.step_failure import LONGEST_DETAIL, StepFailure, attempt
from tests.harness.conftest import Finished
from tests.made_run import made_run, play


@dataclass(frozen=True)
class Heard:
    text: str
    words: tuple[tuple[str, float, float], ...]


QUIET = RunProgress(quiet=True)


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    """Three finished calls that nobody has measured."""
    store = made_run(tmp_path / "run", repeats=3)
    for repeat in range(3):
        play(store, repeat=repeat, recording=make_recording(Said(0.4 + repeat / 10, voice(1.0))).recording)
    return store


def fails_on_call(number: int) -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
    """The detector that ships, with a defect that one recording meets."""
    called = 0

    def detect(samples: NDArray[np.float32]) -> NDArray[np.float32]:
        nonlocal called
        called += 1
        if called == number:
            raise ZeroDivisionError("an odd one\n\x1b[31m" + "x" * 1_000)
        return silero()(samples)

    return detect


def test_the_others_are_measured_and_measuring_again_mends_it(store: RunStore) -> None:
    measure_missing(store, fails_on_call(2), QUIET)
    assert [s.timing is not None for s in store.sessions()] == [True, False, True]
    (failure,) = store.step_failures()
    assert (failure.session, failure.step, failure.kind) == (store.sessions()[1].id, "timing", "analysis_failed")
    summary = summarise(store)
    (told,) = summary.failures
    assert told.kind == "analysis_failed"
    assert told.detail.startswith("timing: ZeroDivisionError: an odd one")
    assert summary.agents["a"]["failed"] == summary.agents["a"]["no_reply"] == 0, "the agent is not to blame"
    assert any("harness measure" in warning for warning in summary.warnings)

    found = remeasure(store)
    assert found.failed == ()
    assert store.step_failures() == []
    assert all(s.timing is not None for s in store.sessions())
    assert summarise(store).failures == []


def test_measuring_again_names_what_it_cannot_measure_and_goes_on(store: RunStore) -> None:
    measure_missing(store, silero(), QUIET)
    before = store.sessions()[0].timing
    found = remeasure(store, vocal=fails_on_call(1))
    assert [f.session for f in found.failed] == [store.sessions()[0].id]
    assert store.step_failures() == list(found.failed)
    assert store.sessions()[0].timing == before


def test_a_damaged_recording_is_that_session_s_failure_alone(store: RunStore, harness_here: Callable[..., Finished]) -> None:
    (store.sessions()[0].folder / AGENT_FILE).write_bytes(b"no FLAC at all")
    done = harness_here("remeasure", store.folder, "--json")
    assert done.code == 3, done.err
    (told,) = json.loads(done.out)["failed"]
    assert told["kind"] == "recording_unreadable"
    assert [s.timing is not None for s in store.sessions()] == [False, True, True]
    store.set_manifest(with_validity(store))
    assert store.manifest.pacing is not None
    assert {f.step for f in store.step_failures()} == {"timing", "pacing"}


def test_what_cannot_be_transcribed_is_left_out_by_name(store: RunStore) -> None:
    measure_missing(store, silero(), QUIET)
    (store.sessions()[1].folder / AGENT_FILE).write_bytes(b"no FLAC at all")
    transcribe_all(store, QUIET, lambda samples, rate_hz: Heard("Hello", (("Hello", 0.0, len(samples) / rate_hz),)))
    assert [s.heard_text for s in store.sessions()] == ["Hello", None, "Hello"]
    (failure,) = store.step_failures()
    assert failure.step == "transcribing"
    assert store.manifest.transcriber == GIVEN


def test_what_cannot_be_drawn_is_named_on_the_page_and_mended_by_drawing_again(store: RunStore) -> None:
    measure_missing(store, silero(), QUIET)
    sound = store.sessions()[1].folder / AGENT_FILE
    whole = sound.read_bytes()
    sound.write_bytes(b"no FLAC at all")
    written = write_joint_report([(store, summarise(store))], store.folder)
    (failure,) = store.step_failures()
    assert (failure.session, failure.step, failure.kind) == (store.sessions()[1].id, "drawing", "recording_unreadable")
    (told,) = written.summary.failures
    assert told.detail.startswith("drawing: ")
    assert any("through no fault of the agents" in warning for warning in written.summary.warnings)
    assert "drawing: " in written.page.read_text(encoding="utf-8")
    assert summarise(store).failures == [told], "every later look says the same"

    sound.write_bytes(whole)
    again = write_joint_report([(store, summarise(store))], store.folder)
    assert store.step_failures() == []
    assert again.summary.failures == []
    assert "drawing: " not in again.page.read_text(encoding="utf-8")


def test_playing_a_session_again_forgets_what_its_steps_did(store: RunStore) -> None:
    measure_missing(store, fails_on_call(1), QUIET)
    session = store.sessions()[0]
    assert store.step_failures()
    partial = store.partial_folder(session.key)
    save(make_recording(Said(0.4, voice(1.0))).recording, partial)
    store.commit_session(session.key, partial=partial, started_ns=2)
    assert store.step_failures() == []


def test_a_run_of_which_nothing_could_be_measured_can_still_be_opened(store: RunStore) -> None:
    for session in store.sessions()[1:]:
        (session.folder / AGENT_FILE).write_bytes(b"no FLAC at all")
    store.set_manifest(with_validity(store))
    again = RunStore.open(store.folder)
    assert again.manifest.pacing is not None
    assert again.manifest.pacing.realtime_ratio is None


def test_a_failure_is_one_short_line_that_names_the_place() -> None:
    def defect() -> None:
        make_recording(speech_s=float("nan"))

    found = attempt("s", "timing", defect)
    assert isinstance(found, StepFailure)
    assert "(harness/calibrate/voice.py, line " in found.detail
    hostile = attempt("s", "timing", lambda: fails_on_call(1)(np.zeros(1, np.float32)))
    assert isinstance(hostile, StepFailure)
    assert hostile.detail.isprintable()
    assert len(hostile.detail) <= LONGEST_DETAIL


@pytest.mark.parametrize("failure", [None, "flood"])
def test_validity_belongs_to_a_finished_session_which_is_named(store: RunStore, failure: str | None) -> None:
    measure_missing(store, silero(), QUIET)
    session = store.sessions()[1]
    partial = store.partial_folder(session.key)
    lagged = replace(make_recording(Said(0.4, voice(1.0))).recording, loop_lag_ms=(900.0,))
    save(lagged, partial)
    store.commit_session(session.key, partial=partial, started_ns=2, failure_kind=failure)
    manifest = with_validity(store)
    assert manifest.invalid == ([] if failure else ["c1 · a: event-loop lag 900.0 ms is over 20 ms"])


def test_only_finished_and_measured_calls_without_words_are_transcribed(store: RunStore) -> None:
    def transcribe(samples: NDArray[np.int16], rate_hz: int) -> Heard:
        return Heard("Hello", (("Hello", 0.0, len(samples) / rate_hz),))

    measure_missing(store, silero(), QUIET)
    recording = make_recording(Said(0.4, voice(1.0))).recording
    timing = store.sessions()[0].timing
    play(store, repeat=3, recording=recording, timing=timing, failure_kind="flood")
    play(store, repeat=4, recording=recording)
    play(store, repeat=5, timing=timing)
    store.set_heard(store.sessions()[0].id, "Known", ())
    transcribe_all(store, QUIET, transcribe, but={"c1"})
    assert store.manifest.transcriber is None
    transcribe_all(store, QUIET, transcribe)
    assert [s.heard_text for s in store.sessions()] == ["Known", "Hello", "Hello", None, None, None]
