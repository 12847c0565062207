"""What is written to what is spoken: marks, hesitations, broken-off words."""

import pytest

from harness.audio.speech_text import Segment, SpeechTextError, parse_marked, spelt, without_marks


def test_marks_split_a_turn_and_keep_their_lengths() -> None:
    segments = parse_marked("Both, I think. <pause 350> I mean, <pause 1400> I had\n two hours.")
    assert segments == (Segment("Both, I think.", 350), Segment("I mean,", 1400), Segment("I had two hours.", 0))


def test_marks_that_touch_are_one_pause() -> None:
    assert parse_marked("a <pause 300> <pause 200> b")[0].pause_after_ms == 500
    assert parse_marked("a <pause 300> , <pause 200> b") == (Segment("a", 500), Segment("b", 0))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a <pause> b", "'<pause>' cannot be spoken"),
        ("a <pause 300ms> b", "<pause 450>"),
        ("a <Pause 300> b", "cannot be spoken"),
        ("a <laugh> b", "'<laugh>' cannot be spoken"),
        ("a <pause 300 b", "cannot be spoken"),
        ("a <pause 49> b", "outside 50 to 5,?000 ms"),
        ("a <pause 99999> b", "<pause 99999> is outside"),
        ("<pause 300> b", "may not open or close"),
        ("b <pause 300>", "may not open or close"),
        ("... !", "nothing is said"),
        ("", "nothing is said"),
    ],
)
def test_what_cannot_be_spoken_is_said_in_one_line(text: str, says: str) -> None:
    with pytest.raises(SpeechTextError, match=says) as caught:
        parse_marked(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("I… I don't know", "I, I don't know"),
        ("I just... I don't know...", "I just, I don't know."),
        ("Well — no -- never", "Well, no, never"),
        ("It's, um, th- the st- still thing", "It's, um, the still thing"),
        ("b-but why", "but why"),
        ("Nooo. Hmmm, mm, hm", "No. hmm, hmm, hmm"),
        ("“Really?” *really*", "Really? really"),
        ("uh-huh, twenty-one", "uh-huh, twenty-one"),
        ("I can’t", "I can't"),
        ("[sighs] fine (mostly)", "fine, mostly,"),
        ("a wor- word", "a wor, word"),
    ],
)
def test_hesitations_are_spelt_so_that_a_voice_can_say_them(written: str, spoken: str) -> None:
    assert spelt(written) == spoken


def test_the_text_for_reading_has_no_marks() -> None:
    assert without_marks("a <pause 300> b  c") == "a b c"
