"""A check of a pack's sound, before an agent is blamed: are its callers intelligible, and are their emotions audible?

Both are measured on the finished sound. Intelligibility is the word error rate of the harness's own transcriber on every
spoken turn: if it fails on clean speech, an agent's recogniser will too. Emotion is the difference of five measures
from a neutral reading of the same words by the same voice; recordings have no such counterpart and are left out.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from harness.audio.prosody_emotions import RENDERED_AS
from harness.audio.prosody_measures import EmotionCheck, ProsodyMeasures, check_emotion, measure_prosody
from harness.audio.speech_text import without_marks
from harness.audio.transcribe import Transcriber
from harness.scenarios.context import Context, SpeechDirections, Turn
from harness.scenarios.pack import Pack
from harness.voices.choice import Voices

MOST_WER = 0.10
"""Most word errors of a pack: above this share its callers are too hard to understand for a test."""

MOST_TURN_WER = 0.35
"""Most word errors of a turn: it may have a name that no transcriber knows, but nobody can follow with a third wrong."""


@dataclass(frozen=True, slots=True)
class TurnAcoustics:
    """One spoken turn: its words, the transcript, and the errors between them."""

    context_id: str
    turn: int
    """The position of the turn in the context, from 0."""
    last: bool
    voice: str
    emotion: str
    duration_s: float
    words: int
    errors: int
    heard: str

    @property
    def wer(self) -> float:
        return self.errors / max(self.words, 1)

    @property
    def place(self) -> str:
        """The name of the turn; for a context's last turn the context's id."""
        return self.context_id if self.last else f"{self.context_id}, turn {self.turn + 1}"


@dataclass(frozen=True, slots=True)
class PackAcoustics:
    """The measurements of a pack's spoken turns and emotions. `wer` is pooled: all errors over all words."""

    turns: tuple[TurnAcoustics, ...]
    emotions: tuple[EmotionCheck, ...]

    @property
    def wer(self) -> float:
        return sum(turn.errors for turn in self.turns) / max(sum(turn.words for turn in self.turns), 1)

    def problems(self) -> tuple[str, ...]:
        """The problems of the pack, one line each; empty if there are none."""
        found = [
            f"emotion {check.emotion}: only {len(check.as_expected)} of 5 measures differ from neutral as expected"
            for check in self.emotions
            if not check.audible
        ]
        if self.wer > MOST_WER:
            found.append(f"{self.wer:.1%} of the callers' words are not understood (at most {MOST_WER:.0%})")
        found += [f"{t.place}: {t.wer:.0%} of words not understood" for t in self.turns if t.wer > MOST_TURN_WER]
        return tuple(found)

    def as_json(self) -> dict[str, Any]:
        """The measurements as JSON."""
        return {
            "wer": self.wer,
            "words": sum(turn.words for turn in self.turns),
            "rendered_s": sum(turn.duration_s for turn in self.turns),
            "turns": {
                turn.place: {
                    "wer": turn.wer,
                    "words": turn.words,
                    "voice": turn.voice,
                    "emotion": turn.emotion,
                    "heard": turn.heard,
                }
                for turn in self.turns
            },
            "emotions": {
                check.emotion: {
                    "turns": check.turns,
                    "differences": dict(check.differences),
                    "as_expected": list(check.as_expected),
                    "audible": check.audible,
                }
                for check in self.emotions
            },
        }


