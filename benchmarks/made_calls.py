"""Calls of two synthesised speakers with exact truth, and what lines, rooms and recorders do to them.

Two sets, of other texts, voices and seeds: `choosing` is what methods and constants were chosen on, `reporting` what
docs/evidence/calls.md reports.
A call has a greeting, turns with pauses, interruptions to which the agent yields, and backchannels. The
truth is the dry sound before anything is done to it: the last sample within 40 dB of its speech.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal

import numpy as np

from harness import models
from harness.audio.caller_voices import CALLER_VOICES, HIBARI
from harness.audio.conditions.line import OnLine, room_tail, telephone
from harness.audio.conditions.noise import babble
from harness.audio.level import first_sample, last_sample, quiet_spans, speech_power
from harness.audio.pcm import Float32, Law, resample_float, to_float, to_int16
from harness.audio.recorded_turns import LEAST_PAUSE_S, Span
from harness.audio.speech import render_turn
from harness.audio.synthesis import PiperSynthesiser
from harness.audio.synthesis_hibari import HibariSynthesiser
from harness.calibrate.voice import coloured_noise
from harness.calls.as_recording import TwoSides

RATE_HZ: Final = 16_000
LEVEL_DB: Final = -22.0
SetName = Literal["choosing", "reporting"]

_CALLER: Final = {
    "choosing": (
        "Hello, I ordered a lamp last week <pause 620> and the box came without a cable.",
        "Yes, the order number is four one seven <pause 900> two nine six.",
        "Could you send the cable to my new address instead?",
        "That would be great <pause 450> if it is not too much trouble.",
        "No, I would rather have my money back, please stop for a moment.",
        "I am not sure, let me have a look at the receipt.",
        "My sister said <pause 1300> that you close at six on Fridays.",
        "Is there anything else that you need from me?",
        "Sorry, that is not what I asked for at all.",
        "Thanks a lot, that is all for today. Goodbye.",
    ),
    "reporting": (
        "Good morning, my train was cancelled <pause 700> so I missed the flight to Oslo.",
        "The booking code is K seven <pause 1100> B F two.",
        "What would it cost to leave on Thursday night?",
        "I think we paid by card <pause 380> but my husband has the details.",
        "Wait, before you go on, we are three people and not two.",
        "Both of the children are under six.",
        "We could also take the bus <pause 1500> if there is one before eight.",
        "How long does the refund usually take?",
        "Hold on, please, I did not catch any of that.",
        "All right, I will think about it and call back. Bye bye.",
    ),
}
_AGENT: Final = {
    "choosing": (
        "Hi, thanks for calling the lamp shop. How can I help you?",
        "I am sorry about that. Which cable is missing, and which lamp was it?",
        "Thank you, I have found your order. It left our house on the twelfth, and it was packed by a new colleague.",
        "Of course, I can change the address. Please tell me the street, the number and the town.",
        "No trouble at all, we will ship it this afternoon, and you will get a message with the number of the parcel.",
        "Sure.",
        "We are open until six on Fridays, and until four on Saturdays. On Sundays nobody is here.",
        "I see. In that case I will pass you to a colleague who can pay it back at once.",
    ),
    "reporting": (
        "Welcome to Nordic Travel, this is the booking desk. What can I do for you?",
        "Oh no, that must have been a long day. Could you give me the code of your booking?",
        "I have it here. There were two seats on the flight at nine, and both are marked as not used.",
        "On Thursday there is one at twenty past seven, and it costs ninety euros more than the one you had.",
        "That is no problem, the payment is in our system. It may take a minute until I can see who paid.",
        "Okay.",
        "There is a bus at half past seven from the main square, and it stops at the terminal after an hour.",
        "A refund takes ten working days, sometimes a little longer, because the bank has to confirm it.",
    ),
}
_MURMURS: Final = {"choosing": ("Mm-hm.", "Okay."), "reporting": ("Uh-huh.", "Right.")}
_VOICES: Final = {
    "choosing": (("ann", "joe"), ("joe", "zoe"), ("tom", "jo"), ("eve", "ned")),
    "reporting": (("max", "joe"), ("jo", "ann"), ("joe", "eve"), ("abe", "may")),
}
"""Caller and agent of each call."""
_SEEDS: Final = {"choosing": 1_000, "reporting": 9_000}


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call: both sides at `RATE_HZ`, dry, and the stretches of speech of each in seconds."""

    name: str
    caller: Float32
    agent: Float32
    caller_speech: tuple[Span, ...]
    agent_speech: tuple[Span, ...]


