"""The sound of each event, rendered before any call like the caller's turns.

Backchannels are in the caller's own voice, because the caller is the listener. The second voice is another person in the room:
never the caller's voice, of the other sex if that is known, and never the voice of an agent in the run. It is fainter,
because that person is further away, and its words are plainly meant for somebody else.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from harness.audio.caller_voices import bystander
from harness.audio.event_sounds import event_sound
from harness.audio.pcm import to_float, to_int16
from harness.audio.speech import RenderedTurn
from harness.scenarios.context import Context, Turn
from harness.store.events import EventName, EventSettings
from harness.voices.choice import Voices

WORDS: Mapping[EventName, str] = {
    "mm-hm": "Mm hmm.",
    "yeah": "Yeah.",
    "second-voice": "Is anyone else hungry? I could make some toast.",
    "interruption": "Sorry, wait. <pause 250> Can I say something?",
}
"""Spelling of the backchannel; synthesisers read "mm-hm" as letters."""
SECOND_VOICE_DB = -10.0
"""Level of the second voice. A choice: about three times as far from the microphone as the caller (6 dB for each doubling)."""
CONTROL_S = 0.4
"""Length of the sound, as of the shorter sounds."""
RATE_HZ = 24_000


@dataclass(frozen=True, slots=True)
class EventTurns:
    """The rendered events of a run, by (context, sound), and the second voice of each context."""

    rendered: Mapping[tuple[str, EventName], RenderedTurn] = field(default_factory=dict)
    voices: Mapping[str, str] = field(default_factory=dict)


def render_events(
    settings: EventSettings, contexts: Collection[Context], voices: Voices, wishes: Mapping[str, str], seed: int
) -> EventTurns:
    """Render every sound of the settings for every context. `wishes`: the voice of each. The same seed gives the same bytes.

    Raises:
        UserError: a voice is not available.
    """
    rendered: dict[tuple[str, EventName], RenderedTurn] = {}
    others: dict[str, str] = {}
    sounds = sorted({event.sound for event in settings.events})
    for context in contexts:
        wish = wishes[context.id]
        for name in sounds:
            if name == "second-voice":
                others[context.id] = bystander(wish, context.id, seed, voices.taken)
                spoken = voices.render(Turn(role="seeker", text=WORDS[name]), others[context.id])
                rendered[context.id, name] = _fainter(spoken, SECOND_VOICE_DB)
            elif name in WORDS:
                rendered[context.id, name] = voices.render(Turn(role="seeker", text=WORDS[name]), wish)
            else:
                rendered[context.id, name] = RenderedTurn(_made(name, context.id, seed), RATE_HZ, (), "")
    return EventTurns(rendered, others)


def _made(name: EventName, context_id: str, seed: int) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    if name != "cough" and name != "door":
        return np.zeros(round(CONTROL_S * RATE_HZ), np.int16)
    own = int.from_bytes(hashlib.sha256(f"{seed} {context_id} {name}".encode()).digest()[:4], "big")
    return event_sound(name, RATE_HZ, own)


def _fainter(spoken: RenderedTurn, by_db: float) -> RenderedTurn:
    samples = to_int16(to_float(spoken.samples) * 10 ** (by_db / 20))
    return RenderedTurn(samples, spoken.rate_hz, spoken.pauses, spoken.text, spoken.ends)
