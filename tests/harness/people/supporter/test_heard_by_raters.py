"""People's replies in a listening test: the room around them must not reveal that no agent spoke."""

from pathlib import Path

import pytest
import soundfile

from harness.people.supporter.conversations import Conversations
from harness.recording.from_seat import RATE_HZ
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.material import Material
from harness.reports.listening.sound import LEAD_S, TAIL_S
from harness.store.run_store import RunStore
from tests.harness.people.supporter.conftest import Answer


def test_a_reply_ends_with_its_last_word(played: Path, answer: Answer) -> None:
    answer(played, ("P01", "first", "second"), ("P02", "first", "third"))
    store = RunStore.open(played)
    material = Material(store, ListeningDesign())
    said_s = len(Conversations(store).caller("second").samples) / RATE_HZ
    path = material.stimulus("first", "people", gap_ms=200)
    samples, rate_hz = soundfile.read(path)
    caller_s = min(LEAD_S, soundfile.info(material.caller("first")).duration)
    assert len(samples) / rate_hz == pytest.approx(caller_s + 0.2 + said_s + TAIL_S, abs=0.35)
