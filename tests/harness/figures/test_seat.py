"""Sentences on people beside agents: no claim that an interval does not allow, and a rehearsal is never called people."""

from typing import Any

import pytest

from harness.figures.cautions import Caution
from harness.figures.seat import BesideSeat, Bounded, SeatSummary, beside_words, line_names, seat_words
from tests.harness.figures.test_cautions import by_code, summary


def beside(later: tuple[float, float, float] | None, won: tuple[float, float, float] | None, **more: Any) -> BesideSeat:
    given: dict[str, Any] = {"seat": "people", "persons": 12, "conversations": 12, "comparisons": 36, "by_people": False}
    return BesideSeat(
        **given | more,
        later_ms=Bounded() if later is None else Bounded(value=later[0], interval=later[1:]),
        preferred=Bounded() if won is None else Bounded(value=won[0], interval=won[1:]),
    )


LATER, BELOW = (240.0, 120.0, 380.0), (0.31, 0.2, 0.44)


@pytest.mark.parametrize(
    ("given", "quoted", "says"),
    [
        (beside(LATER, BELOW), True, "answers 240 ms later than people do here (120 ms to 380 ms), and is preferred to a "
         "random person's reply in only 31 % of 36 verdicts (20–44 %)"),
        (beside(LATER, BELOW), False, "answers 240 ms later than people do here (120 ms to 380 ms)"),
        (beside((-90.0, -150.0, -20.0), (0.6, 0.52, 0.7), by_people=True), True, "answers 90 ms sooner than people do here (20 "
         "ms to 150 ms), and is preferred to a random person's reply in 60 % of 36 votes (52–70 %)"),
        (beside((30.0, -50.0, 100.0), (0.45, 0.35, 0.56)), True, "answers neither clearly later nor clearly sooner than people "
         "do here (−50 ms to 100 ms), and is preferred to a random person's reply in 45 % of 36 verdicts (35–56 %), which is "
         "not clearly more or less than half"),
        (beside((240.0, 240.0, 240.0), None, persons=2), False, "too few people or conversations to compare its wait with "
         "people's"),
        (beside(None, None), False, "its wait cannot be compared with people's, because too many turns got no reply"),
        (beside(LATER, None, comparisons=0), True, "answers 240 ms later than people do here (120 ms to 380 ms), and was never "
         "compared with a random person's reply"),
    ],
)  # fmt: skip
def test_a_sentence_claims_what_its_interval_allows(given: BesideSeat, quoted: bool, says: str) -> None:
    assert beside_words(given, quoted=quoted) == says.replace("(", "(95 % interval ")


def seat(agent: str = "people", **more: Any) -> SeatSummary:
    given: dict[str, Any] = {
        "agent": agent, "condition": "clean", "persons": 12, "conversations": 12, "replies": 36, "sittings": 12,
        "not_calibrated": 0, "over_limit": 0, "largest_error_ms": 6.5, "unrated": 0, "with_losses": 0,
        "mean": Bounded(value=1510.0, interval=(1470.0, 1550.0)), "best": Bounded(),
    }  # fmt: skip
    return SeatSummary(**given | more)


def test_a_rehearsal_is_called_one() -> None:
    of_programs = seat("rehearsal")
    assert seat_words(of_programs).startswith("rehearsal: 12 speakers of a rehearsal, no people, gave 36 replies to 12 ")
    said = [seat_words(of_programs), beside_words(beside(LATER, BELOW, seat="rehearsal"), quoted=True)]
    said += [name for name, _ in line_names(of_programs)]
    said += [c.text for c in _of_seat(of_programs).values()]
    for text in said:
        assert "rehearsal" in text
        assert "person" not in text
        assert "people" not in text.replace("no people", "").replace("They are no people's", "")


def _of_seat(given: SeatSummary) -> dict[str, Caution]:
    found = by_code(summary(seats=[given.model_dump()]))
    return {code: c for code, c in found.items() if code in ("few_people", "seat_error", "seat_losses", "rehearsal")}


@pytest.mark.parametrize(
    ("changed", "code", "says"),
    [
        ({}, None, ""),
        ({"persons": 2}, "few_people", "2 people answered 12 conversations"),
        ({"conversations": 7}, "few_people", "12 people answered 7 conversations"),
        ({"not_calibrated": 1}, "seat_error", "1 of 12 sittings had a reply without a loop-back trial"),
        ({"over_limit": 2, "largest_error_ms": 31.0}, "seat_error", "2 of 12 sittings had an error over 20 ms"),
        ({"with_losses": 3}, "seat_losses", "in 3 of 36 replies"),
    ],
)
def test_what_weakens_peoples_figures_is_said(changed: dict[str, Any], code: str | None, says: str) -> None:
    found = _of_seat(seat(**changed))
    assert set(found) == ({code} if code else set())
    assert all(says in caution.text and caution.level == "warn" for caution in found.values())
