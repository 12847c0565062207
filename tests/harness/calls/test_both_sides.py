"""A call is measured alike whatever its line, its recorder and its room add."""

from dataclasses import replace

import numpy as np
import pytest

from harness.audio.leak import find_leak
from harness.audio.pcm import Int16, to_float
from harness.audio.room_tail import without_tails
from harness.audio.vocal import silero
from harness.calls.as_recording import TwoSides, as_recording
from harness.calls.both_sides import own_sides
from harness.errors import UserError
from harness.measuring.timings import timings_of
from harness.recording.files import load, save
from harness.store.step_failure import StepFailure
from tests.harness.calls.made_calls import RATE_HZ, sides

CALL = sides([(1.0, 2.6), (6.0, 7.6)], [(3.4, 5.0), (8.4, 9.8)], 12.0)


def ends_and_waits(call: TwoSides) -> list[tuple[float, float | None]]:
    recording = as_recording(call, silero())
    found = timings_of("x", lambda: recording, lambda: None, silero())
    assert not isinstance(found, StepFailure), found
    return [(turn.spoken_end_ms, turn.ttfa_ms) for turn in found]


def plus(one: Int16, other: np.ndarray, db: float) -> Int16:
    return np.clip(np.round(one + other.astype(np.float64) * 10 ** (db / 20)), -32_768, 32_767).astype(np.int16)


def crosstalk(db: float) -> TwoSides:
    return replace(CALL, caller=plus(CALL.caller, CALL.agent, db), agent=plus(CALL.agent, CALL.caller, db))


@pytest.fixture(scope="module")
def plain() -> list[tuple[float, float | None]]:
    return ends_and_waits(CALL)


@pytest.mark.parametrize(
    "changed",
    [
        crosstalk(-38),
        crosstalk(-15),
        replace(CALL, caller=(CALL.caller // 12 + 3_000).astype(np.int16), agent=(CALL.agent // 12 - 1_500).astype(np.int16)),
    ],
    ids=["faint crosstalk", "loud crosstalk", "offset and faint line"],
)
def test_what_a_line_adds_changes_nothing(changed: TwoSides, plain: list[tuple[float, float | None]]) -> None:
    np.testing.assert_allclose(np.array(ends_and_waits(changed), float), np.array(plain, float), atol=20)


def test_a_leak_as_loud_as_speech_is_no_figure() -> None:
    with pytest.raises(UserError, match=r"nobody can say|speaks into"):
        as_recording(replace(CALL, caller=plus(CALL.caller, CALL.agent, -3)), silero())


def test_what_else_a_side_sounds_is_its_own_and_no_leak() -> None:
    tone = np.round(3_000 * np.sin(np.arange(RATE_HZ // 2) * 2 * np.pi * 880 / RATE_HZ)).astype(np.int16)
    agent = plus(CALL.agent, CALL.caller, -24)
    agent[11 * RATE_HZ : 11 * RATE_HZ + len(tone)] += tone
    _, side = own_sides((CALL.caller, RATE_HZ), (agent, RATE_HZ), silero())
    ((start, end),) = side.sounds
    assert [start, end] == pytest.approx([11.0, 11.5], abs=0.05)
    assert len(side.speech) == 2


def test_two_voices_are_no_leak_of_each_other() -> None:
    assert find_leak(to_float(CALL.caller), to_float(CALL.agent)) is None


def test_a_dry_channel_has_no_room() -> None:
    speech = ((1.0, 2.6), (6.0, 7.6))
    assert without_tails(to_float(CALL.caller), speech) == (speech, None)


def test_the_agents_own_stretches_are_stored(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("call")
    recording = as_recording(CALL, silero())
    save(recording, folder)
    assert recording.agent_own
    assert load(folder).agent_own == recording.agent_own
