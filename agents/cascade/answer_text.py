"""The words to speak, extracted from a model's token stream.

Reasoning is not an answer: text between `<think>` marks is dropped before anything downstream can time it or speak
it. And a reply has limits that small models forget, so the stream can be ended at the last whole sentence within them;
the first sentence always passes immediately, because delaying it would cost the latency that is measured.
"""

import re
from dataclasses import dataclass

_OPEN = "<think>"
_CLOSE = "</think>"
_STOPS = ".!?…"
_CLOSERS = "\"')]"
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[\"')\]]*+\s++")


class AnswerFilter:
    """A filter of `<think> … </think>` in a stream of deltas; `push` returns the answer text that each delta releases."""

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False
        self.thought = False
        """True once a thought has begun."""

    def push(self, delta: str) -> str:
        self._held += delta
        out = ""
        while self._held:
            mark = _CLOSE if self._thinking else _OPEN
            found = self._held.find(mark)
            if found >= 0:
                out += "" if self._thinking else self._held[:found]
                self._held = self._held[found + len(mark) :]
                self._thinking = not self._thinking
                self.thought = True
                continue
            # The longest end of the text that may be the beginning of the mark.
            keep = next((n for n in range(len(mark) - 1, 0, -1) if self._held.endswith(mark[:n])), 0)
            free = self._held[: len(self._held) - keep]
            self._held = self._held[len(self._held) - keep :]
            return out + ("" if self._thinking else free)
        return out

    def flush(self) -> str:
        """The rest, which was delayed because it might have begun a mark."""
        rest, self._held = ("" if self._thinking else self._held), ""
        return rest


@dataclass(slots=True)
class ReplyLimiter:
    """A filter that passes whole sentences while the reply is within its limits; `done` once no more may follow.

    The first sentence streams immediately; each later one waits until it has ended and is known to fit.
    """

    max_words: int
    max_sentences: int
    done: bool = False
    _said: str = ""
    _held: str = ""
    _sentences: int = 0

    def push(self, delta: str) -> str:
        """The part of the reply that `delta` releases."""
        if self.done:
            return ""
        self._held += delta
        before = len(self._said)
        while not self.done and (end := _SENTENCE_END.search(self._held)):
            self._end_sentence(end.end())
        if self._sentences == 0:
            self._say(len(_without_possible_end(self._held)))
        return self._said[before:]

    def flush(self) -> str:
        """The rest of a reply whose stream is over, without a sentence that never ended."""
        before = len(self._said)
        whole = self._held.rstrip()
        if not self.done and _without_possible_end(whole) != whole:
            self._end_sentence(len(self._held))
        return self._said[before:]

    def _end_sentence(self, end: int) -> None:
        fits = len((self._said + self._held[:end]).split()) <= self.max_words
        if fits or self._sentences == 0:
            self._say(end)
            self._sentences += 1
        self.done = not fits or self._sentences >= self.max_sentences

    def _say(self, end: int) -> None:
        self._said += self._held[:end]
        self._held = self._held[end:]


def _without_possible_end(text: str) -> str:
    """The text without blanks at its end, and without the marks before them that may end its last sentence."""
    whole = text.rstrip()
    closed = whole.rstrip(_CLOSERS)
    ended = closed.rstrip(_STOPS)
    return ended if len(ended) < len(closed) else whole