def measure_pack(
    pack: Pack,
    voices: Voices,
    transcriber: Transcriber,
    phase: Callable[[str, int], None] = lambda _what, _steps: None,
    step: Callable[[str], None] = lambda _line: None,
    every_turn: bool = False,
) -> PackAcoustics:
    """Render, transcribe and measure the last turn of every context, or every seeker turn. `phase` is called with the number
    of steps, `step` at each of them.

    Raises `harness.errors.UserError` for a turn that cannot be rendered.
    """
    spoken = [
        (context, turn, k)
        for context in pack.contexts
        for k, turn in enumerate(context.turns)
        if turn.role == "seeker" and (every_turn or turn is context.spoken)
    ]
    emotional = [
        (context, turn)
        for context, turn, _ in spoken
        if pack.recording_of(turn) is None and RENDERED_AS[_emotion(turn)] != "neutral"
    ]
    wanted = [(turn, voices.wish_of(context)) for context, turn, _ in spoken]
    wanted += [(_neutral(turn), voices.wish_of(context)) for context, turn in emotional]
    phase("Rendering the callers", len(wanted))
    voices.prepare(wanted, lambda: step("rendered"))
    phase("Transcribing them", len(spoken))
    turns = []
    for context, turn, k in spoken:
        turns.append(_hear(context, turn, k, voices, transcriber))
        step(f"{turns[-1].place}: {turns[-1].wer:.0%} of words wrong")
    pairs: dict[str, list[tuple[ProsodyMeasures, ProsodyMeasures]]] = {}
    for context, turn in emotional:
        both = [measure_prosody(voices.render(each, voices.wish_of(context))) for each in (turn, _neutral(turn))]
        pairs.setdefault(_emotion(turn), []).append((both[0], both[1]))
    return PackAcoustics(tuple(turns), tuple(check_emotion(name, pairs[name]) for name in sorted(pairs)))


def _hear(context: Context, turn: Turn, k: int, voices: Voices, transcriber: Transcriber) -> TurnAcoustics:
    wish = voices.wish_of(context)
    rendered = voices.render(turn, wish)
    heard = transcriber.transcribe(rendered.samples, rendered.rate_hz).text
    meant = spoken_words(without_marks(turn.text))
    return TurnAcoustics(
        context_id=context.id,
        turn=k,
        last=turn is context.spoken,
        voice=voices.name_of(wish),
        emotion=_emotion(turn),
        duration_s=rendered.duration_s,
        words=len(meant),
        errors=word_errors(meant, spoken_words(heard)),
        heard=heard,
    )


def _emotion(turn: Turn) -> str:
    return turn.speech.emotion if turn.speech else "neutral"


def _neutral(turn: Turn) -> Turn:
    return turn.model_copy(update={"speech": SpeechDirections()})


def word_errors(meant: Sequence[str], heard: Sequence[str]) -> int:
    """Substitutions, deletions and insertions between two word sequences."""
    from jiwer import process_words

    if not meant or not heard:
        return len(meant) + len(heard)
    found = process_words(" ".join(meant), " ".join(heard))
    return int(found.substitutions + found.deletions + found.insertions)


_FILLERS = frozenset(("um", "uh", "er", "erm", "hm", "hmm", "mm", "mhm", "ah", "oh"))
"""Fillers. Whisper is trained to leave these out, so they do not show if speech is intelligible."""

_ONE_SPELLING = {"mom": "mum", "mommy": "mummy", "okay": "ok", "gray": "grey", "mold": "mould", "alright": "all right"}
_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def spoken_words(text: str) -> tuple[str, ...]:
    """The spoken words of a text: lower case, numbers below 100 and years in words, one spelling, no punctuation or fillers."""
    bare = re.sub(r"[‘’]", "'", text.lower())
    words: list[str] = []
    for word in re.findall(r"[a-z]+(?:'[a-z]+)*|[0-9]+", bare):
        spelt = _number(int(word)) if word.isdigit() else _ONE_SPELLING.get(word, word)
        words += [part for part in spelt.split() if part not in _FILLERS]
    return tuple(words)


def _number(value: int) -> str:
    if value < 20:
        return _UNITS[value]
    if value < 100:
        return _TENS[value // 10 - 2] + (f" {_UNITS[value % 10]}" if value % 10 else "")
    century, rest = divmod(value, 100)
    if 11 <= century <= 20 and rest >= 10:
        return f"{_number(century)} {_number(rest)}"
    return str(value)
