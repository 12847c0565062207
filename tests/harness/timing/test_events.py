"""Going on, stopping and starting again at an event: calls made by hand, whose truth is known, through the real analyser."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchmarks.made_recordings import CALLER_HZ, Said, make_recording, voice
from harness.audio.event_sounds import event_sound
from harness.recording.record import SpokenTurn
from harness.timing import measure
from harness.timing.figures import EventTaken, TurnTiming
from harness.timing.words import Word, with_event_words

AT_S = 1.2
"""After the caller's spoken end; every reply below begins at 0.3 s."""
REPLY = "you left many people whom you love behind you there"


def _timed(*said: Said, clears_s: Sequence[float] = (), at_s: float = AT_S) -> TurnTiming:
    recording = make_recording(*said, clears_s=clears_s).recording
    caller = recording.caller
    start = caller.speech_end_sample + round(at_s * CALLER_HZ)
    sound = event_sound("door", CALLER_HZ, seed=4)
    dry = caller.dry.copy()
    dry[start : start + len(sound)] = sound
    turns = (*caller.turns, SpokenTurn(start, start + len(sound), (), "event", "door"))
    return measure(replace(recording, caller=replace(caller, dry=dry, played=dry, turns=turns)))


def _taken(*said: Said, clears_s: Sequence[float] = (), at_s: float = AT_S) -> EventTaken:
    event = _timed(*said, clears_s=clears_s, at_s=at_s).event
    assert event is not None
    assert event.sound == "door"
    return event


def test_an_agent_that_talks_through_an_event_went_on() -> None:
    timing = _timed(Said(0.3, voice(5.0)))
    assert timing.event is not None
    assert timing.event.fate == "went_on"
    assert timing.event.stop_ms is None
    assert (timing.yield_ms, timing.labels) == (None, ())
    assert timing.ttfa_ms == pytest.approx(300, abs=3)


def test_an_agent_that_clears_its_buffer_and_stays_silent_stopped() -> None:
    taken = _taken(Said(0.3, voice(5.0), 6_000), clears_s=[1.45])
    assert (taken.fate, taken.cleared, taken.silent_ms) == ("stopped", True, None)
    assert taken.stop_ms == pytest.approx(250, abs=6)


def test_an_agent_that_stops_and_begins_again_spoke_again() -> None:
    taken = _taken(Said(0.3, voice(5.0), 6_000), Said(2.45, voice(2.0, seed=2)), clears_s=[1.45])
    assert taken.fate == "spoke_again"
    assert taken.stop_ms == pytest.approx(250, abs=6)
    assert taken.silent_ms == pytest.approx(1_000, abs=10)


def test_an_event_into_silence_tells_nothing_of_the_agent() -> None:
    assert _taken(Said(0.3, voice(0.8)), at_s=2.0).fate == "not_sounding"


def _with(event: EventTaken, heard: Sequence[Word], said: str | None) -> EventTaken:
    found = with_event_words(TurnTiming("t", 0.0, 300.0, event=event), heard, said).event
    assert found is not None
    return found


def _heard(text: str, from_s: float) -> list[Word]:
    return [(w, from_s + 0.2 * k, from_s + 0.2 * k + 0.18) for k, w in enumerate(text.split())]


STOPPED = EventTaken("events-1", "cough", 1_200, "stopped", 300)
AGAIN = EventTaken("events-1", "cough", 1_200, "spoke_again", 300, 900)


def test_a_reply_that_was_taken_back_was_stopped_however_little_is_missing() -> None:
    assert _with(replace(STOPPED, cleared=True), _heard(REPLY, 0.3), REPLY).fate == "stopped"


def test_words_that_nobody_heard_are_lost() -> None:
    found = _with(STOPPED, _heard("you left many people", 0.3), REPLY)
    assert (found.fate, found.lost_words) == ("stopped", 6)


def test_without_the_agents_words_nothing_is_known_of_lost_ones() -> None:
    found = _with(STOPPED, _heard("you left many people", 0.3), None)
    assert (found.fate, found.lost_words) == ("stopped", None)


def test_an_agent_that_begins_anew_repeats_and_loses_nothing() -> None:
    found = _with(AGAIN, _heard("you left many people", 0.3) + _heard(REPLY, 2.4), REPLY)
    assert (found.lost_words, found.repeated_words) == (0, 4)


def test_an_agent_that_skips_words_loses_them() -> None:
    found = _with(AGAIN, _heard("you left many people", 0.3) + _heard("you there", 2.4), REPLY)
    assert (found.lost_words, found.repeated_words) == (4, 0)
