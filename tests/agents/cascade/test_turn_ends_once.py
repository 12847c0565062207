"""One end of a turn, one reply: pipecat's strategy must not take up the same end a second time by its own clock."""

from typing import cast

import pytest
from pipecat.turns.user_stop import EagerUserTurnStopStrategy, ExternalUserTurnStopStrategy

from harness.agents.cascade.endpoint_policies import FixedSilence
from harness.agents.cascade.short_context_whisper import ShortContextWhisper
from harness.agents.cascade.streaming_stt import StreamingSTT, least_words


@pytest.mark.parametrize("eager", [True, False])
async def test_the_end_of_a_turn_is_never_looked_for_by_the_clock(eager: bool) -> None:
    # Nothing here transcribes, so no recogniser is needed.
    stt = StreamingSTT(cast(ShortContextWhisper, None), FixedSilence(500), enable_eager_end_of_turn=eager)
    strategies = stt.service_metadata_frame().user_turn_strategies
    assert strategies is not None
    assert strategies.stop is not None
    [stop] = strategies.stop
    assert isinstance(stop, ExternalUserTurnStopStrategy)
    assert isinstance(stop, EagerUserTurnStopStrategy) is eager
    assert stop._timeout > 3600


def test_a_grown_piece_may_lose_a_word_and_not_half_of_them() -> None:
    assert least_words(0) == 0
    assert least_words(21) > 5
    assert least_words(10) < 9
