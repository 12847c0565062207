"""A turn's end and pauses where they are, every disagreement said with its instant, impossible corrections refused."""

from collections.abc import Callable

import numpy as np
import pytest

from harness.audio.pcm import to_float, to_int16
from harness.audio.recorded_turns import NoTurn, RecordedTurn
from harness.audio.speech import breath
from harness.audio.speech_edges import level_db
from harness.audio.vocal import silero
from harness.people.caller.ends import Corrections, Disagreement, FoundEnds, Impossible, corrected, found_ends
from tests.harness.people.spoken import RATE_HZ, Spoken, spoken

PRESSED_AFTER_S = 0.4


def found(turn: Spoken, pressed_after_s: float | None = PRESSED_AFTER_S) -> FoundEnds:
    return found_ends(turn.samples, RATE_HZ, silero(), None if pressed_after_s is None else turn.end_s + pressed_after_s)


@pytest.mark.parametrize(
    ("room_db", "pause_ms"),
    [(40.0, 20.0), pytest.param(45.0, 20.0, marks=pytest.mark.long), pytest.param(35.0, 30.0, marks=pytest.mark.long)],
)
def test_ends_within_30_ms_and_pauses_within_20_ms_of_the_truth(room_db: float, pause_ms: float) -> None:
    ends: list[float] = []
    edges: list[float] = []
    said: list[Disagreement] = []
    missed = 0
    for k in range(12):
        turn = spoken(k, room_db)
        seen = found(turn)
        ends.append(1000 * (seen.turn.end_s - turn.end_s))
        for start, end in turn.pauses:
            there = [p for p in seen.turn.pauses if p[0] < end and start < p[1]]
            missed += len(there) != 1
            edges += [1000 * (p - true) for p, true in zip(there[0] if there else (), (start, end), strict=False)]
        said += seen.disagreements
    assert np.abs(ends).max() <= 30
    assert np.abs(edges).max() <= pause_ms
    assert missed <= 1, "one of 37 pauses lasts 205 ms, and noise may make it shorter than 200 ms"
    assert said == [], "of 12 turns without a fault none asks anything"


def of(turn: Spoken, at_s: float, sound: np.ndarray[tuple[int], np.dtype[np.float32]]) -> Spoken:
    """The turn with another sound added at an instant."""
    samples = to_float(turn.samples)
    first = round(at_s * RATE_HZ)
    samples[first : first + sound.size] += sound[: samples.size - first]
    return Spoken(to_int16(samples), turn.end_s, turn.pauses)


def long_pause(turn: Spoken) -> tuple[float, float]:
    return max(turn.pauses, key=lambda p: p[1] - p[0])


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_sound_in_a_pause_is_part_of_it_and_asked_about(k: int) -> None:
    turn = spoken(k)
    start, end = long_pause(turn)
    drawn = breath(RATE_HZ, level_db(to_float(turn.samples), RATE_HZ), k)
    seen = found(of(turn, (start + end) / 2 - 0.15, drawn))
    (asked,) = seen.disagreements
    assert asked.code == "sound_in_pause"
    assert start < asked.at_s < end
    assert f"at {asked.at_s:.1f} s" in asked.words
    assert min(abs(p[0] - start) + abs(p[1] - end) for p in seen.turn.pauses) < 0.1


PAUSING = (1, 2, 3, 4, 5, 6, 7, 9, 10, 11)
"""Turns that have a pause."""


@pytest.mark.parametrize("k", PAUSING)
def test_a_press_in_the_middle_of_the_turn_ends_it_and_the_rest_is_asked_about(k: int) -> None:
    turn = spoken(k)
    start, end = long_pause(turn)
    seen = found_ends(turn.samples, RATE_HZ, silero(), (start + end) / 2)
    assert seen.turn.end_s == pytest.approx(start, abs=0.03)
    (asked,) = [d for d in seen.disagreements if d.code == "speech_after_press"]
    assert asked.at_s == pytest.approx(end, abs=0.03)
    assert "left out" in asked.words
    mine = corrected(seen, Corrections(end_s=turn.end_s))
    assert mine == RecordedTurn(seen.turn.start_s, turn.end_s, found(turn).turn.pauses)


