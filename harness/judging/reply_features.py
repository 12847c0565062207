"""One reply in its conversation as one vector: its acts, its meaning, its sentences, its fit and its length.

Six blocks. Discourse acts are counted (`harness.judging.discourse`); the whole reply is embedded; so is each sentence, of
which the mean and the greatest value per dimension are used, because one dismissive sentence spoils a kind reply and a
mean hides it. *Fit* is how near the reply is to the seeker's words: whole to whole, sentence to sentence, and token
to token. Mostly that block separates a kind reply to somebody else from a kind reply to this seeker. *Length* is
counted because people's ratings rise with the room that a reply takes; it saturates, so that talking longer wins nothing.

A vector belongs to one reply alone, so a difference of two is antisymmetric by construction.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from harness.judging.discourse import discourse_features, words
from harness.judging.rubric import spoken_words
from harness.judging.sentence_encoder import SentenceEncoder, Vectors, sentences, unit
from harness.scenarios.context import Turn

TURNS_KEPT_IN_MIND = 4
"""Seeker's turns that a reply may refer to. Older ones are in few replies, and each has to be encoded."""
LENGTHS_WORDS = (30, 80, 160)
"""Lengths at which a reply's length saturates: a spoken reply, a long one, and a forum's."""


def reply_features(turns: Sequence[Turn], replies: Sequence[str], encoder: SentenceEncoder) -> NDArray[np.float64]:
    """The vectors (one row a reply) of several replies to the same conversation."""
    said = [spoken_words(turn.text) for turn in turns if turn.role == "seeker"][-TURNS_KEPT_IN_MIND:]
    parts = [sentences(reply) for reply in replies]
    asked = dict.fromkeys((*said, *sentences(said[-1]), *(r.strip() or "." for r in replies), *(s for g in parts for s in g)))
    states = dict(zip(asked, encoder.token_states(list(asked)), strict=True))
    seeker = _Seeker(
        last=_mean(states[said[-1]]),
        over_all=unit(np.stack([_mean(states[text]) for text in said]).mean(axis=0)),
        sentences=np.stack([_mean(states[s]) for s in sentences(said[-1])]),
        tokens=unit(np.concatenate([states[text] for text in said])),
    )
    rows = []
    for reply, group in zip(replies, parts, strict=True):
        tokens = states[reply.strip() or "."]
        whole, each = _mean(tokens), np.stack([_mean(states[s]) for s in group])
        rows.append(
            np.concatenate(
                [
                    discourse_features(turns, reply),
                    whole,
                    each.mean(axis=0),
                    each.max(axis=0),
                    seeker.nearness(whole, each, unit(tokens)),
                    _lengths(len(words(reply)), len(group)),
                ]
            )
        )
    return np.asarray(rows, dtype=np.float64)


class _Seeker:
    """The seeker's words as vectors."""

    def __init__(self, last: Vectors, over_all: Vectors, sentences: Vectors, tokens: Vectors) -> None:
        self._last, self._over_all, self._sentences, self._tokens = last, over_all, sentences, tokens

    def nearness(self, whole: Vectors, each: Vectors, tokens: Vectors) -> list[float]:
        """The block *fit*: cosines of the whole reply, of its sentences and of its tokens."""
        near = each @ self._last
        between = each @ self._sentences.T
        of_tokens = tokens @ self._tokens.T
        found = of_tokens.max(axis=1)
        return [
            float(value)
            for value in (
                near.max(),
                near.min(),
                near.mean(),
                whole @ self._last,
                whole @ self._over_all,
                between.max(),
                between.max(axis=1).mean(),
                between.max(axis=0).mean(),
                between.max(axis=0).min(),
                found.mean(),
                np.percentile(found, 25),
                of_tokens.max(axis=0).mean(),
            )
        ]


def _mean(states: Vectors) -> Vectors:
    return unit(states.mean(axis=0))


def _lengths(count: int, sentences_count: int) -> list[float]:
    return [float(np.log1p(count)), *(min(count, most) / most for most in LENGTHS_WORDS), min(sentences_count, 10) / 10]
