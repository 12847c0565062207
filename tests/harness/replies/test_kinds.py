"""Which part of an agent's voice is a backchannel, a filler or the answer, by lengths, gaps and words."""

from random import Random

import pytest

from harness.replies.kinds import Part, ReplyKind, Word, kinds_of

B, F, A = "backchannel", "filler", "answer"
BEGIN_MS = -2_000.0
Times = tuple[float, float]


def parts(*spans: Times) -> list[Part]:
    """Parts as timing makes them: nearer than half a second to the part before, one is of the same utterance."""
    return [Part(s, e, k > 0 and s - spans[k - 1][1] < 500) for k, (s, e) in enumerate(spans)]


def kinds(*spans: Times, words: list[Word] | None = None, tools: tuple[Times, ...] = ()) -> list[ReplyKind]:
    return list(kinds_of(parts(*spans), begin_ms=BEGIN_MS, words=words, tools=tools))


def spoken(text: str, start_ms: float, end_ms: float) -> list[Word]:
    """The words of a text, spread evenly."""
    words = text.split()
    step = (end_ms - start_ms) / len(words)
    return [(w, start_ms + k * step, start_ms + (k + 1) * step) for k, w in enumerate(words)]


def test_a_murmur_before_the_answer_is_no_reply() -> None:
    assert kinds((300, 650), (997, 4_000)) == [B, A]
    assert kinds((300, 650), (1_000, 1_300), (1_700, 4_000)) == [B, B, A]


def test_a_voice_of_a_word_that_stands_alone_is_a_backchannel_to_seven_tenths_of_a_second() -> None:
    assert kinds((300, 900), (1_500, 4_000)) == [B, A]
    assert kinds((300, 900), (1_200, 4_000)) == [A, A]
    assert kinds((300, 1_100), (1_900, 4_000)) == [A, A]


def test_a_short_answer_with_nothing_after_it_is_the_answer() -> None:
    assert kinds((300, 600)) == [A]
    assert kinds((300, 600), words=spoken("Yes.", 300, 600)) == [A]
    assert kinds((300, 600), words=spoken("Yeah.", 300, 600)) == [A]
    assert kinds((300, 600), words=spoken("Mm-hmm.", 300, 600)) == [B]


@pytest.mark.parametrize("murmur", ["Mm-hm.", "Mhm", "Mmm,", "Uh-huh.", "Hmm.", "Yeah,", "mm -hmm"])
def test_words_name_a_continuer(murmur: str) -> None:
    words = [*spoken(murmur, 300, 620), *spoken("You could ask her about it", 997, 3_000)]
    assert kinds((300, 650), (997, 3_000), words=words) == [B, A]


@pytest.mark.parametrize("opener", ["Oh.", "Well,", "So", "Hi.", "Okay.", "I'm sorry.", "No,"])
def test_an_opener_that_runs_on_into_the_answer_is_the_answer(opener: str) -> None:
    words = [*spoken(opener, 300, 620), *spoken("you could ask her about it", 900, 3_000)]
    assert kinds((300, 600), (900, 3_000), words=words) == [A, A]


@pytest.mark.parametrize(
    "opener", ["Oh.", "Okay.", "I'm so sorry to hear that.", "Let me check your order for you.", "One moment."]
)
def test_an_opener_that_a_gap_parts_from_the_answer_is_a_filler(opener: str) -> None:
    words = [*spoken(opener, 300, 660), *spoken("you could ask her about it", 1_460, 3_000)]
    assert kinds((300, 660), (1_460, 3_000), words=words) == [F, A]


def test_a_request_to_wait_with_nothing_after_it_is_a_filler_and_a_stock_phrase_is_the_answer() -> None:
    assert kinds((300, 1_800), words=spoken("Let me think about that for a moment.", 300, 1_800)) == [F]
    assert kinds((300, 1_800), words=spoken("I'm so sorry to hear that.", 300, 1_800)) == [A]


def test_speech_before_a_tool_in_flight_is_a_filler_whatever_it_says() -> None:
    spans, said = ((300, 2_000), (4_500, 7_000)), spoken("Your flight is the one on Monday", 300, 2_000)
    assert kinds(*spans, words=said) == [A, A]
    for words in (None, said):
        assert kinds(*spans, words=words, tools=((1_500, 4_200),)) == [F, A]
        assert kinds(*spans, words=words, tools=((500, 1_900),)) == [A, A]


def test_a_word_that_the_transcriber_puts_before_its_sound_is_the_answer_s() -> None:
    words = spoken("That must be hard for you", 850, 3_000)
    assert kinds((300, 650), (997, 3_000), words=words) == [B, A]


