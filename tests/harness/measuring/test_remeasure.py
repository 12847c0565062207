"""Old runs measured again, with what changed and why."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.made_recordings import Said, make_recording, onset_ms, voice
from harness.measuring.remeasure import remeasure
from harness.recording.files import save
from harness.scenarios.context import Context
from harness.store.manifest import AgentEntry, RunManifest
from harness.store.run_store import RunStore
from harness.store.session import SessionKey
from harness.timing import METHOD, measure_turns
from tests.present import present

CONTEXT = Context.model_validate(
    {
        "id": "c1", "subset": "regular", "emotion": "sadness", "problem": "work",
        "turns": [{"role": "seeker", "text": "I don't know."}], "source": "test", "licence": "CC0",
    }
)  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    manifest = RunManifest(
        created="2026-01-01T00:00:00+00:00", harness_version="0", pack="p", pack_source="p", pack_hash="x",
        context_ids=["c1"], agents=[AgentEntry(name="a", kind="cascade", profile_hash="p" * 64, profile_text="")],
        mode="seeded", conditions=["clean"], repeats=2, seed=1,
    )  # fmt: skip
    store = RunStore.create(tmp_path / "run", manifest, [CONTEXT])
    for repeat in range(2):
        key = SessionKey("c1", "h" * 64, "a", "p" * 64, "seeded", "clean", repeat)
        recording = make_recording(Said(0.4, voice(1.0))).recording
        partial = store.partial_folder(key)
        save(recording, partial)
        session = store.commit_session(key, partial=partial, started_ns=1)
        timing = measure_turns(recording)[-1]
        old = replace(timing, method="timing-0", ttfa_ms=(timing.ttfa_ms or 0) + 30) if repeat == 0 else timing
        store.set_timing(session.id, (old,))
    return store


def test_what_moved_is_said_and_the_new_figure_is_kept(store: RunStore) -> None:
    found = remeasure(store)
    assert found.sessions == 2
    assert found.methods_before == ("timing-0", METHOD)
    (change,) = found.changes
    before, after = present(present(change.session.timing).ttfa_ms), present(change.after.ttfa_ms)
    assert before - after == pytest.approx(30)
    for session in store.sessions():
        assert session.timing is not None
        assert session.timing.method == METHOD
        assert session.timing.ttfa_ms == pytest.approx(400 + onset_ms(voice(1.0)), abs=2)
    assert remeasure(store).changes == ()


def test_words_that_were_heard_keep_their_figures(store: RunStore) -> None:
    session = store.sessions()[1]
    store.set_heard(session.id, "Hello there", (("Hello", 2.95, 3.2), ("there", 3.2, 3.5)))
    remeasure(store)
    timing = store.session(session.id).timing
    assert timing is not None
    assert timing.first_word_ms == pytest.approx(2_950 - timing.spoken_end_ms)
