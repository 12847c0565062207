"""The check of a judge that hears: one reply said plainly, and the same words spoilt in one known way.

A program makes the sounds, from replies of the gold pairs in a caller's own voice: *flat* has hardly any melody, *rushed* is
half as fast again, *harsh* is rendered as anger, *clipped* is driven into distortion, and *broken* loses a third of its sound.
No person has rated them. All are at one level, so that loudness tells nothing. Gold pairs and red lines are read, and not
asked.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Final

import numpy as np
import soxr

from harness.audio.prosody import Speaker
from harness.audio.speech import JUST_THE_VOICE, PlainDirections, render_turn
from harness.audio.synthesis import Voice
from harness.audio.voice_error import VoiceError
from harness.files import cache_folder
from harness.judging.cache import VerdictCache, both_orders
from harness.judging.judge import Judge, Question
from harness.judging.sound import Clip, wav
from harness.judging.validation.deliveries import DeliveryPair, check_deliveries, unspoken
from harness.judging.validation.labelled import LabelledPair, gold_pairs
from harness.progress import RunProgress
from harness.store.judgment import JudgeCheck
from harness.store.reply_sound import RATE_HZ, Sound, levelled
from harness.voices.rendering import Hibari, open_voice

CONVERSATIONS: Final = 8
"""With five spoilt deliveries 40 pairs; fewer conversations would give no interval."""
_WORDS_PER_S: Final = 2.8
"""Of the installed voice, measured on these replies; a dry run counts sounds by it, because none is made yet."""
_RUSHED: Final = 1.5
"""The renderer's fastest rate: beyond it words slur."""
_CLIPPED_DB: Final = 30.0
"""Gain before the limit of full scale. Words can still be understood."""
_BREAK_S: Final = 0.24
_BROKEN: Final = 1 / 3
"""Length of a stretch, and the share of each that is lost, as where every third packet of 80 ms is."""


async def check_hearing(judge: Judge, progress: RunProgress, cache: VerdictCache) -> JudgeCheck:
    """The check of a judge that hears; without an installed voice it says that nothing was asked."""
    try:
        pairs = delivery_pairs()
    except VoiceError as error:
        progress.note(f"{judge.id} was not checked: {error}")
        return unspoken(judge)
    return await check_deliveries(judge, pairs, cache, progress.count)


def questions_of_check(fingerprint: str, known: Collection[str]) -> list[Question]:
    """The questions of that check that are still to be asked. `known`: keys of stored answers."""
    try:
        asked = [pair.question for pair in delivery_pairs()]
    except VoiceError:
        return []
    if not known:  # No sound need be made to see that none is answered.
        return [shown for question in asked for shown in (question, question.swapped())]
    return [shown for question in asked for shown, key in both_orders(fingerprint, question) if key not in known]


def delivery_pairs(voice: Voice | None = None) -> list[DeliveryPair]:
    """The pairs, whose sounds are made when they are asked for. `voice`: None opens the one that is installed as a package.

    Raises:
        VoiceError: no voice is installed.
    """
    speaking = voice or open_voice(Hibari())
    return [
        DeliveryPair(pair.conversation_id, pair.turns, spoilt, *(_clip(pair.better, how, speaking) for how in (_said, worse)))
        for pair in _replies()
        for spoilt, worse in SPOILT.items()
    ]


def _replies() -> Iterator[LabelledPair]:
    """One pair of each of the first gold conversations; its good reply is spoken."""
    first = {pair.conversation_id: pair for pair in reversed(gold_pairs())}
    yield from (first[name] for name in sorted(first)[:CONVERSATIONS])


def _clip(text: str, make: Callable[[str, Voice], Sound], voice: Voice) -> Clip:
    def file() -> bytes:
        return wav(np.round(levelled(make(text, voice)) * 32_767).astype(np.int16), RATE_HZ)

    return Clip(len(text.split()) / _WORDS_PER_S, file)


def _said(text: str, voice: Voice, how: PlainDirections | None = None, speaker: Speaker = JUST_THE_VOICE) -> Sound:
    spoken = render_turn(text, how, voice, cache_folder() / "speech", speaker)
    floats = spoken.samples.astype(np.float32) / np.float32(32_768)
    sound: Sound = soxr.resample(floats, spoken.rate_hz, RATE_HZ, quality="HQ").astype(np.float32)
    return sound


def _clipped(text: str, voice: Voice) -> Sound:
    loud: Sound = np.clip(levelled(_said(text, voice)) * np.float32(10 ** (_CLIPPED_DB / 20)), -1, 1)
    return loud


def _broken(text: str, voice: Voice) -> Sound:
    plain = _said(text, voice)
    stretch = round(_BREAK_S * RATE_HZ)
    plain[np.arange(plain.size) % stretch >= stretch * (1 - _BROKEN)] = 0
    return plain


SPOILT: Final[Mapping[str, Callable[[str, Voice], Sound]]] = {
    "flat": partial(_said, speaker=Speaker(f0_range_factor=0.0)),
    "rushed": partial(_said, how=PlainDirections(rate=_RUSHED)),
    "harsh": partial(_said, how=PlainDirections(emotion="anger", intensity=1.0)),
    "clipped": _clipped,
    "broken": _broken,
}
"""Name of a delivery → how a text is said so."""
