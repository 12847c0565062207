"""The agent's utterances as heard: stretches of sound with their kind and exact start and end.

The track is cut into stretches of any sound; each goes through the speech model separately. Accepted windows that are close
together are one utterance, whose start `harness.audio.onset` then finds. Sound that the model does not accept, or accepts with
little conviction, stays in the list as `nonvocal`. Nor is an utterance an answer that its agent took back before it had said
anything. An utterance ends after half a second of quiet, and a murmur and the answer behind it may be nearer than that: for
each turn of the caller it is parted at its pauses (by level, against the sound's own noise), and its parts of one kind
(`harness.replies.kinds`) are one utterance again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import soxr
from numpy.typing import NDArray

from harness.agents.connection import Mark
from harness.agents.reply_signs import sign_of
from harness.audio.level import WINDOW_S, block_power, speech_power
from harness.audio.onset import find_onset
from harness.audio.vocal import RATE_HZ, SURE, WINDOW, VocalDetector, at_one_level, is_voice, vocal_spans
from harness.audio.voicing import FRAME, HOP_S, VOICED, voicing
from harness.audio.voicing import RATE_HZ as PITCH_HZ
from harness.recording.playout import HEARD_RATE_HZ, HeardTrack
from harness.recording.withdrawn import is_withdrawn, was_taken_back
from harness.replies.kinds import APART_MS, PARTED_MS, Ending, Part, Word, kinds_of
from harness.timeline import samples_to_ns
from harness.timing.breath import breath_before
from harness.timing.figures import UtteranceKind

AUDIBLE_POWER: Final = 10 ** (-65 / 10)
"""−65 dB of full scale; the rounding of 16 bits is at −98, a whisper above −50."""
ROUNDING_POWER: Final = 10 ** (-98 / 10)
UTTERANCE_GAP_S: Final = APART_MS / 1000
REGION_GAP_S: Final = 0.3
LEAD_S: Final = 0.32
"""Ten windows of the sound before, for the model's memory."""
ATTACK_BEFORE: Final = round(0.02 * HEARD_RATE_HZ)
"""An attack is softer than `AUDIBLE_POWER` for this long at most."""
NOISY_DB: Final = 15.0
"""With less between speech and noise the model's first accepted window was up to 150 ms late."""
PITCH_BEFORE_S: Final = 0.4
PITCH_GAP: Final = 10
"""Frames without pitch, 50 ms, that do not interrupt a voice in noise."""
PITCH_ERROR_S: Final = 0.010
SOUND_S: Final = 0.030
"""A shorter sound has to be as much louder, for the ear sums up what is short: a click of 2 ms by 12 dB."""
BED_S, BED_SHARE = 1.0, 0.5
"""Sound that lasts for this share of the time before the caller's end is a bed, in which a sound begins 10 dB over it."""
FADES_S: Final = 0.05
"""A voice swells and fades for as long; what sounds so near to it is its own."""
BLOCK_S: Final = 0.002
END_DB: Final = 40.0
END_OVER_NOISE_DB: Final = 5.0
"""Over noise a voice ends where 8 ms of it last rise by this over the noise after it; steady noise rises by 3."""
AFTER_S: Final = 0.25
LEAST_SURE: Final = 2
"""Windows of conviction in the first piece of an utterance; a piece well before it with fewer is a note or a tick."""
NOTE_GAP_S: Final = 0.1
"""Longer than the closure of a stop consonant, over which a weak first sound belongs to its word."""


@dataclass(frozen=True, slots=True)
class Sound:
    """A stretch of sound, in samples of the heard track. `speech`: not yet labelled (`harness.timing.utterances`)."""

    start: int
    end: int
    kind: UtteranceKind
    ending: Ending = "itself"


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece of sound that the model accepts, in samples of the heard track: where its stretch begins, the first accepted
    window, and the end of its sound; the model's probabilities, and its sound at 16 kHz."""

    region: int
    accepted: int
    end: int
    probabilities: NDArray[np.float32]
    narrow: NDArray[np.float32]


def find_sounds(
    track: HeardTrack, vocal: VocalDetector, clears: Sequence[int] = (), interrupted: Sequence[int] = ()
) -> tuple[Sound, ...]:
    """Every utterance and every other sound of the agent, in order.

    At each of `clears` (samples) the agent broke off: the next sound is another utterance, however soon it comes. At each of
    `interrupted` somebody spoke or coughed into its reply: audio taken back after that was taken back for them.
    """
    regions = _regions(track.samples, clears)
    pieces = [piece for start, end in regions for piece in _pieces(track.samples, start, end, vocal)]
    whole = _with_breaths(track.samples, _spoken(track.samples, pieces, clears))
    spoken = _without_withdrawn(whole, clears, interrupted)
    # Sound of which any part is spoken is listed as that alone.
    other = [
        Sound(*region, "nonvocal") for region in regions if not any(s.start < region[1] and region[0] < s.end for s in spoken)
    ]
    return tuple(sorted([*spoken, *other], key=lambda s: s.start))


