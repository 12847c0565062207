"""Sound that the microphone lost: a wait that it could have hidden is not known, and what it cannot have hidden stays."""

from dataclasses import replace

import pytest

from harness.timing.figures import TurnTiming
from harness.timing.lost_sound import LOST, with_losses

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


def test_a_silence_with_a_gap_is_no_proof_of_silence() -> None:
    silent = replace(TURN, ttfa_ms=None, no_reply=True)
    assert with_losses([silent], [(9_000.0, 9_100.0)])[0].discarded == LOST
    assert with_losses([silent], [(9_000.0, 9_010.0)]) == (silent,)
    early = replace(TURN, ttfa_ms=None, signed_ms=-500.0)
    assert with_losses([early], [(1_600.0, 1_900.0)]) == (early,)
