"""One letter instead of a written verdict: the question to a small local model, and the reading of its probabilities.

A small model that writes a verdict in JSON makes mistakes in the format, and states how sure it is in a number whose meaning it
never learnt. The probability that it gives to the letters A and B is there in any case, for the price of one token. It depends
on the place as well as on the reply, so both orders are asked and the log odds averaged: a position bias that is the same in
both cancels, and the rest belongs to the replies (the two orders of Zheng et al. 2023, "Judging LLM-as-a-Judge", in log odds).

The parts are in the order in which they change, the rarest first: instructions, conversation, replies, question. A server that
caches the prefix of its last prompt then reads the conversation once per context, the replies twice per pair, and only the
question anew.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from harness.judging.judge import Question
from harness.judging.rubric import AXES_TEXT, CHECKLIST, RUBRIC_VERSION, spoken_words
from harness.scenarios.context import Turn

LETTERS: Final = ("A", "B")
LETTERS_VERSION: Final = "1"
LISTED: Final = 64
"""Tokens whose probability is asked for. A model that was taught to answer puts the letters among its first ten."""
OVERALL: Final = "overall"
_INSTRUCTIONS: Final = (
    "Two candidate next turns of a peer supporter in an emotional-support conversation are compared. The turn will be spoken "
    "aloud.\n" + "\n".join(f"- {line}" for line in CHECKLIST)
)
_ASKS: Final[Mapping[str, str]] = {
    OVERALL: "Over all, which reply is the better next turn for this seeker?",
    **{axis.letter: f"Only as to {axis.name}, which reply is better? {axis.asks}" for axis in AXES_TEXT},
}
QUESTIONS: Final = tuple(_ASKS)
"""The questions about a pair: the whole, then the five axes."""


class NoProbabilities(ValueError):
    """The server's answer holds no token probabilities."""


class NoLetter(ValueError):
    """Neither letter is among the model's likely tokens."""


def message(question: Question, asked: str) -> str:
    """The one message that asks `asked` (of `QUESTIONS`) about a pair in its given order."""
    data: list[tuple[str, object]] = (
        [("conversation", _told(question.turns))]
        if question.second_turns is None
        else [
            ("conversation_before_reply_A", _told(question.turns)),
            ("conversation_before_reply_B", _told(question.second_turns)),
        ]
    )
    data += [("reply_A", question.first), ("reply_B", question.second)]
    told = "\n".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in data)
    return f"{_INSTRUCTIONS}\n\n{told}\n\n{_ASKS[asked]} Answer with one letter, A or B, and nothing else."


def log_odds(completion: Mapping[str, Any]) -> float:
    """ln P(A) − ln P(B) of the first token, from an answer of llama.cpp's `/completion` with `n_probs`.

    An answer that is not among the listed tokens counts as the least likely of them, which can only make the odds smaller.

    Raises:
        NoProbabilities: the completion holds none.
        NoLetter: both answers are missing from the list.
    """
    try:
        listed = [
            (str(top["token"]), float(top["logprob"])) for top in completion["completion_probabilities"][0]["top_logprobs"]
        ]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise NoProbabilities(type(error).__name__) from error
    found = [[p for token, p in listed if token.strip() == answer and math.isfinite(p)] for answer in LETTERS]
    if not any(found):
        raise NoLetter(f"neither {LETTERS[0]} nor {LETTERS[1]} is among its {len(listed)} likeliest words")
    least = min(p for _, p in listed if math.isfinite(p))
    first, second = (math.log(sum(map(math.exp, each))) if each else least for each in found)
    return first - second


def both_orders(forward: float, backward: float) -> float:
    """Log odds that the first reply is better, from those of the place A in either order."""
    return (forward - backward) / 2


def prompt_hash() -> str:
    """Hash that changes whenever a word of a local model's prompt does."""
    words = [LETTERS_VERSION, RUBRIC_VERSION, _INSTRUCTIONS, *_ASKS.values(), str(LISTED)]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


def _told(turns: Sequence[Turn]) -> list[str]:
    return [f"{turn.role}: {spoken_words(turn.text)}" for turn in turns]