def first_sound(track: HeardTrack, sounds: Sequence[Sound], from_sample: int) -> int | None:
    """Start of the first sound of any kind that begins from a sample on: of an utterance, or of anything with the energy of
    `SOUND_S` of sound that is audible over what was there before that sample."""
    block = round(HEARD_RATE_HZ * BLOCK_S)
    voices = [s for s in sounds if s.kind != "nonvocal"]
    fades = round(FADES_S * HEARD_RATE_HZ)
    from_sample = next((s.end + fades for s in reversed(voices) if s.start < from_sample <= s.end), from_sample)
    begun = next((s.start for s in voices if s.start >= from_sample), None)
    if from_sample >= len(track.samples):
        return begun
    begin = max(0, from_sample - round(BED_S * HEARD_RATE_HZ))
    before = track.samples[begin:from_sample].copy()
    for voice in voices:
        before[max(0, voice.start - begin) : max(0, voice.end - begin)] = 0.0
    bed = block_power(before, block)
    bed = bed[bed >= ROUNDING_POWER]
    floor = float(np.percentile(bed, 10)) if len(bed) >= BED_SHARE * BED_S / BLOCK_S else 0.0
    level = block_power(track.samples[from_sample:], block)
    loud = level >= max(AUDIBLE_POWER, floor * 10)
    energy = np.convolve(np.where(loud, level, 0.0), np.ones(round(SOUND_S / BLOCK_S)))[round(SOUND_S / BLOCK_S) - 1 :]
    found = np.flatnonzero(loud & (energy >= max(AUDIBLE_POWER, floor * 10) * SOUND_S / BLOCK_S))
    first = from_sample + int(found[0]) * block if len(found) else None
    if first is None or begun is None:
        return first if begun is None else begun
    return begun if first > begun - fades else first


def _regions(samples: NDArray[np.float32], clears: Sequence[int]) -> list[tuple[int, int]]:
    """Stretches of sound of any kind, in samples, gaps shorter than `REGION_GAP_S` closed, cut at clears."""
    block = round(HEARD_RATE_HZ * BLOCK_S)
    loud = np.flatnonzero(block_power(samples, block) > AUDIBLE_POWER)
    if not len(loud):
        return []
    cuts = np.flatnonzero(
        (np.diff(loud) > REGION_GAP_S / BLOCK_S) | (np.diff(np.searchsorted(np.sort(clears), loud * block)) > 0)
    )
    starts = loud[np.concatenate([[0], cuts + 1])]
    ends = loud[np.concatenate([cuts, [len(loud) - 1]])] + 1
    return [(int(s) * block, min(int(e) * block, len(samples))) for s, e in zip(starts, ends, strict=True)]


def _pieces(samples: NDArray[np.float32], start: int, end: int, vocal: VocalDetector) -> list[_Piece]:
    """The pieces of a stretch of sound that the model accepts."""
    begin = start - round(LEAD_S * HEARD_RATE_HZ)
    window = WINDOW * HEARD_RATE_HZ // RATE_HZ
    # The model needs silence before a voice that opens the call, and the end of the last window.
    padded = np.pad(samples[max(0, begin) : end], (max(0, -begin), 2 * window))
    narrow = soxr.resample(padded, HEARD_RATE_HZ, RATE_HZ, quality="HQ")
    level = at_one_level(narrow.astype(np.float32))
    probabilities = vocal(level)
    found = []
    spans = vocal_spans(probabilities)
    # The model accepts the next voice a window late.
    quiet_until = [begin + (first - 1) * window for first, _ in spans[1:]] + [len(samples)]
    for (first, past), until in zip(spans, quiet_until, strict=False):
        if begin + past * window <= start:
            # Only sound before this stretch was accepted, and it has been examined already.
            continue
        # A short sound may be accepted in the silence after it; the accepted part is the sound.
        accepted = max(min(begin + first * window, end - window), start)
        stop = speech_end(samples, accepted, min(end, begin + (past + 1) * window), until)
        found.append(_Piece(start, accepted, stop, probabilities[first:past], level[first * WINDOW : past * WINDOW]))
    return found


