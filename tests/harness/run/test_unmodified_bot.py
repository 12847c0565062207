"""A bot that nobody taught anything, as pipecat's scaffold writes it, in a whole run: history, greeting, TTFT and stages."""

from pathlib import Path

import pytest

from harness.recording.record import Recording
from harness.store.run_store import RunStore
from tests.harness.conftest import harness, peer


@pytest.mark.long  # a whole run: a minute and more, of which the calls are the least
def test_it_is_played_as_the_paper_does_and_its_own_word_fills_the_waterfall(tmp_path: Path) -> None:
    line = ("run", "--agent", peer("runner-bot-greets"), "--limit", 2, "--json", "--out", "r")
    done = harness(tmp_path, *line, timeout_s=400)
    assert done.code == 0, done.err
    store = RunStore.open(tmp_path / "r")
    sessions = store.sessions()
    assert len(sessions) == 2
    for session in sessions:
        timing, recording = session.timing, store.recording(session)
        assert timing is not None
        assert timing.greeting is not None
        assert not timing.greeting.talked_over
        assert said_to_model(recording) > 1, "the model was asked with the history"
        # The model takes 150 ms to its first token, and its client a little more.
        assert timing.ttft_ms is not None
        assert 145 < timing.ttft_ms < 1_500
        assert timing.stages_from == "reported"
        if timing.waterfall is not None:
            stages = {stage.name: stage.duration_ms for stage in timing.waterfall.stages}
            assert stages["unexplained"] < 0.5 * sum(stages.values())
    assert [session.key.mode for session in sessions] == ["seeded", "seeded"]
    assert "reported by the bot" in (tmp_path / "r" / "report.html").read_text(encoding="utf-8")


def said_to_model(recording: Recording) -> int:
    """How many messages the bot's model says that it was asked with, at the caller's turn."""
    said = " ".join(t.text for t in recording.transcripts if t.role == "assistant")
    return int(said.rsplit("I know ", 1)[1].split()[0])
