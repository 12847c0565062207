"""Where replies are cut for the voice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.agents.cascade.clauses import ClauseAggregator, first_cut, later_cut
from harness.agents.cascade.settings import CascadeSettings
from harness.agents.profile import load_profile

REPLY = "I'm so sorry to hear that you're alone with this, Dr. Reed said 1,200 things. It hurts, doesn't it? Tell me more"


async def pieces(text: str, sizes: list[int], least_words: int = 3, most_first_words: int | None = None) -> list[str]:
    clauses = ClauseAggregator(least_words, most_first_words)
    out, at, k = [], 0, 0
    while at < len(text):
        size = sizes[k % len(sizes)]
        out += [piece.text async for piece in clauses.aggregate(text[at : at + size])]
        at, k = at + size, k + 1
    last = await clauses.flush()
    return out + ([last.text] if last else [])


@given(st.lists(st.integers(1, 12), min_size=1, max_size=12))
async def test_nothing_is_lost_and_the_cuts_do_not_depend_on_the_tokens(sizes: list[int]) -> None:
    assert await pieces(REPLY, sizes) == [
        "I'm so sorry to hear",
        "that you're alone with this, Dr. Reed said 1,200 things.",
        "It hurts, doesn't it?",
        "Tell me more",
    ]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("That is hard. And", "That is hard."),
        ("Oh, I see. Then", "Oh, I see."),
        ("It costs 1,000 a month. So", "It costs 1,000 a month."),
        ("I hear you and ", None),
        ("I hear you,", "I hear you,"),
        ("That is hard.", "That is hard."),
        ("It costs 1,", None),
        ("So said the dr.", None),
        ("I hear how much that hurts and ", "I hear how much that hurts "),
    ],
)
def test_first_pieces(text: str, first: str | None) -> None:
    cut = first_cut(text, 3)
    assert (None if cut is None else text[:cut]) == first


def test_later_pieces_are_cut_at_a_comma_only_when_they_are_long() -> None:
    assert later_cut("It hurts, and it ", 8) is None
    text = "You have carried this for weeks on your own, and nobody"
    cut = later_cut(text, 8)
    assert text[:cut] == "You have carried this for weeks on your own,"


@pytest.mark.parametrize(
    ("words_said", "text", "piece"),
    [
        (2, "you know, I'm just, I'm just", "you know, I'm just,"),
        (3, "it makes sense to feel lost when he ", "it makes sense to feel lost "),
        (3, "it makes sense to feel lost when he goes. And", "it makes sense to feel lost "),
        (20, "it makes sense to feel lost when he ", None),
        (20, "it makes sense to feel lost when he goes. And", "it makes sense to feel lost when he goes."),
    ],
)
def test_a_piece_is_no_longer_than_what_was_said_before_buys_time_for(words_said: int, text: str, piece: str | None) -> None:
    cut = later_cut(text, words_said)
    assert (None if cut is None else text[:cut]) == piece


async def test_each_reply_begins_with_a_first_piece() -> None:
    clauses = ClauseAggregator(3)
    for _ in range(2):
        out = [piece.text async for piece in clauses.aggregate("I hear you, and more. So it ")]
        assert out == ["I hear you,", "and more."]
        await clauses.flush()


async def test_a_short_first_piece_is_followed_by_a_short_one() -> None:
    said = "You're just, you know, I'm just, here with you, in this, for as long as it takes, and "
    assert [piece.text async for piece in ClauseAggregator(2).aggregate(said)] == [
        "You're just,", "you know, I'm just,", "here with you, in this, for as long as it takes,",
    ]  # fmt: skip


async def test_what_closes_a_spoken_piece_is_not_said_again() -> None:
    clauses = ClauseAggregator(3)
    out = [piece.text for token in ("That is hard.", "..", " Was he", " there? ") async for piece in clauses.aggregate(token)]
    assert out == ["That is hard.", "Was he there?"]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("I'm so sorry for", "I'm so sorry "),
        ("I'm so sorry.", "I'm so sorry."),
        ("I'm so sorry", None),
        ("I'm sorry, I", "I'm sorry,"),
        ("I hear you,", "I hear you,"),
        ("You're not sure what", "You're not sure "),
        ("You're not going to", None),
        ("You're not going to tell", None),
        ("You're not going to tell you", None),
        ("You're not going to tell you what", None),
        ("You're not going to tell me what", "You're not going to tell me "),
        ("That's a good", None),
        ("That's a good sto", None),
        ("Mum is the one who", "Mum is the one "),
        ("I can hear it, and", "I can hear it,"),
        ("You have been carrying th", "You have been carrying "),
        ("It is what it is because we", "It is what it is "),
        ("It is what it was and", None),
        ("Good to see Dr. Reed", None),
        ("She waited for 3 days", None),
    ],
)
def test_a_first_piece_of_some_words_ends_where_nothing_leans_on_another_word(text: str, first: str | None) -> None:
    cut = first_cut(text, 2, 3)
    assert (None if cut is None else text[:cut]) == first


@given(st.lists(st.integers(1, 12), min_size=1, max_size=12), st.integers(1, 6))
async def test_an_early_first_piece_loses_nothing_and_is_no_longer(sizes: list[int], most: int) -> None:
    early = await pieces(REPLY, sizes, 2, most)
    assert " ".join(early).split() == REPLY.split()
    assert len(early[0].split()) <= len((await pieces(REPLY, sizes, 2))[0].split())


@pytest.mark.parametrize("name", ["polaris-like", "eager", "patient"])
async def test_profiles_that_answer_early_say_a_word_that_stands_alone_at_once(name: str) -> None:
    tts = CascadeSettings.model_validate(load_profile(name).model_dump()["cascade"]).tts
    said = await pieces("Yes. I have been there for a long time.", [3], tts.least_words, tts.most_first_words)
    assert said[0] == "Yes."