Sides = tuple[Float32, Float32]
Change = Callable[[Sides, np.random.Generator], Sides]


def made_calls(which: SetName, cache: Path | None = None) -> Iterator[MadeCall]:
    """The four calls of a set."""
    synthesisers: dict[str, HibariSynthesiser | PiperSynthesiser] = {
        HIBARI: HibariSynthesiser(),
        "piper-joe": PiperSynthesiser(models.resolve("piper-joe")),
    }
    for k, (caller, agent) in enumerate(_VOICES[which]):

        def said(voice: str, text: str) -> Float32:
            by = CALLER_VOICES[voice]
            turn = render_turn(text, None, synthesisers[by.weight], cache, by.speaker)
            sound = resample_float(to_float(turn.samples), turn.rate_hz, RATE_HZ)
            sound = sound[first_sample(sound, RATE_HZ) : (last_sample(sound, RATE_HZ) or 0) + 1]
            return np.asarray(sound * 10 ** (LEVEL_DB / 20) / speech_power(sound, RATE_HZ) ** 0.5, np.float32)

        yield _call(f"{which}-{caller}-{agent}", which, k, partial(said, caller), partial(said, agent))


def _call(name: str, which: SetName, k: int, caller: Callable[[str], Float32], agent: Callable[[str], Float32]) -> MadeCall:
    rng = np.random.default_rng(_SEEDS[which] + k)
    placed: tuple[list[tuple[float, Float32]], list[tuple[float, Float32]]] = ([], [])
    replies = list(rng.permutation(len(_AGENT[which]) - 1) + 1)
    at = 0.6
    greeting = agent(_AGENT[which][0])
    placed[1].append((at, greeting))
    at += len(greeting) / RATE_HZ + rng.uniform(0.4, 1.2)
    texts = [_CALLER[which][(k + n) % 9] for n in range(7)] + [_CALLER[which][9]]
    for n, text in enumerate(texts):
        sound = caller(text)
        placed[0].append((at, sound))
        at += len(sound) / RATE_HZ
        if n == len(texts) - 1:
            break
        at += rng.uniform(0.35, 1.8)
        reply = agent(_AGENT[which][replies[n % len(replies)]])
        lasts = len(reply) / RATE_HZ
        if n in (1, 4) and lasts > 3.0:  # the next turn interrupts
            begins = rng.uniform(1.2, 1.8)
            stop = round((begins + rng.uniform(0.25, 0.9)) * RATE_HZ)
            reply = reply[:stop].copy()
            reply[-80:] *= np.linspace(1, 0, 80, dtype=np.float32)
            placed[1].append((at, reply))
            at += begins
            continue
        if n in (2, 5) and lasts > 2.5:
            placed[0].append((at + rng.uniform(0.9, 1.4), caller(_MURMURS[which][n % 2])))
        placed[1].append((at, reply))
        at += lasts + rng.uniform(0.3, 1.2)
    length = round((at + rng.uniform(1.0, 3.0)) * RATE_HZ)
    sides = [np.zeros(length, np.float32) for _ in placed]
    speech: list[tuple[Span, ...]] = []
    for side, pieces in zip(sides, placed, strict=True):
        spans: list[Span] = []
        for start_s, sound in pieces:
            start = round(start_s * RATE_HZ)
            side[start : start + len(sound)] += sound[: length - start]
            spans += _spans(sound, start)
        speech.append(tuple(spans))
    return MadeCall(name, sides[0], sides[1], speech[0], speech[1])


