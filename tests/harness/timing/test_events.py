"""Going on, stopping and starting again at an event: calls made by hand, whose truth is known, through the real analyser."""

from collections.abc import Sequence

import pytest

from audio.vocal import silero
from harness.calibrate.synthetic import Made, Said, make_recording, voice
from harness.recording.playout import HEARD_RATE_HZ, heard
from harness.timeline import NS_PER_S
from harness.timing.events import NOT_SOUNDING, RESTARTED, STOPPED, WENT_ON, EventResponse, judge_event
from harness.timing.utterances import find_sounds

EVENT_S = (1.2, 1.6)
"""After the caller's spoken end; every reply below begins at 0.3 s."""


def _taken(*said: Said, clears_s: Sequence[float] = (), event_s: tuple[float, float] = EVENT_S) -> EventResponse:
    made: Made = make_recording(*said, clears_s=clears_s)
    track = heard(made.recording)
    at = [round((made.ms(t) - track.t0_ns) * HEARD_RATE_HZ / NS_PER_S) for t in event_s]
    return judge_event(track, find_sounds(track, silero()), at[0], at[1])


def test_an_agent_that_talks_through_an_event_went_on() -> None:
    assert _taken(Said(0.3, voice(5.0))) == EventResponse(WENT_ON)


def test_a_pause_between_sentences_is_no_stop() -> None:
    assert _taken(Said(0.3, voice(1.1)), Said(1.8, voice(4.0, seed=2))).label == WENT_ON


def test_an_agent_that_clears_its_buffer_and_stays_silent_stopped() -> None:
    taken = _taken(Said(0.3, voice(5.0), 6_000), clears_s=[1.45])
    assert taken.label == STOPPED
    assert taken.stop_ms == pytest.approx(250, abs=6)
    assert taken.silent_ms is None


def test_an_agent_that_stops_and_begins_again_restarted() -> None:
    taken = _taken(Said(0.3, voice(5.0), 6_000), Said(2.45, voice(2.0, seed=2)), clears_s=[1.45])
    assert taken.label == RESTARTED
    assert taken.stop_ms == pytest.approx(250, abs=6)
    assert taken.silent_ms == pytest.approx(1_000, abs=10)


def test_an_end_long_after_the_event_is_no_stop() -> None:
    assert _taken(Said(0.3, voice(3.2))).label == WENT_ON


def test_an_event_into_silence_tells_nothing_of_the_agent() -> None:
    assert _taken(Said(0.3, voice(0.8)), event_s=(2.0, 2.4)) == EventResponse(NOT_SOUNDING)


@pytest.mark.parametrize("event_s", [(2.4, 2.0), (-9.0, 1.0)])
def test_an_event_that_cannot_be_is_refused(event_s: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="an event cannot run"):
        _taken(Said(0.3, voice(1.0)), event_s=event_s)
