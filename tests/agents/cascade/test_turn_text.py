"""A turn in pieces: what is frozen, what is heard again, and that no word is lost or said twice."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.agents.cascade.short_context_whisper import RATE_HZ, Heard, ShortContextWhisper
from harness.agents.cascade.streaming_whisper import TAIL_SAMPLES, LevelGate
from harness.agents.cascade.turn_text import FREEZE_FROM_SAMPLES, STRETCH_MOST_SAMPLES, TurnText
from tests.agents.cascade.test_pauses_of_a_turn import Alone, Waiting

LONG = FREEZE_FROM_SAMPLES + 1000


def test_a_short_piece_is_left_to_grow() -> None:
    turn = TurnText(100)
    assert not turn.freeze("he left", 100 + FREEZE_FROM_SAMPLES - 1, 200_000)
    assert (turn.piece_start, turn.frozen) == (100, "")
    assert turn.with_piece("he left me") == "he left me"


def test_one_frozen_piece_has_been_heard_whole_and_two_have_not() -> None:
    turn = TurnText(0)
    turn.heard_piece(3)
    assert not turn.freeze("and then he", LONG, LONG + 500)
    assert (turn.piece_start, turn.piece_words, turn.stretch_start) == (LONG + 500, 0, 0)
    assert turn.freeze("lift the house", 2 * LONG + 500, 2 * LONG + 900)
    assert turn.with_piece("in May") == "and then he lift the house in May"
    turn.heard_again("And then he left the house")
    assert turn.with_piece("in May") == "And then he left the house in May"
    assert turn.stretch_words == 6
    assert turn.freeze("in May", 3 * LONG + 900, 3 * LONG + 1000)


def test_what_has_grown_too_long_for_one_window_is_settled_for_good() -> None:
    turn = TurnText(0)
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


class Pieces:
    """A recogniser that misses the first word of every piece, and hears a whole stretch right."""

    def __init__(self, stretch: str) -> None:
        self.seconds: list[float] = []
        self._stretch = stretch

    def transcribe(self, samples: NDArray[np.float32], _least_words: int) -> Heard:
        self.seconds.append(len(samples) / RATE_HZ)
        return Heard(self._stretch if len(samples) > 1.5 * LONG else f"piece{len(self.seconds)} had its end", 0)


class Open:
    """A gate that lets a steady loud sound pass, which the real one takes for the line."""

    def push(self, _window: NDArray[np.int16]) -> bool:
        return True


def listening(policy: Waiting, recogniser: Pieces, on_frozen: Callable[[str], Awaitable[None]]) -> Alone:
    stt = Alone(policy, cast(ShortContextWhisper, recogniser), on_frozen)
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
async def test_frozen_pieces_are_heard_again_while_the_caller_speaks_on(stretch: str, understood: str) -> None:
    told: list[str] = []

    async def on_frozen(words: str) -> None:
        told.append(words)

    policy, recogniser = Waiting(), Pieces(stretch)
    stt = listening(policy, recogniser, on_frozen)
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


async def test_a_listener_that_fails_costs_nothing_but_the_warmth() -> None:
    async def on_frozen(_words: str) -> None:
        raise ConnectionError("gone")

    stt = listening(policy := Waiting(), Pieces("All of it was heard"), on_frozen)
    piece = "x" * (LONG // 512) + "." * 8
    await stt.hear("." * 10 + piece + piece + "x" * 30 + "." * 14)
    assert stt.ends == 1
    assert policy.shown[-1].text == "All of it was heard piece4 had its end"
