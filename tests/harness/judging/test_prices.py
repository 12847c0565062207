"""Prices of judges: the list that ships has every shipped model, a judge's own price goes first, and the date is shown."""

from harness.judging.prices import price_of
from harness.judging.settings import load_judge_settings, shipped_judges
from harness.verdicts.estimate import Estimate, cost_in_words

LOCAL = {"embedded", "local-server"}


def test_every_hosted_judge_that_ships_has_a_dated_price_with_its_source() -> None:
    for name in set(shipped_judges()) - LOCAL:
        settings = load_judge_settings(name)
        price = price_of(settings)
        assert price is not None, name
        assert price.as_of
        assert price.source.startswith("https://")
        assert 0 < price.usd_in < price.usd_out
        assert (price.usd_audio_in is not None) or settings.audio is None


def test_a_judge_s_own_price_goes_first_and_no_price_is_another_server_s() -> None:
    shipped = load_judge_settings("openai")
    own = price_of(shipped.model_copy(update={"price_in": 1.0, "price_out": 2.0}))
    assert own is not None
    assert (own.of(1e6, 1e6), own.as_of) == (3.0, "")
    assert price_of(shipped.model_copy(update={"base_url": "https://elsewhere.example/v1"})) is None
    assert price_of(shipped.model_copy(update={"model": "another"})) is None
    assert price_of(load_judge_settings("local-server")) is None
    here = price_of(load_judge_settings("embedded"))
    assert here is not None
    assert here.of(1e9, 1e9) == 0


def test_a_cost_is_said_with_the_date_of_a_price_that_is_not_the_user_s() -> None:
    def plan(cost: float | None, as_of: str) -> Estimate:
        return Estimate("j@1", 1, 1, 1, 1, cost, price_as_of=as_of)

    assert cost_in_words(plan(1.5, "2026-03")) == "US$ 1.50 at prices of 2026-03"
    assert cost_in_words(plan(1.5, "")) == "US$ 1.50"
    assert cost_in_words(plan(None, "")) == "no price on file"
