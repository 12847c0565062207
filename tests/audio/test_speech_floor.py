"""Holding the floor and handing it over: which stretch gets which cues, how often, and always the same from a seed."""

import pytest

from harness.audio.speech_floor import FloorSettings, Stretch, plan_turn
from harness.audio.speech_text import parse_marked

TURN = "I went home, <pause 300> late. <pause 700> And I slept. <pause 900> Does it matter? <pause 400> I saw… <pause 500> no."


def _planned(text: str, **settings: float) -> tuple[Stretch, ...]:
    return plan_turn(parse_marked(text), FloorSettings(**settings))  # type: ignore[arg-type]


def test_kinds_of_end_follow_the_text_and_trailing_off_is_no_end_of_a_sentence() -> None:
    kinds = [stretch.ending.kind for stretch in _planned(TURN)]
    assert kinds == ["mid_sentence", "after_sentence", "after_sentence", "after_sentence", "mid_sentence", "turn_end"]


def test_a_held_pause_leaves_the_sentence_open_and_names_its_cues() -> None:
    held = _planned(TURN, hold_share=1.0, conjunction_share=0.0, filler_share=0.0, breath_share=1.0)[1]
    assert held.text == "late,"
    assert held.ending.holds
    assert held.ending.final_lengthening < 1
    assert "breath" in held.ending.cues
    assert {"plateau", "rising_pitch"} & set(held.ending.cues)
    assert not held.closes


def test_a_conjunction_is_said_before_the_pause_and_not_twice() -> None:
    before, after = _planned(TURN, hold_share=1.0, conjunction_share=1.0)[1:3]
    assert before.text == "late, and"
    assert after.text.startswith("I slept")
    assert "conjunction" in before.ending.cues


def test_an_um_is_said_where_it_is_asked_for() -> None:
    held = _planned("I slept. <pause 900> Then it rained.", hold_share=1.0, filler_share=1.0)[0]
    assert held.text == "I slept, um,"
    assert "filler" in held.ending.cues


def test_in_mid_sentence_a_syllable_is_drawn_out_or_an_um_is_said_and_a_comma_stays_up() -> None:
    inside = _planned("I went <pause 300> home.", mid_filler_share=0.0)[0]
    assert (inside.text, inside.ending.tone, inside.ending.holds) == ("I went", "plateau", None)
    assert inside.ending.final_lengthening > 1.5
    filled = _planned("I went <pause 300> home.", mid_filler_share=1.0)[0]
    assert filled.text == "I went, um,"
    assert "filler" in filled.ending.cues
    own = _planned("I went, um, <pause 300> home.", mid_filler_share=1.0)[0]
    assert own.text == "I went, um,", "nobody says it twice"
    comma = _planned("I went home, <pause 300> late.", mid_filler_share=0.0)[0]
    assert comma.ending.tone in ("plateau", "rise")
    assert comma.ending.final_lengthening == 1.0


def test_a_pause_that_is_not_held_is_read_as_it_stands_and_a_question_is_never_held() -> None:
    assert _planned(TURN, hold_share=0.0)[1].text == "late."
    question = _planned(TURN, hold_share=1.0)[3]
    assert question.text == "Does it matter?"
    assert question.ending.holds is False


def test_a_turn_ends_on_yielding_cues_and_in_some_cases_does_not() -> None:
    yielding = _planned("I slept", yield_share=1.0)[-1]
    assert yielding.text == "I slept."
    assert yielding.ending.cues == ("falling_pitch", "fading")
    assert _planned("I slept", yield_share=0.0)[-1].ending.holds
    assert "falling_pitch" not in _planned("Did I sleep?", yield_share=1.0)[-1].ending.cues


def test_shares_are_met_over_many_turns_and_the_seed_decides() -> None:
    texts = [f"I went to place number {k}. <pause 600> Then I left it." for k in range(600)]
    settings = FloorSettings()
    held = [plan_turn(parse_marked(text), settings)[0].ending.holds for text in texts]
    assert sum(map(bool, held)) / len(held) == pytest.approx(settings.hold_share, abs=0.06)
    assert held == [plan_turn(parse_marked(text), settings)[0].ending.holds for text in texts]
    assert held != [plan_turn(parse_marked(text), FloorSettings(seed=1))[0].ending.holds for text in texts]


def test_a_share_outside_0_to_1_is_refused() -> None:
    with pytest.raises(ValueError, match=r"hold_share 1\.5"):
        FloorSettings(hold_share=1.5)