def _spoken(samples: NDArray[np.float32], pieces: Sequence[_Piece], clears: Sequence[int]) -> list[Sound]:
    """The utterances that the pieces make: those close together are one, and together they are a voice or none."""
    found: list[Sound] = []
    for group in _groups(pieces, clears):
        voice = _from_the_voice(group)
        if not is_voice(np.concatenate([p.probabilities for p in voice]), np.concatenate([p.narrow for p in voice])):
            continue
        before = max([found[-1].end if found else 0, *(c for c in clears if c <= voice[0].accepted)])
        earliest = max(before, voice[0].region - ATTACK_BEFORE, *(p.end for p in group[: len(group) - len(voice)]), 0)
        onset = _onset(samples, voice[0].accepted, earliest)
        if onset < voice[-1].end:
            found.append(Sound(onset, voice[-1].end, "speech"))
    return found


def _from_the_voice(group: list[_Piece]) -> list[_Piece]:
    """The pieces without those before the first that is sure, if a quiet separates them from it: notes and ticks."""
    sure = next((k for k, p in enumerate(group) if np.count_nonzero(p.probabilities >= SURE) >= LEAST_SURE), 0)
    while sure and group[sure].accepted - group[sure - 1].end < NOTE_GAP_S * HEARD_RATE_HZ:
        sure -= 1
    return group[sure:]


def _groups(pieces: Sequence[_Piece], clears: Sequence[int]) -> list[list[_Piece]]:
    """The pieces with the pauses of one utterance between them, together; a clear between two separates them."""
    groups: list[list[_Piece]] = []
    for piece in pieces:
        last = groups[-1][-1] if groups else None
        near = last is not None and piece.accepted - last.end < UTTERANCE_GAP_S * HEARD_RATE_HZ
        if near and last is not None and not any(last.accepted < clear <= piece.accepted for clear in clears):
            groups[-1].append(piece)
        else:
            groups.append([piece])
    return groups


def _onset(samples: NDArray[np.float32], accepted: int, earliest: int) -> int:
    """The onset behind an accepted window; in noise, where the model reacts late, searched again from the first pitch."""
    onset = find_onset(samples, HEARD_RATE_HZ, accepted, earliest)
    if onset.level_db - onset.floor_db > NOISY_DB:
        return onset.sample
    begin = max(earliest, accepted - round(PITCH_BEFORE_S * HEARD_RATE_HZ))
    narrow = soxr.resample(samples[begin:accepted], HEARD_RATE_HZ, PITCH_HZ, quality="HQ")
    pitched = voicing(narrow.astype(np.float32)) >= VOICED
    frames = np.flatnonzero(pitched)
    if not len(frames) or len(pitched) - frames[-1] > PITCH_GAP:
        return onset.sample
    interrupted = np.flatnonzero(np.diff(frames) > PITCH_GAP)
    start = int(frames[interrupted[-1] + 1] if len(interrupted) else frames[0])
    first = begin + round((start * HOP_S + FRAME / PITCH_HZ / 2) * HEARD_RATE_HZ)
    if first >= onset.sample - round(PITCH_ERROR_S * HEARD_RATE_HZ):
        return onset.sample
    return min(onset.sample, find_onset(samples, HEARD_RATE_HZ, first, earliest).sample)


def speech_end(samples: NDArray[np.float32], start: int, end: int, until: int) -> int:
    """The end of the speech that is accepted up to `end`, at 48 kHz: of its last 8 ms within 40 dB of its own level, and over
    noise of the last that rise out of the noise after it. From `until` on another voice may sound."""
    block = round(HEARD_RATE_HZ * WINDOW_S)
    stretch = samples[start:end]
    after = block_power(samples[end : min(until, end + round(AFTER_S * HEARD_RATE_HZ))], block)
    noise = float(np.median(after)) if len(after) else 0.0
    least = max(speech_power(stretch, HEARD_RATE_HZ) * 10 ** (-END_DB / 10), noise * 10 ** (END_OVER_NOISE_DB / 10))
    loud = np.flatnonzero(block_power(stretch, block) >= least)
    return start + min((int(loud[-1]) + 1) * block, len(stretch)) if len(loud) else end


def _with_breaths(samples: NDArray[np.float32], spoken: list[Sound]) -> list[Sound]:
    """The utterances, each with the breath that leads into it as a separate sound."""
    found: list[Sound] = []
    for sound in spoken:
        breath = breath_before(samples, sound.start, sound.end, found[-1].end if found else 0)
        if breath is not None:
            found.append(Sound(breath.start, breath.end, "breath"))
            # Where the onset was put at the breath, the word follows it.
            sound = replace(sound, start=sound.start if sound.start > breath.end else breath.word)
        found.append(sound)
    return found


def parts_of(samples: NDArray[np.float32], sound: Sound) -> list[Sound]:
    """The parts of an utterance between its pauses of `PARTED_MS` and more, each with its own onset."""
    found: list[Sound] = []
    start = sound.start
    for quiet, again in inner_pauses(samples, sound.start, sound.end):
        found.append(replace(sound, start=start, end=quiet, ending="itself"))
        start = _onset(samples, again, quiet)
    return [*found, replace(sound, start=start)]


