"""The text for a synthesiser, made from a seeker turn as it is written.

Turns are written as speech: fillers, stutters, broken-off words, trailing off, and pauses marked `<pause 450>`. Text
synthesisers read books, so they spell "hm" as letters, say "saint" for "st-" and run "I… I don't" together. Only the
spelling is changed here, never the words, so that a transcript of the rendered turn can be compared with the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

PAUSE_MARK = re.compile(r"<pause ([0-9]{1,5})>")
_ANY_MARK = re.compile(r"<[^<>]{0,40}>?")
LEAST_PAUSE_MS = 50
MOST_PAUSE_MS = 5_000


class SpeechTextError(ValueError):
    """A turn that cannot be spoken; the message is one line that quotes the place."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of speech and the true silence after it (0 for the last)."""

    text: str
    pause_after_ms: int


def parse_marked(text: str) -> tuple[Segment, ...]:
    """The stretches of a turn between its `<pause MS>` marks. Marks that touch make one pause of their sum.

    >>> parse_marked("I went home. <pause 450> It was late.")
    (Segment(text='I went home.', pause_after_ms=450), Segment(text='It was late.', pause_after_ms=0))

    Raises `SpeechTextError` for any other `<…>`, for a pause outside 50 to 5,000 ms, for a mark that opens or closes the
    turn (there it would be silence of the line, not of the speaker) and for a turn in which nothing is said.
    """
    for found in _ANY_MARK.finditer(text):
        if not PAUSE_MARK.fullmatch(found.group()):
            raise SpeechTextError(f"{found.group()!r} cannot be spoken; a pause is written <pause 450> (milliseconds)")
    pieces = PAUSE_MARK.split(text)
    texts = [" ".join(piece.split()) for piece in pieces[0::2]]
    pauses_ms = [int(ms) for ms in pieces[1::2]]
    for ms in pauses_ms:
        if not LEAST_PAUSE_MS <= ms <= MOST_PAUSE_MS:
            raise SpeechTextError(f"<pause {ms}> is outside {LEAST_PAUSE_MS} to {MOST_PAUSE_MS} ms")
    if not any(character.isalnum() for character in "".join(texts)):
        raise SpeechTextError(f"nothing is said in {text[:60]!r}")
    if pauses_ms and not (texts[0] and texts[-1]):
        raise SpeechTextError(f"a pause mark may not open or close a turn: {text[:60]!r}")
    segments: list[Segment] = []
    for spoken, after_ms in zip(texts, [*pauses_ms, 0], strict=True):
        if any(character.isalnum() for character in spoken) or not segments:
            segments.append(Segment(spoken, after_ms))
        else:
            segments[-1] = Segment(segments[-1].text, segments[-1].pause_after_ms + after_ms)
    return tuple(segments)


def without_marks(text: str) -> str:
    """The text for readers: without marks, blanks merged.

    >>> without_marks("I went <pause 450> home.")
    'I went home.'
    """
    return " ".join(PAUSE_MARK.sub(" ", text).split())


_SPELLINGS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"[‘’ʼ]"), "'"),
    (re.compile(r"[“”\"]"), ""),
    # A bracket that is never closed is text, and ends the search: each one would run to the end again.
    (re.compile(r"\[[^\]]*+(?:(\])|\Z)"), lambda found: " " if found[1] else found[0]),
    (re.compile(r"\*([^*]*)\*"), r"\1"),
    (re.compile(r"[()]"), ", "),
    # Trailing off before more words is a hesitation; at the end it is a fall.
    (re.compile(r"(?<!\s)\s*+(?:…|(?<!\.)\.{2,}+)\s*+(?=\w)"), ", "),
    (re.compile(r"(?<!\s)\s*+(?:…|\.{2,}+)"), "."),
    (re.compile(r"(?:(?:(?<!\s)\s++)?(?:—|–|--++)|(?<!\s)\s++-\s)\s*+"), ", "),
    # "sooo", "nooo", "ummm": a letter three times or more is one held sound.
    (re.compile(r"([A-Za-z])\1{2,}"), r"\1"),
    # A broken-off start without a vowel ("th- the", "b-but") has no sound of its own that text could carry.
    (re.compile(r"\b[b-df-hj-np-tv-z]{1,3}-\s*(?=[A-Za-z])", re.IGNORECASE), ""),
    (re.compile(r"(\w)-(?=\s|$)"), r"\1,"),
    (re.compile(r"\b(?:h++m++|m++h++m++|mm++)\b", re.IGNORECASE), "hmm"),
    (re.compile(r"\bpf+t*\b|\btsk\b", re.IGNORECASE), ""),
    (re.compile(r"(?<!\s)\s++([,.;:!?])"), r"\1"),
    (re.compile(r"[,;:]\s*(?=[,.;:!?])"), ""),
    (re.compile(r"^[\s,.;:!?]+"), ""),
)


def spelt(text: str) -> str:
    """The words as a synthesiser should read them; the end of the text is unchanged.

    >>> spelt("Nooo, I… I don't know")
    "No, I, I don't know"
    """
    for pattern, replacement in _SPELLINGS:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())
