"""Packs from TurnBench's talks: each turn of a person to another is one caller's turn, with the talk before it as history.

Its pauses are of people among people, which no other set here has. Each turn counts as a separate conversation although a talk
gives dozens from two speakers, so an import says how many talks there are.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from harness.audio.pcm import Float32, Int16
from harness.audio.recorded_turns import RecordedTurn
from harness.audio.speech import RATE_HZ
from harness.errors import UserError
from harness.scenarios.context import Context
from harness.scenarios.imports.imported import Imported, as_id
from harness.scenarios.imports.talk import history_of
from harness.scenarios.imports.turnbench import SPEAKERS, TalkTurn, talks, turns_of
from harness.scenarios.recorded import MOST_SECONDS
from harness.voices.recorded_packs import OUTSIDE_S, Origin, RecordedPack, Step, add_turn
from harness.voices.recorded_sound import Clipped, checked, read_channels
from harness.wording import counted

MOST_HISTORY: Final = 20
"""Most turns of history: more than any pack that ships has, and enough to know the subject."""
LICENCE: Final = "TurnBench's own terms (access on request); not to be passed on"


class _Doubtful(Exception):
    """A turn that is left out; the message is the reason."""


def pack_of_turnbench(path: Path, *, step: Step | None = None) -> RecordedPack:
    """A pack from the talks at `path` (.parquet or .jsonl rows). Turns in doubt are left out and counted in the notes.

    Raises `UserError` with the talk and the instant.
    """
    contexts: list[Context] = []
    notes: list[str] = []
    sounds: dict[str, Int16] = {}
    number = 0
    for where, folder, talk in talks(path):
        number += 1
        place = f"{where}: talk {talk.conversation_id[:80]!r}"
        turns = turns_of(talk)
        channels = {
            speaker: read_channels(talk.sound(speaker).source(folder, place), f"{place}: the channel of speaker {speaker}")
            for speaker in SPEAKERS
        }
        left: Counter[str] = Counter()
        for k, turn in enumerate(turns):
            try:
                cut = _cut(*channels[turn.speaker], turn, place)
            except _Doubtful as doubt:
                left[str(doubt)] += 1
                continue
            name = as_id(f"{talk.conversation_id}-{turn.speaker}-{k + 1}")
            speaker = as_id(f"turnbench-{talk.conversation_id}-{turn.speaker}")
            about = f"speaker {speaker}, about talk-{as_id(talk.conversation_id)}; TurnBench, {turn.start_s:.2f} s"
            found = RecordedTurn(0.0, cut.size / RATE_HZ, tuple((a - turn.start_s, b - turn.start_s) for a, b in turn.pauses))
            origin = Origin(name, place, about, LICENCE, turn.text, _history(turns[:k], turn.speaker))
            add_turn(contexts, sounds, cut, found, origin)
        notes += [f"{place}: turns left out: {count}: {why}" for why, count in sorted(left.items())]
        if step is not None:
            step(f"{talk.conversation_id[:80]}: {len(turns) - left.total()} turns")
    if not contexts:
        raise UserError(f"{path}: no turn is left: {'; '.join(notes) or 'no talk is there'}")
    of = f"{counted(len(contexts), 'turn')} of {counted(number, 'talk')}"
    notes.append(f"{of}: turns of one talk share its two speakers, so intervals over turns are too narrow")
    return RecordedPack(Imported(tuple(contexts), tuple(notes)), sounds, ())


def _cut(signal: Float32, rate_hz: int, turn: TalkTurn, place: str) -> Float32:
    """The turn's sound at 16 kHz. Raises `_Doubtful` for a turn to leave out."""
    if turn.doubt:
        raise _Doubtful(turn.doubt)
    if turn.end_s - turn.start_s > MOST_SECONDS:
        raise _Doubtful(f"longer than {MOST_SECONDS:.0f} s")
    if turn.end_s > signal.shape[1] / rate_hz + OUTSIDE_S:
        raise UserError(f"{place} at {turn.end_s:.3f} s: a label is outside the sound ({signal.shape[1] / rate_hz:.2f} s)")
    part = signal[:, round(turn.start_s * rate_hz) : round(turn.end_s * rate_hz)]
    if not np.any(part):
        raise _Doubtful("silent on its own channel")
    try:
        return checked(part, rate_hz, f"{place} at {turn.start_s:.2f} s").mixed
    except Clipped:
        raise _Doubtful("clipped") from None


def _history(before: Sequence[TalkTurn], speaker: int) -> list[dict[str, str]]:
    """The talk before a turn with a pack's roles, seen from its speaker, as far as it was written down."""
    turns = history_of(("seeker" if turn.speaker == speaker else "supporter", turn.text) for turn in before if turn.text)
    return [{**turn, "text": turn["text"][-4_000:]} for turn in turns[-MOST_HISTORY:]]
