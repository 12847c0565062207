"""A turn in pieces: what is frozen, what is heard again, and that no word is lost or said twice."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.agents.cascade.recogniser import RATE_HZ, Heard
from harness.agents.cascade.streaming_stt import TAIL_SAMPLES, SttTiming
from harness.agents.cascade.turn_text import TurnText
from harness.agents.cascade.turn_tracker import LevelGate
from tests.agents.cascade.scripted_parts import WithoutTokens
from tests.agents.cascade.test_pauses_of_a_turn import Alone, Waiting
from tests.virtual_time.clock import in_virtual_time

FREEZE_FROM_SAMPLES = 4 * RATE_HZ
STRETCH_MOST_SAMPLES = 24 * RATE_HZ
LONG = FREEZE_FROM_SAMPLES + 1000


def turn_from(start: int) -> TurnText:
    return TurnText(start, piece_from_samples=FREEZE_FROM_SAMPLES, stretch_most_samples=STRETCH_MOST_SAMPLES)


def agreed(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    """The common beginning."""
    return tuple(a for k, a in enumerate(one) if one[: k + 1] == other[: k + 1])


def test_a_short_piece_is_left_to_grow() -> None:
    turn = turn_from(100)
    assert not turn.freeze("he left", 100 + FREEZE_FROM_SAMPLES - 1, 200_000)
    assert (turn.piece_start, turn.frozen) == (100, "")
    assert turn.with_piece("he left me") == "he left me"


def test_a_transcript_continues_from_what_two_before_it_agreed_on() -> None:
    turn = turn_from(0)
    turn.heard_piece(2, (5, 6), agreed)
    assert not turn.known
    turn.heard_piece(3, (5, 6, 7), agreed)
    assert turn.known == (5, 6)
    turn.freeze("he left me", LONG, LONG)
    assert not turn.known
    turn.heard_piece(1, (5,), agreed)
    assert not turn.known


def test_one_frozen_piece_has_been_heard_whole_and_two_have_not() -> None:
    turn = turn_from(0)
    turn.heard_piece(3, (), agreed)
    assert not turn.freeze("and then he", LONG, LONG + 500)
    assert (turn.piece_start, turn.piece_words, turn.stretch_start) == (LONG + 500, 0, 0)
    assert turn.freeze("lift the house", 2 * LONG + 500, 2 * LONG + 900)
    assert turn.with_piece("in May") == "and then he lift the house in May"
    turn.heard_again("And then he left the house")
    assert turn.with_piece("in May") == "And then he left the house in May"
    assert turn.stretch_words == 6
    assert turn.freeze("in May", 3 * LONG + 900, 3 * LONG + 1000)


def test_what_has_grown_too_long_for_one_window_is_settled_for_good() -> None:
    turn = turn_from(0)
    said, at = "", 0
    while at <= STRETCH_MOST_SAMPLES:
        at += LONG
        said += " word"
        again = turn.freeze("word", at, at)
    assert not again
    assert (turn.stretch_start, turn.stretch_words, turn.frozen) == (at, 0, said.strip())
    assert not turn.freeze("more", at + LONG, at + LONG)
    assert turn.freeze("yet", at + 2 * LONG, at + 2 * LONG)
    turn.heard_again("more jet")
    assert turn.frozen == f"{said.strip()} more jet"


class Pieces(WithoutTokens):
    """A recogniser that misses the first word of every piece, and hears a whole stretch right."""

    def __init__(self, stretch: str) -> None:
        self.seconds: list[float] = []
        self._stretch = stretch

    def transcribe(self, samples: NDArray[np.float32], *_: object) -> Heard:
        self.seconds.append(len(samples) / RATE_HZ)
        return Heard(self._stretch if len(samples) > 1.5 * LONG else f"piece{len(self.seconds)} had its end", 0)


class Open:
    """A gate that lets a steady loud sound pass, which the real one takes for the line."""

    def push(self, _window: NDArray[np.int16]) -> bool:
        return True


def listening(policy: Waiting, recogniser: Pieces, on_words: Callable[[str], Awaitable[None]]) -> Alone:
    stt = Alone(policy, recogniser, on_words)
    stt._gate = cast(LevelGate, Open())
    return stt


async def until(seen: Callable[[], bool]) -> None:
    """Return once it is seen: recognising goes on in a thread of its own, and takes what the machine gives it."""
    async with asyncio.timeout(10):
        while not seen():  # noqa: ASYNC110 the thread has no event to wait for
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("stretch", "understood"),
    [
        ("All of it was heard", "All of it was heard piece4 had its end"),
        # A decoder that stopped in mid-speech is no better than the pieces.
        ("All", "piece1 had its end piece2 had its end piece4 had its end"),
    ],
)
@in_virtual_time
async def test_frozen_pieces_are_heard_again_while_the_caller_speaks_on(stretch: str, understood: str) -> None:
    told: list[str] = []

    async def on_words(words: str) -> None:
        told.append(words)

    policy, recogniser = Waiting(), Pieces(stretch)
    stt = listening(policy, recogniser, on_words)
    piece = "x" * (LONG // 512) + "." * 8
    await stt.hear("." * 10 + piece + piece)
    await until(lambda: len(recogniser.seconds) == 2)
    await stt.hear("x" * 30)
    await until(lambda: len(recogniser.seconds) == 3 and (stretch == "All" or bool(told)))
    assert recogniser.seconds[2] == pytest.approx(2 * LONG / RATE_HZ, rel=0.1)
    assert recogniser.seconds[2] > recogniser.seconds[0] + recogniser.seconds[1] - 2 * TAIL_SAMPLES / RATE_HZ
    await stt.hear("." * 14)
    assert policy.shown[-1].text == understood
    assert told == (["All of it was heard"] if stretch != "All" else [])


@in_virtual_time
async def test_a_listener_that_fails_costs_nothing_but_the_warmth() -> None:
    async def on_words(_words: str) -> None:
        raise ConnectionError("gone")

    stt = listening(policy := Waiting(), Pieces("All of it was heard"), on_words)
    piece = "x" * (LONG // 512) + "." * 8
    await stt.hear("." * 10 + piece + piece + "x" * 30 + "." * 14)
    assert stt.ends == 1
    assert policy.shown[-1].text == "All of it was heard piece4 had its end"


class Continuing(WithoutTokens):
    """A recogniser of one word a second, numbered, that notes what it was given to go on from."""

    piece_from_s = 2.0
    stretch_most_s = 9.0

    def __init__(self) -> None:
        self.known: list[tuple[int, ...]] = []
        self.seconds: list[float] = []

    def transcribe(
        self, samples: NDArray[np.float32], _least: int = 0, known: Sequence[int] = (), stop: object = None
    ) -> Heard:
        del stop
        self.known.append(tuple(known))
        self.seconds.append(len(samples) / RATE_HZ)
        words = tuple(range(1, 2 + len(samples) // RATE_HZ))
        return Heard(self.text_of(words), 0, words)

    def text_of(self, tokens: Sequence[int]) -> str:
        return " ".join(f"w{token}" for token in tokens)

    def agreed(self, one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
        return agreed(one, other)[:-1]


@in_virtual_time
async def test_words_are_heard_while_they_are_spoken_and_continued_at_the_silence() -> None:
    told: list[str] = []

    async def on_words(words: str) -> None:
        told.append(words)

    recogniser = Continuing()
    stt = Alone(policy := Waiting(), recogniser, on_words, timing=SttTiming(partial_every_ms=400))
    stt._gate = cast(LevelGate, Open())
    await stt.hear("." * 10 + "x" * 150)
    assert len(recogniser.known) >= 5
    # All but the last word of each transcript, which may be half a word.
    lengths = [len(words.split()) for words in told]
    assert lengths == sorted(lengths)
    assert lengths[-1] >= 3
    await stt.hear("." * 14)
    assert len(recogniser.known[-1]) >= 2
    assert policy.shown[-1].text.split()[: lengths[-1]] == told[-1].split()


@in_virtual_time
async def test_speech_without_a_pause_is_closed_in_pieces() -> None:
    recogniser = Continuing()
    stt = Alone(Waiting(), recogniser, timing=SttTiming(partial_every_ms=400))
    stt._gate = cast(LevelGate, Open())
    await stt.hear("." * 10 + "x" * 500 + "." * 3)
    # 16 s without a pause: no transcript, least of all the one that a caller waits for, is of all that.
    assert max(recogniser.seconds) < 9.2
    assert recogniser.seconds[-1] < 7