def _spans(sound: Float32, start: int) -> Iterator[Span]:
    first, last = first_sample(sound, RATE_HZ) or 0, (last_sample(sound, RATE_HZ) or 0) + 1
    edges = [first, *(edge for gap in quiet_spans(sound, RATE_HZ, LEAST_PAUSE_S) for edge in gap), last]
    yield from (((start + a) / RATE_HZ, (start + b) / RATE_HZ) for a, b in zip(edges[::2], edges[1::2], strict=True))


def with_truth(call: MadeCall, change: Change, seed: int, rate_hz: int = RATE_HZ) -> TwoSides:
    """The recording of a call on which a change was made."""
    caller, agent = change((call.caller, call.agent), np.random.default_rng(seed))
    caller, agent = (resample_float(side, RATE_HZ, rate_hz) for side in (caller, agent))
    return TwoSides(to_int16(caller), rate_hz, to_int16(agent), rate_hz)


def chain(*changes: Change) -> Change:
    """One change after the other."""

    def whole(sides: Sides, rng: np.random.Generator) -> Sides:
        for change in changes:
            sides = change(sides, rng)
        return sides

    return whole


def room(rt60_s: float, direct_db: float = 3.0, *, both: bool = False) -> Change:
    """The caller (or both) in a room; `direct_db`: direct sound over all reflections."""

    def change(sides: Sides, rng: np.random.Generator) -> Sides:
        return (_in_room(sides[0], rt60_s, direct_db, rng), _in_room(sides[1], rt60_s, direct_db, rng) if both else sides[1])

    return change


def _in_room(sound: Float32, rt60_s: float, direct_db: float, rng: np.random.Generator) -> Float32:
    from scipy.signal import fftconvolve

    tail = room_tail(rt60_s, RATE_HZ, rng) * 10 ** ((3.0 - direct_db) / 20)
    return np.asarray(sound + fftconvolve(sound, tail)[: sound.size], np.float32)


def crosstalk(db: float) -> Change:
    """Each side in the other's channel, at once."""
    gain = np.float32(10 ** (db / 20))
    return lambda sides, _: (sides[0] + gain * sides[1], sides[1] + gain * sides[0])


def echo(db: float, delay_ms: float, side: Literal["caller", "agent", "both"] = "caller", spread_ms: float = 4.0) -> Change:
    """The other side in this side's channel, later and smeared, as from a loudspeaker into a microphone."""

    def change(sides: Sides, rng: np.random.Generator) -> Sides:
        response = rng.standard_normal(round(spread_ms / 1000 * RATE_HZ)) * np.exp(
            -np.arange(round(spread_ms / 1000 * RATE_HZ)) / 16
        )
        response *= 10 ** (db / 20) / np.sqrt(np.sum(response**2))

        def late(sound: Float32) -> Float32:
            delay = round(delay_ms / 1000 * RATE_HZ)
            heard = np.convolve(sound, response)
            return np.concatenate([np.zeros(delay), heard])[: sound.size].astype(np.float32)

        return (
            sides[0] + late(sides[1]) if side != "agent" else sides[0],
            sides[1] + late(sides[0]) if side != "caller" else sides[1],
        )

    return change


def level(caller_db: float, agent_db: float) -> Change:
    """Other levels; what is beyond full scale is clipped."""
    return lambda sides, _: (
        np.clip(sides[0] * np.float32(10 ** (caller_db / 20)), -1, 1),
        np.clip(sides[1] * np.float32(10 ** (agent_db / 20)), -1, 1),
    )


def floor(dbfs: float, colour: Literal["white", "pink", "babble"] = "white") -> Change:
    """Noise on both sides."""

    def one(sound: Float32, rng: np.random.Generator) -> Float32:
        if colour == "babble":
            noise = babble(sound.size, RATE_HZ, rng).astype(np.float64)
            noise *= 10 ** (dbfs / 20) / np.sqrt(np.mean(noise**2))
        else:
            noise = coloured_noise(sound.size, dbfs, rng, colour)
        return np.asarray(sound + noise, np.float32)

    return lambda sides, rng: (one(sides[0], rng), one(sides[1], rng))