def test_a_press_before_the_last_word_is_over_ends_the_turn_with_the_word() -> None:
    turn = spoken(0)
    seen = found(turn, -0.3)
    assert seen.turn.end_s == pytest.approx(turn.end_s, abs=0.03)
    assert [d.code for d in seen.disagreements] == ["speech_after_press"]


def test_a_late_press_none_and_a_cut_recording_are_said() -> None:
    turn = spoken(0)
    longer = np.concatenate([turn.samples, spoken(5).samples[:RATE_HZ]])  # a second of the same kind of room
    late = found_ends(longer, RATE_HZ, silero(), turn.end_s + 1.8)
    assert [d.code for d in late.disagreements] == ["late_press"]
    assert "1.8 s later" in late.disagreements[0].words
    assert [d.code for d in found(turn, None).disagreements] == ["no_press"]
    cut = turn.samples[: round((turn.end_s - 0.05) * RATE_HZ)]
    assert "cut" in [d.code for d in found_ends(cut, RATE_HZ, silero(), None).disagreements]
    with pytest.raises(NoTurn, match="before the key"):
        found_ends(turn.samples, RATE_HZ, silero(), 0.3)


SEEN = FoundEnds(RecordedTurn(1.0, 9.0, ((2.0, 2.5), (4.0, 4.5), (7.0, 7.6))), 9.4, 10.0, ())


def test_the_speaker_decides() -> None:
    assert corrected(SEEN, Corrections()) == SEEN.turn
    assert corrected(SEEN, Corrections(no_pauses=(1,))).pauses == ((2.0, 2.5), (7.0, 7.6))
    assert corrected(SEEN, Corrections(end_s=6.5)) == RecordedTurn(1.0, 6.5, ((2.0, 2.5), (4.0, 4.5)))
    assert corrected(SEEN, Corrections(end_s=7.0)).pauses == ((2.0, 2.5), (4.0, 4.5))
    more = Corrections(pauses=((5.0, 5.3),), no_pauses=(0,))
    assert corrected(SEEN, more).pauses == ((4.0, 4.5), (5.0, 5.3), (7.0, 7.6))
    went_on = FoundEnds(SEEN.turn, 9.4, 14.0, (), ((10.0, 11.0), (12.0, 13.0)))
    assert corrected(went_on, Corrections()) == SEEN.turn
    assert corrected(went_on, Corrections(end_s=11.0)) == RecordedTurn(1.0, 11.0, (*SEEN.turn.pauses, (9.0, 10.0)))
    assert corrected(went_on, Corrections(end_s=13.0, no_pauses=(3,))).pauses == (*SEEN.turn.pauses, (11.0, 12.0))
    mended = Corrections(pauses=((1.9, 2.6),), no_pauses=(0,))
    assert corrected(SEEN, mended).pauses[0] == (1.9, 2.6)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (Corrections(end_s=0.5), "you begin to speak at 1.00 s"),
        (Corrections(end_s=11), "the recording lasts 10.00 s"),
        (Corrections(end_s=7.3), "the turn ends at 7.00 s"),
        (Corrections(no_pauses=(3,)), "no pause 4: 3 were found"),
        (Corrections(pauses=((5.3, 5.0),)), "ends before it begins"),
        (Corrections(pauses=((5.0, 5.1),)), "too short"),
        (Corrections(pauses=((0.2, 0.6),)), "outside the turn"),
        (Corrections(pauses=((8.8, 9.5),)), "not followed by speech"),
        (Corrections(pauses=((4.2, 5.0),)), "overlaps the one from 4.00 to 4.50 s"),
    ],
)
def test_an_impossible_correction_is_refused_in_words(asked: Corrections, said: str) -> None:
    with pytest.raises(Impossible, match=said) as refused:
        corrected(SEEN, asked)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("wrong", [{"end_s": float("nan")}, {"end_s": -1}, {"pauses": [[1.0]]}, {"start": 1}])
def test_what_is_no_correction_is_refused(wrong: dict[str, object]) -> None:
    refuse: Callable[[object], Corrections] = Corrections.model_validate
    with pytest.raises(ValueError, match="validation error"):
        refuse(wrong)
