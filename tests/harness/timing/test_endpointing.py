"""Inner pauses, what became of them, and dead air, on recordings whose every time is known."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.made_recordings import CALLER_HZ, Said, make_recording, onset_ms, voice
from harness.agents.connection import Mark
from harness.recording.record import Pause
from harness.timing import measure
from harness.timing.endpointing import METHOD, inner_gaps, with_kinds
from harness.timing.figures import Endpointing, InnerPause, TurnTiming
from tests.present import present

LATE = voice(1.5, seed=1)


def measured(*said: Said, **options: object) -> Endpointing:
    return present(measure(make_recording(*said, **options).recording).endpointing)  # type: ignore[arg-type]


def fates(found: Endpointing) -> list[str]:
    return [pause.fate for pause in found.pauses]


def test_gaps_of_the_dry_signal_count_marked_or_not() -> None:
    recording = make_recording(Said(0.5, LATE), pauses_s=[(0.3, 0.15), (0.7, 0.25), (1.2, 0.5)]).recording
    turn = recording.caller.turns[0]
    unmarked = replace(turn, pauses=turn.pauses[:1])
    gaps = inner_gaps(recording.caller, unmarked)
    assert [round((g.end_sample - g.start_sample) / CALLER_HZ, 2) for g in gaps] == [0.25, 0.5]
    assert [(g.marked, g.place) for g in gaps] == [(False, 1), (False, 1)]
    assert [(g.marked, g.place) for g in inner_gaps(recording.caller, turn)] == [(True, 1), (True, 2)]


def test_a_marked_pause_in_which_a_breath_sounds_is_one_pause() -> None:
    recording = make_recording(Said(0.5, LATE), pauses_s=[(0.5, 0.8)]).recording
    (pause,) = recording.caller.pauses
    dry = recording.caller.dry.copy()
    middle = (pause.start_sample + pause.end_sample) // 2
    dry[middle : middle + 1_600] = np.random.default_rng(1).normal(0, 250, 1_600).astype(np.int16)
    (gap,) = inner_gaps(replace(recording.caller, dry=dry), recording.caller.turns[0])
    assert gap.end_sample - gap.start_sample == pytest.approx(0.8 * CALLER_HZ, abs=200)


def test_two_marks_with_nothing_said_between_them_are_one_pause() -> None:
    recording = make_recording(Said(0.5, LATE), pauses_s=[(0.5, 0.6)]).recording
    (pause,) = recording.caller.pauses
    middle = pause.start_sample + 4_000
    both = (Pause(pause.start_sample, middle), Pause(middle + 800, pause.end_sample))
    (gap,) = inner_gaps(recording.caller, replace(recording.caller.turns[0], pauses=both))
    assert (gap.start_sample, gap.end_sample) == pytest.approx((pause.start_sample, pause.end_sample), abs=32)


@pytest.mark.parametrize(
    ("at_s", "fate"),
    [(-1.45, "cut"), (-0.95, "cut"), (-0.65, "cut"), (-0.50, "kept"), (-1.8, "already_talking")],
)
def test_a_pause_is_cut_by_who_begins_in_it_or_within_300_ms_of_speech(at_s: float, fate: str) -> None:
    # The pause lasts from −1.5 to −0.9 s.
    found = measured(Said(at_s, voice(0.8)), Said(0.6, LATE), pauses_s=[(0.5, 0.6)], clears_s=[0.3])
    assert fates(found) == [fate]
    assert found.dead_air_ms == pytest.approx(600 + onset_ms(LATE), abs=2)
    assert found.method == METHOD


def test_talking_on_through_the_next_pauses_is_charged_once() -> None:
    pauses = [(0.4, 0.4), (1.2, 0.4), (2.0, 0.4)]
    found = measured(Said(-2.5, voice(2.2)), Said(0.6, LATE), pauses_s=pauses, speech_s=3.0, clears_s=[0.3])
    assert fates(found) == ["cut", "already_talking", "already_talking"]


def test_who_begins_before_the_next_pause_cut_the_first_and_who_begins_in_it_the_second() -> None:
    # Pauses from −1.6 to −1.2 and from −1.0 to −0.6 s: 200 ms of speech between them.
    pauses = [(0.4, 0.4), (1.0, 0.4)]
    assert fates(measured(Said(-1.1, voice(0.8)), pauses_s=pauses)) == ["cut", "already_talking"]
    assert fates(measured(Said(-0.95, voice(0.8)), pauses_s=pauses)) == ["kept", "cut"]


def test_a_backchannel_cuts_no_pause_and_is_no_talk_at_the_end() -> None:
    found = measured(Said(-1.3, voice(0.3)), Said(-0.1, voice(0.3)), Said(0.9, LATE), pauses_s=[(0.5, 0.6)])
    assert fates(found) == ["kept"]
    assert not found.talking_at_end
    assert found.dead_air_ms == pytest.approx(900 + onset_ms(LATE), abs=2)


def test_a_reply_that_runs_across_the_end_enters_with_what_is_said_next() -> None:
    early = Said(-0.35, voice(1.0))
    found = measured(early, Said(1.5, LATE))
    assert found.talking_at_end
    assert found.dead_air_ms == pytest.approx(1_500 + onset_ms(LATE), abs=2)
    assert measured(early).dead_air_ms is None


def decided(*at_s: float, said: tuple[Said, ...] = (Said(0.8, LATE),)) -> Endpointing:
    made = make_recording(*said, pauses_s=[(0.5, 0.6)])
    found = tuple(Mark("turn_decided", made.ms(at), made.ms(at)) for at in at_s)
    return present(measure(replace(made.recording, marks=found)).endpointing)


def test_a_decision_in_the_last_pause_is_none_for_the_end() -> None:
    # Pauses from −1.6 to −1.2 and from −1.0 to −0.6 s; the window of the last one ends at −0.3.
    made = make_recording(Said(0.8, LATE), pauses_s=[(0.4, 0.4), (1.0, 0.4)])
    for at_s, decision_ms in ((-0.8, None), (-0.2, -200.0)):
        found = replace(made.recording, marks=(Mark("turn_decided", made.ms(at_s), made.ms(at_s)),))
        assert present(measure(found).endpointing).decision_ms == (decision_ms and pytest.approx(decision_ms))


def test_the_decision_that_led_to_the_reply_is_the_last_before_it() -> None:
    found = decided(-1.0, 0.25, 0.55, 1.2)
    assert found.decision_ms == pytest.approx(550)
    assert [pause.decided for pause in found.pauses] == [True]
    assert fates(found) == ["kept"]


def test_without_a_reply_the_first_decision_counts() -> None:
    assert decided(0.3, 0.9, said=()).decision_ms == pytest.approx(300)


def _timing(*places: tuple[bool, int], marks: int) -> TurnTiming:
    pauses = tuple(InnerPause(-900, -500, "kept", marked, place) for marked, place in places)
    return TurnTiming("m", 0, None, pauses_marked=marks, endpointing=Endpointing("e", pauses, None))


def _kinds(timing: TurnTiming, text: str | None) -> list[str]:
    return [pause.kind for pause in present(with_kinds(timing, text).endpointing).pauses]


@pytest.mark.parametrize(
    ("before", "kind"),
    [
        ("I went home.", "after_sentence"),
        ("Did I?", "after_sentence"),
        ("“Never!”", "after_sentence"),
        ("I, um,", "mid_sentence"),
        ("I went", "mid_sentence"),
        ("I thought...", "mid_sentence"),
        ("I thought…", "mid_sentence"),
        ("and then -", "mid_sentence"),
        ("It cost 3.", "after_sentence"),
    ],
)
def test_a_marked_pause_is_of_the_kind_of_the_words_before_it(before: str, kind: str) -> None:
    assert _kinds(_timing((True, 0), marks=1), f"{before} <pause 400> so it was.") == [kind]


def test_a_gap_without_a_mark_is_in_mid_sentence_only_where_no_sentence_ends() -> None:
    text = "It rained, and I walked <pause 150> home. Then I slept. <pause 300> That was all."
    found = _timing((False, 0), (False, 1), (True, 1), (False, 2), marks=2)
    assert _kinds(found, text) == ["mid_sentence", "unknown", "after_sentence", "mid_sentence"]


def test_pauses_found_in_a_recording_are_placed_only_in_a_single_sentence() -> None:
    found = _timing((True, 0), (True, 1), marks=2)
    assert _kinds(found, "One sentence, said slowly.") == ["mid_sentence"] * 2
    assert _kinds(found, "One sentence. And another.") == ["unknown"] * 2
    assert _kinds(found, "Marks <pause 300> that do not fit.") == ["unknown"] * 2
    assert _kinds(found, None) == ["unknown"] * 2
    assert _kinds(found, "…") == ["unknown"] * 2
