"""Waits that shrink with the evidence, and the model of spoken completeness that is part of it."""

import math
from collections.abc import Mapping
from typing import cast

import numpy as np
import pytest
from scipy.special import expit

from harness.agents.cascade.endpoint_policies import PauseEvidence, TurnScorer
from harness.agents.cascade.fitted_scorers import SpokenCompletenessScorer, features, log_odds, words_of
from harness.agents.cascade.hazard import LISTENS_MS, HazardSilence, Head, ListeningPolicy, load_head
from harness.agents.cascade.pipeline import make_policy
from harness.agents.cascade.settings import CascadeSettings, HazardEndpoint, ScorerName
from harness.agents.cascade.streaming_stt import NOT_HEARD
from harness.agents.profile import load_profile

EVEN = Head(0.0, {"voice": 1.0})


def policy(price: float = 2.0, sure_from: float = math.inf, head: Head = EVEN) -> HazardSilence:
    return HazardSilence({}, {}, head, price, least_ms=300, longest_ms=2_400, sure_from=sure_from)


def waits(asked: HazardSilence, *odds: float) -> list[float]:
    # The even head's weight is one: its log odds are those of the probability, within its bound.
    return [asked.silence_for_ms({"voice": float(expit(each))}) for each in odds]


def test_the_surer_the_end_the_shorter_the_wait() -> None:
    waited = waits(policy(), -9.0, -2.0, 0.0, 0.5, 9.0)
    assert waited == sorted(waited, reverse=True)
    assert waited[0] == 2_400
    assert waited[-1] == 300
    # 200 ms · e^(2 / 2.43): where an end's odds times the rate at which people's pauses still end come to one price.
    assert waited[2] == pytest.approx(200 * math.exp(2 / 2.43))


def test_a_higher_price_of_cutting_in_waits_longer_and_sureness_ends_the_wait() -> None:
    assert waits(policy(4.0), 0.0)[0] > waits(policy(2.0), 0.0)[0]
    assert waits(policy(6.0, sure_from=1.0), 0.99, 1.0) == [pytest.approx(200 * math.exp(5.01 / 2.43), rel=1e-3), 300]


def test_the_voice_is_asked_about_just_in_time_for_the_shortest_wait() -> None:
    def asks_after_ms(*voices: str, least_ms: float = 430.0) -> float:
        nobody = dict.fromkeys(voices, cast(TurnScorer, None))
        return HazardSilence({}, nobody, EVEN, 6.0, least_ms, 2_400).asks_after_ms

    # The slower score decides, and none is asked before it has as much silence as it needs.
    assert 200 < asks_after_ms("holding-cues", "smart-turn") < asks_after_ms("holding-cues") < 430
    assert asks_after_ms("smart-turn", least_ms=250.0) == LISTENS_MS


def test_a_scorer_that_could_not_be_asked_counts_as_undecided() -> None:
    asked = policy()
    assert asked.silence_for_ms({}) == asked.silence_for_ms({"voice": 0.5})
    assert asked.silence_for_ms({"voice": 0.0}) > asked.silence_for_ms({}) > asked.silence_for_ms({"voice": 1.0})


def test_heads_that_ship_believe_every_scorer_and_know_no_length() -> None:
    for without in (None, "smart-turn", "spoken", "holding-cues"):
        head = load_head(without)
        assert without not in head.weights
        assert set(head.weights) <= {"smart-turn", "spoken", "holding-cues"}
        assert all(weight > 0 for weight in head.weights.values())


@pytest.mark.parametrize("name", ["polaris-like", "eager", "patient"])
async def test_profiles_listen_to_voice_and_words(name: str) -> None:
    endpoint = CascadeSettings.model_validate(load_profile(name).model_dump()["cascade"]).endpoint
    assert isinstance(endpoint, HazardEndpoint)
    asked: list[str] = []

    class Sure(TurnScorer):
        def __init__(self, called: ScorerName) -> None:
            self.called = called

        async def probability_complete(self, _evidence: PauseEvidence) -> float:
            asked.append(self.called)
            return 0.99

    made = make_policy(endpoint, Sure)
    assert isinstance(made, ListeningPolicy)
    evidence = PauseEvidence("and then I left", np.zeros(160, np.float32))
    words: Mapping[str, float] = await made.weigh_words(evidence)
    assert asked == ["spoken"]
    weighed = {**words, **{name: await made.weigh_voice(name, evidence) for name in made.voices}}
    assert sorted(asked) == ["holding-cues", "spoken"]
    assert made.silence_for_ms(weighed) == endpoint.least_ms


def test_prices_stand_in_the_order_of_the_profiles() -> None:
    shares = []
    for name in ("eager", "polaris-like", "patient"):
        endpoint = CascadeSettings.model_validate(load_profile(name).model_dump()["cascade"]).endpoint
        assert isinstance(endpoint, HazardEndpoint)
        shares.append(endpoint.price)
    assert shares == sorted(shares)
    assert len(set(shares)) == 3


@pytest.mark.parametrize(
    ("complete", "open_ended"),
    [
        ("I don't know what to do", "I don't know what to"),
        ("it has been like that for two weeks", "it has been like that and"),
        ("yeah that's fine", "yeah but"),
        ("he left me", "he left me because, um"),
    ],
)
async def test_spoken_ends_are_told_from_words_that_lead_on(complete: str, open_ended: str) -> None:
    assert log_odds(complete) > log_odds(open_ended)
    scorer = SpokenCompletenessScorer()
    nothing = np.zeros(0, np.float32)
    ended, going_on = [await scorer.probability_complete(PauseEvidence(t, nothing)) for t in (complete, open_ended)]
    assert 0 < going_on < ended < 1


def test_how_much_was_said_is_no_part_of_it() -> None:
    assert log_odds("I went home") == log_odds("and after all of that had happened to me again I went home")


def test_punctuation_of_a_recogniser_says_nothing() -> None:
    assert log_odds("I went home.") == log_odds("I went home, ")
    assert words_of("I’m ‘fine’, um…") == ["i'm", "fine", "um"]
    assert log_odds(" … ") == -math.inf
    assert len(features([])) == 4


@pytest.mark.parametrize("name", ["polaris-like", "eager"])
def test_a_score_that_is_not_ready_speaks_against_an_end(name: str) -> None:
    endpoint = CascadeSettings.model_validate(load_profile(name).model_dump()["cascade"]).endpoint
    assert isinstance(endpoint, HazardEndpoint)
    made = make_policy(endpoint.model_copy(update={"without": None}), lambda _: cast(TurnScorer, None))
    assert isinstance(made, HazardSilence)
    sure = {"spoken": 0.7, "holding-cues": 0.95}
    assert made.silence_for_ms({**sure, "smart-turn": NOT_HEARD}) == endpoint.least_ms
    assert made.silence_for_ms({"spoken": 0.7, "smart-turn": 0.99, "holding-cues": NOT_HEARD}) > 2 * endpoint.least_ms
