"""What the caller takes for a reply while the call runs."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scripted_sound import Piece, render
from scripted_wire import Script, ScriptedConnection

from harness.agents.connection import AudioChunk, Cleared, Event
from harness.caller import CallerTurn, Limits, Pacer, SessionPlan, play_session
from harness.caller.listener import Listener
from harness.clock import now_ns
from harness.timeline import NS_PER_MS
from tests.virtual_time.clock import virtual_time

RATE_HZ = 24_000
WINDOW_MS = 32


def sound(ms: float, rate_hz: int = RATE_HZ, level_db: float = -20.0) -> NDArray[np.int16]:
    return render([Piece(kind="voice", ms=ms, level_db=level_db)], rate_hz)


def at(ms: float) -> int:
    return 5_000_000_000 + round(ms * NS_PER_MS)


def heard(*messages: tuple[float, float]) -> Listener:
    """A listener to whom sound came at each time, of so many ms."""
    listener = Listener()
    for start_ms, length_ms in messages:
        listener.hear(at(start_ms), sound(length_ms), RATE_HZ)
    return listener


def until(listener: Listener, ms: float) -> Listener:
    """The listener after so much time."""
    listener.advance(at(ms), None)
    return listener


def cleared(listener: Listener, ms: float) -> Listener:
    until(listener, ms).clear(at(ms))
    return listener


def spans(listener: Listener) -> list[tuple[float, float]]:
    return [((s.start_ns - at(0)) / NS_PER_MS, (s.end_ns - at(0)) / NS_PER_MS) for s in listener.speech]


def near(*expected: tuple[float, float]) -> Any:
    return [pytest.approx(span, abs=WINDOW_MS) for span in expected]


def test_what_is_taken_back_in_31_ms_was_not_heard() -> None:
    listener = cleared(heard((0, 400)), 31)
    assert not listener.heard_after(at(-1))
    listener.hear(at(1_800), sound(300), RATE_HZ)
    assert spans(until(listener, 3_000)) == near((1_800, 2_100))


@pytest.mark.parametrize("ms", [730, 890])
def test_what_could_be_understood_stays_heard_until_it_was_cleared(ms: float) -> None:
    assert spans(cleared(heard((0, 900)), ms)) == near((0, ms))


def test_what_was_taken_back_before_it_could_be_understood_was_not_said() -> None:
    assert spans(cleared(heard((0, 400)), 150)) == []


def test_a_reply_begins_with_the_first_speech_since_the_caller_began() -> None:
    listener = until(heard((0, 600), (3_000, 600), (5_000, 600)), 6_000)
    assert listener.begun_ns == pytest.approx(at(0), abs=WINDOW_MS * NS_PER_MS)
    listener.mark(at(1_000))
    assert listener.begun_ns == pytest.approx(at(3_000), abs=WINDOW_MS * NS_PER_MS)
    listener.mark(at(3_200))
    assert listener.begun_ns == at(3_200), "speech that goes on counts from the mark"
    listener.mark(at(6_000))
    assert listener.begun_ns is None


def test_the_end_of_a_longer_utterance_is_not_withdrawn() -> None:
    assert spans(cleared(heard((0, 300), (600, 300)), 750)) == near((0, 750))


def test_before_what_was_withdrawn_the_last_reply_is_the_one_before() -> None:
    listener = cleared(heard((0, 300), (1_500, 300)), 1_650)
    assert spans(listener) == near((0, 300))
    listener.hear(at(1_660), sound(300), RATE_HZ)
    assert spans(cleared(listener, 1_800)) == near((0, 300))


def test_a_clear_long_after_a_short_word_leaves_it_said() -> None:
    assert spans(cleared(heard((0, 150)), 300)) == near((0, 150))


def test_what_never_sounded_is_forgotten_whole() -> None:
    listener = cleared(heard((0, 800), (100, 3_000)), 800)
    listener.hear(at(2_000), sound(3_000), RATE_HZ)
    assert spans(cleared(listener, 1_999)) == near((0, 800))


def test_what_is_taken_back_for_the_caller_s_own_words_was_heard() -> None:
    listener = until(heard((0, 400)), 120)
    listener.mark(at(100))
    assert spans(cleared(listener, 150)) == near((0, 150))


def test_a_reply_that_arrives_at_once_is_examined_as_it_is_heard() -> None:
    listener = heard((0, 2_000))
    listener.advance(at(20))
    assert listener.speech == []
    listener.advance(at(300), 2)
    assert listener.speaking(at(300))
    assert spans(until(listener, 1_000)) == [pytest.approx((0, 1_000), abs=3 * WINDOW_MS)]
    assert spans(until(listener, 3_000)) == near((0, 2_000))


@pytest.mark.parametrize("jitter_ms", [0, 3, 9])
@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 22_050, 48_000])
def test_messages_of_a_frame_each_are_one_utterance(rate_hz: int, jitter_ms: float) -> None:
    voice, frame, listener = sound(900, rate_hz), rate_hz // 50, Listener()
    for k in range(45):
        listener.hear(at(20 * k + jitter_ms * (k % 2)), voice[k * frame : (k + 1) * frame], rate_hz)
        listener.advance(at(20 * k + 20))
    assert spans(until(listener, 1_500)) == [pytest.approx((0, 900), abs=WINDOW_MS + 5 * jitter_ms)]


def test_each_message_has_its_own_rate() -> None:
    listener = Listener()
    listener.hear(at(0), sound(600, 24_000), 24_000)
    listener.hear(at(600), sound(600, 16_000), 16_000)
    listener.hear(at(1_200), sound(600, 8_000), 8_000)
    assert spans(until(listener, 3_000)) == near((0, 1_800))


def noise(ms: float, level_db: float) -> NDArray[np.int16]:
    return render([Piece(kind="noise", ms=ms, level_db=level_db)], RATE_HZ)


def ringback(ms: float) -> NDArray[np.int16]:
    t = np.arange(round(ms * RATE_HZ / 1000)) / RATE_HZ
    return np.round(2_000 * (np.sin(2 * np.pi * 440 * t) + np.sin(2 * np.pi * 480 * t))).astype(np.int16)


def rising_note(ms: float) -> NDArray[np.int16]:
    t = np.arange(round(ms * RATE_HZ / 1000)) / RATE_HZ
    return np.round(3_000 * np.sin(2 * np.pi * (500 + 1_200 * t) * t) * np.hanning(len(t))).astype(np.int16)


NO_SPEECH = {
    "noise at -70 dB": noise(9_000, -70),
    "noise at -58 dB": noise(9_000, -58),
    "noise at -35 dB": noise(9_000, -35),
    "a DC offset": np.full(9 * RATE_HZ, 4_000, np.int16),
    "mu-law filled with 0x00": np.full(9 * RATE_HZ, -32_124, np.int16),
    "ringing": np.concatenate([ringback(2_000), noise(4_000, -90), ringback(2_000)]),
    "a rising note": np.concatenate([rising_note(200), np.zeros(RATE_HZ, np.int16)] * 5),
    "ticks": np.concatenate([ringback(30), np.zeros(RATE_HZ // 2, np.int16)] * 12),
}


@pytest.mark.parametrize("name", NO_SPEECH)
def test_sound_without_a_voice_is_no_speech(name: str) -> None:
    listener = Listener()
    listener.hear(at(0), NO_SPEECH[name], RATE_HZ)
    assert spans(until(listener, 10_000)) == []


@pytest.mark.parametrize("name", NO_SPEECH)
def test_a_voice_is_heard_through_it(name: str) -> None:
    sounds = NO_SPEECH[name].astype(int)
    begin = 4 * RATE_HZ
    voice = sound(1_000)
    sounds[begin : begin + len(voice)] += voice
    listener = Listener()
    listener.hear(at(0), np.clip(sounds, -32_768, 32_767).astype(np.int16), RATE_HZ)
    begin_ms = begin * 1000 / RATE_HZ
    ((start_ms, end_ms),) = spans(until(listener, 10_000))
    assert -250 <= start_ms - begin_ms <= 150
    assert -150 <= end_ms - begin_ms - 1_000 <= 400


def test_noise_behind_a_voice_does_not_prolong_it() -> None:
    listener = Listener()
    listener.hear(at(0), np.concatenate([sound(1_500), noise(6_000, -45)]), RATE_HZ)
    ((_, end_ms),) = spans(until(listener, 9_000))
    assert end_ms == pytest.approx(1_500, abs=400)


def test_music_behind_a_voice_does_not_prolong_it_for_long() -> None:
    listener = Listener()
    listener.hear(at(0), np.concatenate([sound(1_500), ringback(6_000)]), RATE_HZ)
    ((_, end_ms),) = spans(until(listener, 9_000))
    assert end_ms < 1_500 + 3_500


def test_ringing_is_evidence_of_something_to_come_and_ticks_are_not() -> None:
    listener = Listener()
    listener.hear(at(0), ringback(2_000), RATE_HZ)
    rang_ns = until(listener, 4_000).rang_ns
    assert rang_ns is not None
    assert (rang_ns - at(0)) / NS_PER_MS == pytest.approx(2_000, abs=WINDOW_MS)
    ticks = Listener()
    ticks.hear(at(0), NO_SPEECH["ticks"], RATE_HZ)
    assert until(ticks, 9_000).rang_ns is None


class _BeginsFalsely(ScriptedConnection):
    """Clears 31 ms into the first thing it says."""

    async def events(self) -> AsyncIterator[Event]:
        begun = False
        async for event in super().events():
            yield event
            if isinstance(event, AudioChunk) and not begun:
                begun = True
                await asyncio.sleep(0.031)
                yield Cleared(now_ns())


def test_a_caller_waits_for_the_answer_after_what_was_taken_back(tone: NDArray[np.int16], scripted: Any) -> None:
    replies = [
        {"delay_ms": 100, "sound": [{"kind": "voice", "ms": 40}]},
        {"delay_ms": 900, "sound": [{"kind": "voice", "ms": 700}]},
    ]
    plan = SessionPlan(
        scripted(replies=replies), (CallerTurn(tone),), 16_000, limits=Limits(quiet_s=0.4, no_reply_s=1.2, total_s=9.0)
    )

    async def run() -> Any:
        return await play_session(plan, _BeginsFalsely(Script(**plan.connection.options)), Pacer())

    with virtual_time() as loop, asyncio.Runner(loop_factory=loop) as runner:
        recording, outcome = runner.run(run())
    assert len(recording.clears_ns) == 1
    assert outcome.ended == "quiet"
    assert len(recording.agent_pcm) == 740 * RATE_HZ // 1_000
