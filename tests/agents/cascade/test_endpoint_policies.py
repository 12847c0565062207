"""How much silence each policy asks for."""

from dataclasses import dataclass

import numpy as np
import pytest

from harness.agents.cascade.endpoint_policies import (
    AdaptiveSilence,
    BlendedScorer,
    FixedSilence,
    PauseEvidence,
    ScoredSilence,
    TurnScorer,
)
from harness.agents.cascade.pipeline import make_policy
from harness.agents.cascade.settings import CascadeSettings, ScorerName
from harness.agents.cascade.turn_scorers import HesitationVeto, LastWordScorer, LengthScorer


@dataclass(frozen=True)
class Saying:
    """A scorer of one opinion."""

    probability: float

    async def probability_complete(self, _evidence: PauseEvidence) -> float:
        return self.probability


def words(text: str) -> PauseEvidence:
    return PauseEvidence(text, np.zeros(160, np.float32))


@pytest.mark.parametrize(("score", "needed"), [(0.0, 800), (0.2, 800), (0.5, 600), (0.8, 400), (1.0, 400)])
async def test_silence_shrinks_as_the_words_seem_complete(score: float, needed: float) -> None:
    policy = ScoredSilence(Saying(score), 400, 800, 0.2, 0.8)
    assert await policy.silence_needed_ms(words("x")) == pytest.approx(needed)
    assert policy.longest_ms == 800


async def test_two_speeds_have_nothing_in_between() -> None:
    needed = [await ScoredSilence(Saying(p), 400, 800, 0.4, 0.4).silence_needed_ms(words("x")) for p in (0.39, 0.4, 0.41)]
    assert needed == [800, 400, 400]


async def test_an_adaptive_policy_waits_for_a_slow_speaker_within_bounds() -> None:
    policy = AdaptiveSilence(FixedSilence(450), quantile=1.0, factor=1.2, most_ms=850)
    assert await policy.silence_needed_ms(words("x")) == 450
    policy.observe_pause(600)
    assert await policy.silence_needed_ms(words("x")) == 450
    policy.observe_pause(300)
    assert await policy.silence_needed_ms(words("x")) == pytest.approx(720)
    policy.observe_pause(1500)
    assert await policy.silence_needed_ms(words("x")) == 850


async def test_a_sure_opinion_outweighs_an_unsure_one() -> None:
    blend = BlendedScorer([(Saying(0.99), 1.0), (Saying(0.4), 1.0)])
    assert await blend.probability_complete(words("x")) > 0.8
    assert await BlendedScorer([(Saying(0.3), 2.0)]).probability_complete(words("x")) == pytest.approx(0.3)


@pytest.mark.parametrize(("length", "asked"), [(0.001, False), (0.3, True), (0.9, True), (0.995, False)])
async def test_a_model_is_asked_only_where_its_answer_can_change_the_wait(length: float, asked: bool) -> None:
    heard: list[str] = []

    class Asked:
        async def probability_complete(self, evidence: PauseEvidence) -> float:
            heard.append(evidence.text)
            return 0.5

    scorers: list[tuple[TurnScorer, float]] = [(Saying(length), 5.0), (Asked(), 1.0)]
    lazy = await BlendedScorer(scorers, (0.05, 0.9)).probability_complete(words("x"))
    assert bool(heard) is asked
    full = await BlendedScorer(scorers).probability_complete(words("x"))
    assert (lazy <= 0.05, lazy >= 0.9) == (full <= 0.05, full >= 0.9)


@pytest.mark.parametrize(
    ("text", "complete"), [("I miss him.", 1.0), ("I miss him and.", 0.0), ("I feel like, um,", 0.0), ("", 0.0)]
)
async def test_nobody_ends_on_a_word_that_leads_on(text: str, complete: float) -> None:
    assert await LastWordScorer().probability_complete(words(text)) == complete


@pytest.mark.parametrize(("text", "complete"), [("I miss him.", 0.9), ("I miss him, um...", 0.0), ("", 0.9)])
async def test_a_hesitation_outvotes_every_scorer(text: str, complete: float) -> None:
    assert await HesitationVeto(Saying(0.9)).probability_complete(words(text)) == complete


async def test_a_sharp_length_prior_far_from_its_middle_is_sure() -> None:
    scorer = LengthScorer(words_at_half=400, spread_words=0.5)
    assert await scorer.probability_complete(words("So.")) == 0.0
    assert await scorer.probability_complete(words("so " * 401)) > 0.8


async def test_length_counts_what_was_said_before_a_turn_was_ended_too_soon() -> None:
    scorer = LengthScorer(words_at_half=4, spread_words=1)
    assert await scorer.probability_complete(words("one two three four")) == pytest.approx(0.5)
    gone_on = PauseEvidence("three four", np.zeros(160, np.float32), said_before="one two")
    assert await scorer.probability_complete(gone_on) == pytest.approx(0.5)


async def test_a_profile_names_its_policy_and_scorers() -> None:
    asked: list[ScorerName] = []

    def make_scorer(name: ScorerName) -> TurnScorer:
        asked.append(name)
        return Saying(0.9)

    settings = CascadeSettings.model_validate(
        {
            "stt": {"service": "streaming-whisper"},
            "endpoint": {
                "policy": "graded",
                "short_ms": 400,
                "long_ms": 800,
                "complete_from": 0.5,
                "scorers": {"llm": 1.0, "smart-turn": 0.5},
                "adapt": {"most_ms": 1000},
            },
        }
    )
    assert settings.endpoint.policy == "graded"
    policy = make_policy(settings.endpoint, make_scorer)
    assert sorted(asked) == ["llm", "smart-turn"]
    assert policy.longest_ms == 1000
    assert await policy.silence_needed_ms(words("x")) == 400


async def test_a_profile_may_have_hesitations_waited_out() -> None:
    endpoint = {"policy": "two-speed", "short_ms": 400, "long_ms": 800, "hesitation_veto": True}
    settings = CascadeSettings.model_validate({"stt": {"service": "streaming-whisper"}, "endpoint": endpoint})
    assert settings.endpoint.policy == "two-speed"
    policy = make_policy(settings.endpoint, lambda _name: Saying(1.0))
    assert await policy.silence_needed_ms(words("and then, um")) == 800
    assert await policy.silence_needed_ms(words("and then he left")) == 400