def _without_withdrawn(sounds: list[Sound], clears: Sequence[int], interrupted: Sequence[int]) -> list[Sound]:
    """The utterances; those taken back before they had said anything are named `withdrawn`.

    A breath goes with the word that it leads into.
    """
    found: list[Sound] = []
    for sound in reversed(sounds):
        leads_into = found[-1] if found and sound.kind == "breath" else None
        clears_ns = [_ns(c) for c in clears if not any(sound.start <= at < c for at in interrupted)]
        if any(sound.start <= at < sound.end for at in interrupted):
            sound = replace(sound, ending="interrupted")
        elif was_taken_back(_ns(sound.start), _ns(sound.end), clears_ns):
            sound = replace(sound, ending="taken_back")
        withdrawn = is_withdrawn(_ns(sound.start), _ns(sound.end), clears_ns)
        if withdrawn or (leads_into is not None and leads_into.kind == "withdrawn"):
            sound = replace(sound, kind="withdrawn")
        found.append(sound)
    return found[::-1]


def _ns(sample: int) -> int:
    return samples_to_ns(sample, HEARD_RATE_HZ)


_LEVEL_S: Final = 0.01
QUIET_DB: Final = 30.0
"""So far under its own level fluent speech is for 100 ms at most, in closures and at the ends of words."""
OVER_NOISE_DB: Final = 6.0
LEAST_DB: Final = 10.0
"""With less between voice and noise nothing is parted."""
_NOISE_PERCENTILE: Final = 5
"""A pause of a quarter of a second is this share of five seconds."""


def inner_pauses(samples: NDArray[np.float32], start: int, end: int) -> list[tuple[int, int]]:
    """The pauses of `PARTED_MS` and more between two samples, as (first sample that is quiet, first that is not)."""
    block = round(_LEVEL_S * HEARD_RATE_HZ)
    level = block_power(samples[start:end], block)
    speech = speech_power(samples[start:end], HEARD_RATE_HZ)
    if not len(level) or speech <= 0:
        return []
    noise = float(np.percentile(level, _NOISE_PERCENTILE)) * 10 ** (OVER_NOISE_DB / 10)
    quiet = max(speech * 10 ** (-QUIET_DB / 10), min(noise, speech * 10 ** (-LEAST_DB / 10)))
    loud = np.flatnonzero(level > quiet)
    gaps = np.flatnonzero(np.diff(loud) > PARTED_MS / 1000 / _LEVEL_S)
    return [(start + (int(loud[k]) + 1) * block, start + int(loud[k + 1]) * block) for k in gaps]


REPLIES: Final = ("filler", "answer")
"""Kinds that are the reply; `speech` of older runs is an answer."""
TALK: Final = (*REPLIES, "withdrawn")
"""Kinds that take the floor. A breath and a backchannel leave it with the caller."""


def labelled(
    samples: NDArray[np.float32],
    sounds: Sequence[Sound],
    ms_of: Callable[[int], float],
    begin_ms: float,
    words: Sequence[Word] | None,
    tools: Sequence[tuple[float, float]],
) -> list[Sound]:
    """The sounds of a turn, in order, each with its kind. `ms_of`: a sample in ms relative to the spoken end."""
    parts = [
        (part, Part(ms_of(part.start), ms_of(part.end), k > 0, part.ending))
        for sound in sounds
        if sound.kind == "speech"
        for k, part in enumerate(parts_of(samples, sound))
    ]
    kinds = kinds_of([span for _, span in parts], begin_ms=begin_ms, words=words, tools=tools)
    found: list[Sound] = []
    for (part, span), kind in zip(parts, kinds, strict=True):
        if span.goes_on and found[-1].kind == kind != "backchannel":
            found[-1] = replace(part, start=found[-1].start, kind=kind)
        else:
            found.append(replace(part, kind=kind))
    return sorted([*found, *(s for s in sounds if s.kind != "speech")], key=lambda s: s.start)


def tool_spans(found: Sequence[Mark]) -> list[tuple[int, int | None]]:
    """The times (ns, of the caller) from which to which a function call was in flight; None for one whose end nobody said."""
    spans: list[tuple[int, int | None]] = []
    calls = 0
    for mark in sorted(found, key=lambda m: m.arrival_ns):
        sign = sign_of(mark)
        if sign == "tool_called":
            if not calls:
                spans.append((mark.arrival_ns, None))
            calls += 1
        elif sign == "tool_done" and calls:
            calls -= 1
            if not calls:
                spans[-1] = (spans[-1][0], mark.arrival_ns)
    return spans
