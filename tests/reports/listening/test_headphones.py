"""The headphone trials as a gate: nobody without headphones meets a conversation, and nobody is let in by trying."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from harness.reports.listening import headphones
from harness.reports.listening.plan import Item
from harness.reports.listening.results import raters_of

Serve = Callable[..., Any]
SETTINGS = {"items": 2, "practice": 0, "gold": 0, "attention": 0, "headphone_trials": 3, "hearing_share": 0.0}


def answered(rater: Any, right: Callable[[int], bool], served: Any) -> dict[str, Any]:
    """Answer everything up to the first conversation; `right`: whether the trial at a position is to be passed."""
    step: dict[str, Any] = rater.get("/step").json()
    while step["kind"] in ("level", "headphones"):
        (known,) = served.votes.raters()
        position = step["position"]
        item = headphones.in_round(
            known.plan[position], served.votes.failed_rounds(known), position, served.votes.media_secret, known.id
        )
        assert rater.get(step["sounds"][0]).status_code == 200
        answer = {} if item.expected is None else {"tone": item.expected if right(position) else item.expected % 3 + 1}
        reply = rater.post("/answer", json={"position": position, "answer": answer})
        assert reply.status_code == 200, reply.text
        step = reply.json()
        if position == headphones.trials(known.plan)[-1] and step["kind"] == "headphones":
            break
    return step


def test_who_fails_is_told_tries_again_and_goes_on_without_a_stain(serve: Serve) -> None:
    served = serve(**SETTINGS)
    rater = served.begun()
    step = answered(rater, lambda position: position != 2, served)
    assert (step["kind"], step["position"]) == ("headphones", 1)
    assert "put headphones on" in step["instruction"]
    # The page lost the reply and sends the same answer again: it is not an answer to anything now.
    again = rater.post("/answer", json={"position": 3, "answer": {"tone": 1}})
    assert again.json()["position"] == 1
    # The sound of this round is another than that of the last, and must be heard.
    assert rater.post("/answer", json={"position": 1, "answer": {"tone": 1}}).status_code == 409
    step = answered(rater, lambda _: True, served)
    assert step["kind"] == "pair"
    for position in (4, 5):
        step = rater.get("/step").json()
        for address in [step["caller"], *(reply["sound"] for reply in step["replies"])]:
            rater.get(address)
        rater.post("/answer", json={"position": position, "answer": {"choice": position - 4, "reason": "warmer"}})
    (quality,) = raters_of(served.votes.answers())
    assert (quality.checks, quality.failed, quality.excluded) == (3, 0, False)


def test_who_fails_every_round_is_asked_nothing_more(serve: Serve) -> None:
    served = serve(**SETTINGS)
    rater = served.begun()
    for number in range(1, headphones.ROUNDS + 1):
        step = answered(rater, lambda _: False, served)
        assert step["kind"] == ("headphones" if number < headphones.ROUNDS else "unheard")
    assert rater.get("/step").json()["kind"] == "unheard"
    assert rater.post("/answer", json={"position": 4, "answer": {"choice": 1, "reason": "warmer"}}).json()["kind"] == "unheard"
    assert {a.item.role for a in served.votes.answers()} == {"level", "headphones"}
    assert served.votes.coverage() == {}


@pytest.mark.parametrize(("of", "needed"), [(1, 1), (2, 2), (3, 3), (5, 5), (6, 5)])
def test_five_of_six_is_enough_and_no_trial_asks_for_nothing(of: int, needed: int) -> None:
    assert headphones.heard([True] * needed + [False] * (of - needed))
    assert not headphones.heard([True] * (needed - 1) + [False] * (of - needed + 1))
    assert headphones.heard([])
    assert not headphones.trials([Item(role="level"), Item(role="main")])


def test_the_tones_of_another_round_cannot_be_worked_out_from_the_first() -> None:
    item = Item(role="headphones", expected=2)
    tones = Counter(headphones.in_round(item, 1, 1, b"secret", f"rater-{k}").expected for k in range(300))
    assert set(tones) == {1, 2, 3}
    assert min(tones.values()) > 60
    assert headphones.in_round(item, 0, 1, b"secret", "rater-1") is item