def codec(law: Literal["mu", "a"]) -> Change:
    """The telephone's band and G.711 on both sides."""
    named: Law = "ulaw" if law == "mu" else "alaw"

    def on_line(side: Float32, rng: np.random.Generator) -> Float32:
        return telephone(OnLine(side, RATE_HZ, LEVEL_DB, rng), named)

    return lambda sides, rng: (on_line(sides[0], rng), on_line(sides[1], rng))


def offset(by: float) -> Change:
    """A DC offset on both sides."""
    return lambda sides, _: (sides[0] + np.float32(by), sides[1] + np.float32(by))


def conditions(which: SetName) -> dict[str, Change]:
    """The changes of a set by name, of the same kinds in both, with other values between the ends of each range."""
    mine = which == "choosing"
    found: dict[str, Change] = {"clean": lambda sides, _: sides}
    for rt60, direct in (
        ((0.2, 3), (0.4, 3), (0.6, 0), (0.8, 3)) if mine else ((0.2, 0), (0.3, 3), (0.5, 3), (0.7, 0), (0.8, 3))
    ):
        found[f"room {rt60:g} s, direct {direct:+g} dB"] = room(rt60, direct)
    found["room on both sides"] = room(0.4 if mine else 0.5, both=True)
    for db in (-40, -30, -20, -15) if mine else (-40, -33, -26, -18, -15):
        found[f"crosstalk {db} dB"] = crosstalk(db)
    for db, delay, side in (
        ((-25, 80, "caller"), (-15, 150, "caller"), (-30, 300, "caller"), (-25, 60, "agent"), (-20, 120, "both"))
        if mine
        else (
            (-15, 60, "caller"),
            (-22, 20, "caller"),
            (-28, 220, "caller"),
            (-40, 300, "caller"),
            (-20, 100, "agent"),
            (-25, 40, "both"),
        )
    ):
        found[f"echo {db} dB, {delay} ms, {side}"] = echo(db, delay, side)  # type: ignore[arg-type]
    for one, other in (
        ((-30, -30), (-20, 0), (0, -20), (12, 12)) if mine else ((-30, 0), (0, -30), (-25, -25), (15, 0), (30, 30))
    ):
        found[f"level {one:+g}, {other:+g} dB"] = level(one, other)
    for colour, db in (
        (("white", -70), ("pink", -60), ("white", -50), ("babble", -50), ("pink", -40))
        if mine
        else (("pink", -70), ("white", -60), ("babble", -60), ("pink", -50), ("babble", -45), ("white", -40))
    ):
        found[f"{colour} floor {db} dB"] = floor(db, colour)  # type: ignore[arg-type]
    found["µ-law"], found["A-law"] = codec("mu"), codec("a")
    found["DC .1"] = offset(0.1)
    found |= (
        {
            "telephone, echo, noise": chain(echo(-30, 90), floor(-58, "pink"), codec("mu")),
            "room, echo, noise": chain(room(0.4), echo(-25, 120), floor(-60, "pink")),
            "crosstalk, low": chain(crosstalk(-25), level(-20, -10)),
        }
        if mine
        else {
            "telephone, echo, noise": chain(echo(-27, 130), floor(-55, "white"), codec("a")),
            "room, echo, noise": chain(room(0.5), echo(-28, 70), floor(-58, "white")),
            "crosstalk, low": chain(crosstalk(-22), level(-10, -20)),
        }
    )
    return found


def shortened(call: MadeCall, lasts_s: float) -> MadeCall:
    """The first seconds of a call."""
    size = round(lasts_s * RATE_HZ)

    def cut(spans: Sequence[Span]) -> tuple[Span, ...]:
        return tuple(s for s in spans if s[1] <= lasts_s)

    return replace(
        call,
        caller=call.caller[:size], agent=call.agent[:size],
        caller_speech=cut(call.caller_speech), agent_speech=cut(call.agent_speech),
    )  # fmt: skip
