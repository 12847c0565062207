"""Replies as sounds, for a judge that hears.

A judge of text cannot tell a kind sentence from the same one said flatly or in a rush. So a judge may get each reply's sound,
from its first measured sound to its end, without its delay: a judge that heard the delay would put latency on the axis of
quality. Some models take one recording only; they get both replies in one file, with a beep between.
"""

import base64
import hashlib
import io
import wave
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from harness.errors import UserError

BEEP_HZ: Final = 1_000
BEEP_S: Final = 0.3
BEEP_LEVEL: Final = 0.1
"""Peak: about as loud as the replies, which are at −26 dB of full scale."""
AROUND_BEEP_S: Final = 0.5
"""Silence on each side of the beep, longer than a pause within a sentence."""


class HearingSettings(BaseModel):
    """`[audio]` in a judge's file: how its server takes sound, and what that costs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    part: Literal["input_audio", "audio_url"] | None = None
    """Form of a recording in a message of an OpenAI-like server; None: `input_audio`. Gemini's own API has one form."""
    joined: bool = False
    """Both replies in one recording with a beep between, for a model that takes one."""
    tokens_per_s: Annotated[float, Field(gt=0)] | None = None
    """Tokens that the provider counts for a second of sound; None: not known, so that the dry run prints no cost."""
    price_in: Annotated[float, Field(ge=0)] | None = None
    """US dollars per million tokens of sound; None: that of the list that ships, if it has one."""


class Clip:
    """The sound of one reply as a WAV file, made when it is asked for: those of a long run are gigabytes."""

    def __init__(self, seconds: float, make: Callable[[], bytes]) -> None:
        self.seconds = seconds
        """Its length, as measured."""
        self.wav = make
        """Returns the file; the same bytes each time."""

    @cached_property
    def sha256(self) -> str:
        """Hash of the file."""
        return hashlib.sha256(self.wav()).hexdigest()


def wav(samples: "np.ndarray[tuple[int, ...], np.dtype[np.int16]]", rate_hz: int) -> bytes:
    """A WAV file of one channel of 16 bits."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(samples.astype("<i2").tobytes())
    return out.getvalue()


def joined(first: bytes, second: bytes) -> bytes:
    """One WAV file: the first, a beep between silences, the second."""
    (one, rate_hz), (other, other_hz) = _samples(first), _samples(second)
    if rate_hz != other_hz:
        raise ValueError(f"sounds of {rate_hz} and {other_hz} Hz cannot be joined")
    silence = np.zeros(round(AROUND_BEEP_S * rate_hz), np.int16)
    at = np.arange(round(BEEP_S * rate_hz))
    beep = np.sin(2 * np.pi * BEEP_HZ * at / rate_hz) * BEEP_LEVEL * 32_767
    return wav(np.concatenate([one, silence, beep.astype(np.int16), silence, other]), rate_hz)


def content(user: str, heard: Sequence[str | bytes], form: str | None) -> str | list[dict[str, Any]]:
    """The content of a message of an OpenAI-like server. `heard`: parts behind the text, WAV files as bytes; `form`:
    `HearingSettings.part`."""
    if not heard:
        return user
    return [{"type": "text", "text": part} if isinstance(part, str) else _part(part, form) for part in (user, *heard)]


def _part(file: bytes, form: str | None) -> dict[str, Any]:
    data = base64.b64encode(file).decode()
    if form == "audio_url":
        return {"type": "audio_url", "audio_url": {"url": f"data:audio/wav;base64,{data}"}}
    return {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}


def refuse_unheard(judge: str, *, hears: bool, sound: bool) -> None:
    """Refuse a judge that would be given what it does not take.

    Raises:
        UserError: a judge that hears where there is text alone, or one that reads where there is sound.
    """
    if hears and not sound:
        raise UserError(
            f"judge {judge}: hears replies and reads none; play a run first, then judge it with --reads audio, or name another"
        )
    if sound and not hears:
        raise UserError(f"judge {judge}: reads text and hears nothing; leave out --reads audio, or name a judge with [audio]")


def _samples(file: bytes) -> "tuple[np.ndarray[tuple[int, ...], np.dtype[np.int16]], int]":
    with wave.open(io.BytesIO(file)) as sound:
        return np.frombuffer(sound.readframes(sound.getnframes()), "<i2").astype(np.int16), sound.getframerate()
