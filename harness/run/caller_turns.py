"""The sound that the caller plays for each context: rendered once, before any call, and cached by content.

Rendering takes a core for one or two seconds per turn, so it is all done before the first call; the sound
is then only read from memory. Line conditions are applied here, to the rendered turn, with a separate seed per
context, so that every agent hears exactly the same noise.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from harness.agents.message import Message
from harness.audio.conditions import CLEAN, parse_condition
from harness.audio.pcm import Int16, resample, to_float
from harness.audio.speech import RenderedTurn
from harness.audio.speech_edges import level_db
from harness.caller import CallerTurn
from harness.progress import RunProgress
from harness.recording.record import Pause
from harness.run.plan import RunPlan
from harness.run.text_agents import as_message
from harness.scenarios.context import Context, Turn, spoken_indices
from harness.store.session import SessionKey
from harness.voices.choice import open_voices
from harness.voices.event_turns import WORDS, EventTurns, render_events
from harness.voices.unspeakable import refuse_unspeakable

AFTER_REPLY_MS = 700.0
"""The caller's silence after a reply in replayed conversations: people's gaps are about 200 ms, a thoughtful answer in a
hard conversation takes longer (HEART, section 4.6, on conversational gaps)."""
LINE_NOISE_S = 4.0
"""Length of the repeated noise: longer than any detector's memory, so that no agent learns the loop."""


@dataclass(frozen=True, slots=True)
class CallerTurns:
    """All rendered turns of a run. `rendered` maps (context id, index of the turn in the context)."""

    plan: RunPlan
    rendered: Mapping[tuple[str, int], RenderedTurn]
    barge_in: Mapping[str, RenderedTurn]
    """The interruptions by context, if the run has a barge-in."""
    voices: dict[str, str]
    """The voice of each context, for the manifest."""
    events: EventTurns = field(default_factory=EventTurns)

    def of(self, key: SessionKey, rate_hz: int) -> tuple[CallerTurn, ...]:
        """The turns of one session at the agent's input rate, under its line condition."""
        context = self.plan.context(key.context_id)
        turns: list[CallerTurn] = []
        for index in spoken_indices(context, key.mode):
            turn = _turn(self.rendered[context.id, index], key, index, rate_hz, AFTER_REPLY_MS)
            turns.append(replace(turn, start="after_reply" if turns else "lead_in"))
        offset_ms = self.plan.options.barge_in_ms
        if offset_ms is not None:
            turns.append(_turn(self.barge_in[context.id], key, -1, rate_hz, offset_ms))
        event = self.plan.event_of(key)
        if event is not None:
            sound = _turn(self.events.rendered[context.id, event.sound], key, -3, rate_hz, event.at_ms)
            turns.append(replace(sound, pauses=(), event=event.sound))
        return tuple(turns)

    def line_noise(self, key: SessionKey, rate_hz: int) -> Int16 | None:
        """The noise of the line while the caller is silent; None for a clean line."""
        if key.condition == CLEAN:
            return None
        silence = np.zeros(round(LINE_NOISE_S * rate_hz), dtype=np.int16)
        # The level of noise is relative to speech: around a quiet turn it must be as faint as inside it.
        spoken = _at_rate(self.rendered[key.context_id, len(self.plan.context(key.context_id).turns) - 1], rate_hz)
        return _conditioned(silence, key, -2, rate_hz, speech_dbfs=level_db(to_float(spoken), rate_hz))


def history_of(context: Context, mode: str, takes_a_greeting: bool = True) -> tuple[Message, ...]:
    """The history for the agent before the call: all turns before the spoken one, or in replay only an opening greeting.

    In replay nothing that follows depends on the greeting, so an agent that takes none does without.
    """
    if mode == "replay" and not takes_a_greeting:
        return ()
    first = spoken_indices(context, mode)[0]
    return tuple(as_message(turn) for turn in context.turns[:first])


def render_turns(plan: RunPlan, progress: RunProgress) -> CallerTurns:
    """Render the caller's turns of the plan's sessions, cached on disk by content.

    Raises:
        UserError: a voice or recording is missing, or a turn is in no language of its voice.
    """
    wanted = [(c, k) for c in plan.contexts for k in spoken_indices(c, plan.options.mode)]
    voices = open_voices(plan.pack, plan.options.seed, plan.own_voices)
    refuse_unspeakable(plan.pack, plan.contexts, voices, plan.options.mode)
    progress.phase("Rendering the caller", len(wanted))
    wishes = {c.id: voices.wish_of(c) for c in plan.contexts}
    voices.prepare([(c.turns[k], wishes[c.id]) for c, k in wanted], lambda: progress.step("rendered"))
    rendered = {(c.id, k): voices.render(c.turns[k], wishes[c.id]) for c, k in wanted}
    barge_in: dict[str, RenderedTurn] = {}
    if plan.options.barge_in_ms is not None:
        spoken = {w: voices.render(Turn(role="seeker", text=WORDS["interruption"]), w) for w in sorted(set(wishes.values()))}
        barge_in = {context: spoken[wish] for context, wish in wishes.items()}
    events = EventTurns()
    if plan.events is not None:
        events = render_events(plan.events, plan.contexts, voices, wishes, plan.options.seed)
    chosen = {context: voices.name_of(wish) for context, wish in wishes.items()}
    return CallerTurns(plan, rendered, barge_in, chosen, events)


def voice_weights(plan: RunPlan) -> frozenset[str]:
    """The weights of the voices of the plan's callers.

    Raises:
        UserError: the user's voices file is malformed.
    """
    voices = open_voices(plan.pack, plan.options.seed, plan.own_voices)
    said = [(c, c.turns[k]) for c in plan.contexts for k in spoken_indices(c, plan.options.mode)]
    spoken = [context for context, turn in said if plan.pack.recording_of(turn) is None]
    weights = {voices.weight_of(voices.wish_of(context)) for context in spoken}
    return frozenset(weight for weight in weights if weight is not None)


def _at_rate(rendered: RenderedTurn, rate_hz: int) -> NDArray[np.int16]:
    return resample(rendered.samples, rendered.rate_hz, rate_hz)


def _turn(rendered: RenderedTurn, key: SessionKey, index: int, rate_hz: int, offset_ms: float) -> CallerTurn:
    """The turn at the agent's rate and under the line condition; it begins during a reply."""
    dry = _at_rate(rendered, rate_hz)
    played = _conditioned(dry, key, index, rate_hz)
    return CallerTurn(played, dry=dry, pauses=_pauses(rendered, rate_hz), start="into_reply", offset_ms=offset_ms)


def _pauses(rendered: RenderedTurn, rate_hz: int) -> tuple[Pause, ...]:
    ratio = rate_hz / rendered.rate_hz
    return tuple(Pause(round(a * ratio), round(b * ratio)) for a, b in rendered.pauses)


def _conditioned(dry: Int16, key: SessionKey, index: int, rate_hz: int, speech_dbfs: float | None = None) -> Int16:
    # The seed depends on the turn, not on the agent: every agent must hear the same noise.
    text = f"{key.context_hash} {key.condition} {key.repeat} {index}"
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
    return parse_condition(key.condition).apply(dry, rate_hz, seed, speech_dbfs)
