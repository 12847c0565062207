"""The ear for "um": it hears one that the transcript leaves out, and needs no certain length of sound."""

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.agents.cascade.endpoint_policies import PauseEvidence
from harness.agents.cascade.fitted_scorers import STATES, HoldingCuesScorer, pooled
from harness.agents.cascade.moonshine import Moonshine
from harness.agents.cascade.recogniser import RATE_HZ
from harness.audio.level import last_sample
from harness.audio.pcm import resample
from harness.audio.speech import render_turn
from harness.models.store import resolve
from harness.voices.rendering import Hibari, open_voice


@pytest.fixture(scope="module")
def moonshine() -> Moonshine:
    return Moonshine(str(resolve("moonshine-tiny.en")))


def said(text: str, tmp_path_factory: pytest.TempPathFactory) -> NDArray[np.float32]:
    """The turn up to its first pause, or its end, and 200 ms of silence."""
    turn = render_turn(text, None, open_voice(Hibari()), tmp_path_factory.mktemp("speech"))
    until = turn.pauses[0][0] if turn.pauses else len(turn.samples)
    dry = resample(turn.samples[:until], turn.rate_hz, RATE_HZ)
    last = last_sample(dry, RATE_HZ)
    assert last is not None
    return np.concatenate([dry[: last + 1].astype(np.float32) / np.float32(32768), np.zeros(RATE_HZ // 5, np.float32)])


@pytest.mark.parametrize("words", ["I left the house", "my sister never called me", "it was about two weeks ago"])
async def test_an_um_before_a_pause_is_heard_and_an_end_is_none(
    words: str, moonshine: Moonshine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    scorer = HoldingCuesScorer(moonshine.states)
    ended = await scorer.probability_complete(PauseEvidence("", said(f"{words}.", tmp_path_factory)))
    going_on = said(f"{words}, um, <pause 600> and then it rained.", tmp_path_factory)
    assert await scorer.probability_complete(PauseEvidence("", going_on)) < 0.5 < ended


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.9, 8.0])
async def test_any_length_of_sound_has_a_score(moonshine: Moonshine, seconds: float) -> None:
    sound = np.zeros(int(seconds * RATE_HZ), np.float32)
    assert 0 <= await HoldingCuesScorer(moonshine.states).probability_complete(PauseEvidence("", sound)) <= 1


def test_the_latest_stretch_comes_first_and_what_is_missing_is_repeated() -> None:
    states = np.arange(STATES, dtype=np.float32)[:, None]
    assert list(pooled(states)) == sorted(pooled(states), reverse=True)
    assert pooled(states)[0] == np.mean(np.arange(STATES)[-8:])
    assert list(pooled(np.concatenate([states, states]))) == list(pooled(states))
    assert pooled(states[:1])[3] == 0
    assert list(pooled(np.arange(33, dtype=np.float32)[:, None])) == [28.5, 22.5, 16.5, 6.0]