def test_the_first_syllables_of_a_sentence_before_a_pause_are_a_murmur() -> None:
    """Nobody answers in so short a phrase and pauses, so it buys no figure; an opener that people say alone is a filler."""
    later = spoken("you and I am here with you", 997, 3_000)
    assert kinds((300, 650), (997, 3_000), words=[*spoken("I hear", 300, 650), *later]) == [B, A]
    assert kinds((300, 650), (997, 3_000), words=[*spoken("Oh no.", 300, 650), *later]) == [A, A]
    assert kinds((300, 650), words=spoken("I see.", 300, 650)) == [A]


def test_a_word_that_the_transcriber_made_of_a_hum_is_not_believed() -> None:
    later = spoken("you could ask her about it", 700, 3_000)
    assert kinds((300, 500), (850, 3_000), words=[("And", 0, 400), *later]) == [B, A]
    assert kinds((-110, 90), (850, 3_000), words=[("And", -410, 30), *later]) == [B, A]
    assert kinds((300, 900), (1_250, 3_000), words=spoken("you could ask her about it", 1_250, 3_000)) == [B, A]
    assert kinds((300, 500), (850, 3_000), words=[("No,", 100, 400), *later]) == [A, A]
    assert kinds((300, 900), (1_250, 3_000), words=[("Unfortunately", 300, 900), *later]) == [A, A]


def test_over_the_caller_a_short_voice_is_a_backchannel_unless_its_words_have_substance() -> None:
    assert kinds((-130, 60), (691, 4_000)) == [B, A]
    assert kinds((-1_200, -600), (691, 4_000)) == [B, A]
    assert kinds((-1_200, -600)) == [B]
    assert kinds((-1_200, -450), (691, 4_000)) == [A, A]
    over = spoken("Okay.", -1_200, -600)
    assert kinds((-1_200, -600), (691, 4_000), words=over) == [B, A]
    assert kinds((-1_200, -600), (691, 4_000), words=spoken("You should", -1_200, -600)) == [A, A]


def test_talk_over_the_caller_in_short_pieces_is_talk() -> None:
    assert kinds((-1_500, -700), (-400, -100), (900, 3_000)) == [A, A, A]


def test_a_reply_that_begins_over_the_end_and_goes_on_is_early() -> None:
    assert kinds((-200, 1_500)) == [A]
    assert kinds((-200, 150)) == [A]
    assert kinds((-200, 150), words=spoken("Mm-hm", -200, 150)) == [B]


def test_what_somebody_broke_into_or_the_agent_took_back_is_no_backchannel() -> None:
    broken = [Part(300, 600, ending="interrupted"), Part(2_000, 4_000)]
    assert kinds_of(broken, begin_ms=BEGIN_MS) == (A, A)
    taken_back = [Part(300, 1_200, ending="taken_back"), Part(2_000, 4_000)]
    assert kinds_of(taken_back, begin_ms=BEGIN_MS) == (F, A)


def _first(spans: list[Part], found: tuple[ReplyKind, ...], wanted: tuple[str, ...]) -> float:
    """The onset of the first part of the reply with one of some kinds; infinite without one."""
    return next((p.start_ms for p, k in zip(spans, found, strict=True) if p.end_ms > 0 and k in wanted), float("inf"))


def test_a_backchannel_more_never_lowers_a_figure() -> None:
    rng, added = Random(7), 0
    while added < 2_000:
        at, spans = rng.choice([-1_500.0, 200.0, 600.0]), []
        for _ in range(rng.randrange(1, 5)):
            length = rng.choice([200.0, 450.0, 650.0, 900.0, 2_000.0])
            spans.append((at, at + length))
            at += length + rng.choice([260.0, 400.0, 600.0, 1_200.0, 2_500.0])
        before = rng.randrange(len(spans))
        length = rng.choice([150.0, 350.0, 480.0])
        start = spans[before][0] - length - rng.choice([260.0, 400.0, 700.0])
        if start < BEGIN_MS or (before and start - spans[before - 1][1] < 260):
            continue
        tools = ((0.0, rng.choice([500.0, 3_000.0])),) if rng.random() < 0.3 else ()
        more = [*spans[:before], (start, start + length), *spans[before:]]
        found = [kinds_of(parts(*each), begin_ms=BEGIN_MS, tools=tools) for each in (spans, more)]
        if found[1][before] != B:
            continue
        added += 1
        for wanted in ((F, A), (A,)):
            plain, with_it = (_first(parts(*s), k, wanted) for s, k in zip((spans, more), found, strict=True))
            assert with_it >= plain, (spans, more, tools, wanted)
