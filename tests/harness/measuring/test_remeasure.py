"""Old runs measured again, with what changed and why."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from benchmarks.made_recordings import Said, make_recording, onset_ms, voice
from harness.measuring.remeasure import remeasure
from harness.measuring.transcribe import transcribe_all
from harness.progress import RunProgress
from harness.recording.files import save
from harness.store.run_store import RunStore
from harness.timing import METHOD, measure_turns
from harness.timing.words import Word
from tests.made_run import made_run, play
from tests.present import present


@dataclass(frozen=True)
class Heard:
    text: str
    words: tuple[Word, ...]


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    store = made_run(tmp_path / "run", repeats=2)
    for repeat in range(2):
        recording = make_recording(Said(0.4, voice(1.0))).recording
        timing = measure_turns(recording)[-1]
        old = replace(timing, method="timing-0", ttfa_ms=(timing.ttfa_ms or 0) + 30) if repeat == 0 else timing
        play(store, repeat=repeat, recording=recording, timing=old)
    return store


def test_what_moved_is_said_and_the_new_figure_is_kept(store: RunStore) -> None:
    found = remeasure(store)
    assert found.sessions == 2
    assert found.methods_before == ("timing-0", METHOD)
    (change,) = found.changed
    before, after = present(change.ttfa_ms.before), present(change.ttfa_ms.after)
    assert before - after == pytest.approx(30)
    assert (found.turns, found.turns_moved) == (2, {"onset": 1})
    for session in store.sessions():
        assert session.timing is not None
        assert session.timing.method == METHOD
        assert session.timing.ttfa_ms == pytest.approx(400 + onset_ms(voice(1.0)), abs=2)
    again = remeasure(store)
    assert (again.changed, again.turns_moved) == ((), {})


def test_a_turn_that_began_with_a_murmur_moved_because_of_it(store: RunStore) -> None:
    """An earlier version took the first of these two sounds for the reply."""
    recording = make_recording(Said(0.3, voice(0.35)), Said(0.997, voice(2.0, seed=1))).recording
    session = store.sessions()[0]
    save(recording, session.folder)
    now = measure_turns(recording)[-1]
    murmur, answer = now.utterances
    sounds = (replace(murmur, kind="filler"), replace(answer, kind="speech"))
    old = replace(now, method="timing-6", ttfa_ms=300.0, answer_ms=None, backchannels=0, utterances=sounds)
    store.set_timing(session.id, (old,))
    assert store.session(session.id).timing == old
    found = remeasure(store)
    assert found.turns_moved == {"backchannel": 1}
    assert found.model_dump(by_alias=True)["schema"] == 1
    assert present(store.session(session.id).timing).ttfa_ms == now.ttfa_ms


def test_the_judged_reply_has_all_its_words_but_a_backchannel_s(store: RunStore) -> None:
    recording = make_recording(Said(-0.3, voice(0.4)), Said(0.6, voice(0.4)), Said(2.0, voice(2.0, seed=1))).recording
    caller = recording.caller
    lasts_s = (caller.speech_end_sample - caller.speech_start_sample) / caller.rate_hz
    session = store.sessions()[0]
    save(recording, session.folder)
    said = [("Mm-hm.", -0.3, 0.1), ("Okay.", 0.6, 1.0), ("Ask", 2.1, 2.4), ("her.", 2.4, 2.9)]
    words = tuple((w, lasts_s + start, lasts_s + end) for w, start, end in said)
    transcribe_all(store, RunProgress(quiet=True), lambda *_: Heard(" ".join(w for w, _, _ in words), words))
    judged = store.session(session.id)
    assert judged.heard_text == "Okay. Ask her."
    timing = present(judged.timing)
    assert timing.transcribed
    assert timing.backchannels == 1
    assert [u.kind for u in timing.utterances] == ["backchannel", "filler", "answer"]
    assert present(timing.ttfa_ms) < 700
    assert present(timing.answer_ms) > 2_000


def test_words_that_were_heard_keep_their_figures(store: RunStore) -> None:
    session = store.sessions()[1]
    store.set_heard(session.id, "Hello there", (("Hello", 2.95, 3.2), ("there", 3.2, 3.5)))
    remeasure(store)
    timing = store.session(session.id).timing
    assert timing is not None
    assert timing.first_word_ms == pytest.approx(2_950 - timing.spoken_end_ms)
