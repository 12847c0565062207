"""Sound that the microphone lost: a wait that it could have hidden is not known, and what it cannot have hidden stays."""

from dataclasses import replace

import pytest

from harness.timing.figures import Endpointing, InnerPause, TurnTiming
from harness.timing.unknown_waits import LOST, NO_LATENCY, with_losses, without_latency

TURN = TurnTiming(method="t", spoken_end_ms=2_000.0, ttfa_ms=600.0)


@pytest.mark.parametrize(
    ("lost", "known"),
    [
        ((), True),
        (((500.0, 520.0),), True),
        (((500.0, 521.0),), False),
        (((2_100.0, 2_111.0), (2_300.0, 2_310.0)), False),  # 21 ms in all
        (((2_590.0, 2_700.0),), True),  # 10 ms of it before the onset
        (((2_500.0, 2_700.0),), False),
        (((2_600.0, 9_000.0),), True),
    ],
)
def test_only_what_was_lost_before_the_answer_hides_it(lost: tuple[tuple[float, float], ...], known: bool) -> None:
    (found,) = with_losses([TURN], lost)
    assert found == (TURN if known else replace(TURN, ttfa_ms=None, discarded=LOST))


PAUSED = replace(
    TURN, first_sound_ms=580.0, first_speech_ms=600.0, signed_ms=-40.0, yield_ms=90.0, reply_end_ms=2_000.0,
    cut_in=True, pauses_marked=1, pauses_cut=1, pause_durations_ms=(400.0,), pause_was_cut=(True,),
    endpointing=Endpointing("e", (InnerPause(-900.0, -500.0, "cut", True, 0, None),), 600.0, 100.0, talking_at_end=True),
)  # fmt: skip


def test_without_the_latency_nothing_is_known_of_the_floor_and_all_of_what_was_said() -> None:
    (found,) = without_latency([PAUSED])
    assert found == replace(
        TURN,
        ttfa_ms=None,
        reply_end_ms=2_000.0,
        discarded=NO_LATENCY,
        endpointing=Endpointing("e", (), None, discarded=NO_LATENCY),
    )
    silent = replace(TURN, ttfa_ms=None, no_reply=True)
    assert without_latency([silent]) == (replace(silent, discarded=NO_LATENCY),)


def test_lost_sound_may_hide_a_cut_of_a_pause_and_delays_the_answer_that_ends_the_dead_air() -> None:
    (found,) = with_losses([replace(PAUSED, signed_ms=None)], [(500.0, 600.0)])
    assert (found.cut_in, found.pauses_marked, found.pause_was_cut) == (False, 0, ())
    assert found.endpointing == Endpointing("e", (), None, discarded=LOST)
