"""The events of one session in order: one queue, its bounds, and the one `Closed` that ends it.

The agent under test is not trusted to behave: nothing that it sends may use more memory than `Limits` allows, and whatever
goes wrong ends the session once, by name.

The first second of sound is checked for two mistakes. A stereo file sent as mono PCM plays at half speed, an octave lower, and
is speech all the same, so that no detector of speech notices. But its samples come in pairs, and a pair that starts at an even
sample is alike where one that starts at an odd sample is not. Samples that were repeated to raise a rate look the same and play
at the right speed, so that the words name both. A sample whose bytes are exchanged is noise, and none once they are put right.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.agents.connection import IGNORED, ODD_SOUND, AudioChunk, Closed, ConnectionFailed, Event, FailureKind, Mark
from harness.agents.connections.wire import Garbage, NotOfThisWire, defect
from harness.audio.level import AUDIBLE_RMS
from harness.audio.pcm import Int16

Floats = NDArray[np.float64]

ENOUGH_S: Final = 1.0
"""Audible sound that is looked at."""
MOST_UNLIKE: Final = 0.5
"""Largest ratio of the unexplained power within pairs to that between them. Speech of one channel has .91–1.13 (twelve
recordings of flite, espeak-ng and Piper at 8 to 48 kHz, through μ-law too), noise and tones 1.0; two equal channels have 0, and
with −6 dB and noise of −40 dB in one of them at most .02, of −20 dB .08–.65."""

TWICE: Final = (
    "each sample comes twice: two channels sent as one are heard at half speed, so send one channel "
    "(samples repeated to raise the rate do no harm)"
)
ONE_EMPTY: Final = "every other sample is zero: two channels sent as one are heard at half speed, so send one channel"

SWAPPED: Final = "the two bytes of each sample are in the wrong order: send the low byte first"
ROUGH, SMOOTH = 0.7, 0.3
"""Power of the differences between neighbours, as a share of noise's. Sixteen
voices of hibari at 8 to 48 kHz have .02–.18, and .83–.98 with their bytes exchanged; noise has 1 either way."""


def exchanged(samples: Int16) -> str:
    """The reason to take the bytes of the samples for exchanged; empty if they are in order."""

    def roughness(signal: Floats) -> float:
        return float(np.mean(np.diff(signal) ** 2)) / max(2 * float(np.var(signal)), 1e-9)

    right, wrong = (roughness(each.astype(np.float64)) for each in (samples.byteswap(), samples))
    return SWAPPED if wrong > ROUGH and right < SMOOTH else ""


def paired(samples: Int16) -> str:
    """The reason to take sound for two channels sent as one; empty if it is one."""
    signal = samples[: len(samples) // 2 * 2].astype(np.float64)
    if not (signal[0::2].any() and signal[1::2].any()):
        return ONE_EMPTY if signal.any() else ""
    # An offset, and code that fills with one value, are alike in any two samples.
    signal -= signal.mean()
    first, second = signal[0::2], signal[1::2]
    if len(first) < 2 or not signal.any():
        return ""
    return TWICE if _unexplained(first, second) <= MOST_UNLIKE * _unexplained(second[:-1], first[1:]) else ""


def _unexplained(given: Floats, other: Floats) -> float:
    """Share of the power of one signal that is no multiple of the other."""
    return 1.0 - float(given @ other) ** 2 / max(float(given @ given) * float(other @ other), 1e-9)


class TwoChannels:
    """A look at the first second of an agent's audible sound."""

    def __init__(self) -> None:
        self._pieces: list[Int16] = []
        self._audible_s = 0.0
        self._over = False

    def take(self, pcm: bytes, rate_hz: int) -> str:
        """The reason to take the sound for two channels, once, when enough has come; otherwise empty."""
        if self._over:
            return ""
        samples = np.frombuffer(pcm[: len(pcm) // 2 * 2], "<i2").astype(np.int16)
        if not len(samples) or np.std(samples.astype(np.float64)) <= AUDIBLE_RMS:
            return ""
        # A piece of odd length would turn the pairs round.
        self._pieces.append(samples[: len(samples) // 2 * 2])
        self._audible_s += len(samples) / rate_hz
        if self._audible_s < ENOUGH_S:
            return ""
        self._over = True
        sound = np.concatenate(self._pieces)
        return exchanged(sound) or paired(sound)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one session. The defaults are far above any honest agent and far below the machine's memory."""

    message_bytes: int = 4 * 1024 * 1024
    """One message: over a minute of 24 kHz audio. Pipecat sends 40 ms a message; some bots send a whole reply at once."""
    session_bytes: int = 64 * 1024 * 1024
    """All messages, beyond those that come in real time: over 20 minutes of 24 kHz audio."""
    session_bytes_s: int = 128_000
    """A second of 48 kHz audio in base64, the most of any wire: a full-duplex agent sends as long as its call lasts."""
    text_bytes: int = 8 * 1024 * 1024
    """Bytes of messages without audio: parsed JSON can take twenty times the memory of its text."""
    events: int = 200_000
    """All events: an empty message costs nothing on the wire and memory here."""
    unsent_frames: int = 250
    """Frames that wait to be sent: 5 s of an agent that does not read (the socket's own buffers come first)."""
    open_timeout_s: float = 15.0
    """From dialling to the acknowledgement of the history."""
    ignored: int = 200
    """Messages that are none of the wire's: an agent that sends more of them speaks another format."""
    close_timeout_s: float = 1.0


NOTED: Final = 20
"""Ignored messages that are noted one by one: enough to count what an agent sends now and then."""


@asynccontextmanager
async def dialled(
    timeout_s: float,
    too_late: Callable[[], Awaitable[ConnectionFailed | None]],
    give_up: Callable[[ConnectionFailed], Awaitable[None]],
    close: Callable[[], Awaitable[None]],
) -> AsyncIterator[None]:
    """The opening of a session within a time. `too_late`: the failure of one that took longer, None to go on all the same;
    `give_up` ends the session and raises the failure; `close` ends one whose opening was stopped."""
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError:
        if (failed := await too_late()) is not None:
            await give_up(failed)
    except ConnectionFailed as error:
        await give_up(error)
    except Exception as error:
        await give_up(ConnectionFailed(defect(error, "while it dialled"), "defect"))
    except BaseException:
        await close()
        raise


class Inbox:
    """The events of one session, in order."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._delivered_end = False
        self._begun_ns = time.monotonic_ns()
        self._bytes = 0
        self._text_bytes = 0
        self._count = 0
        self._ignored = 0
        self._channels = TwoChannels()
        self.heard_audio = False
        self.ended: Closed | None = None
        self.changed = asyncio.Event()
        """Event that is set whenever the opening may be able to proceed."""

    def takes(self, size: int) -> bool:
        """True if a message of this size is within the limits; otherwise the session ends."""
        self._bytes += size
        self._count += 1
        lasted_s = (time.monotonic_ns() - self._begun_ns) / 1e9
        if self._bytes > self._limits.session_bytes + lasted_s * self._limits.session_bytes_s:
            self.end(f"the agent sent more than {self._limits.session_bytes >> 20} MiB", "flood")
        elif self._count > self._limits.events:
            self.end(f"the agent sent more than {self._limits.events:,} messages", "flood")
        return self.ended is None

    def put(self, event: Event) -> None:
        """Add an event, unless the session is over."""
        if self.ended is None:
            self._events.put_nowait(event)
            if isinstance(event, AudioChunk):
                self.heard_audio = True
                self._look_at(event)

    def note(self, name: str, **detail: object) -> None:
        """Add a mark of the connection's own."""
        now_ns = time.monotonic_ns()
        self.put(Mark(name, now_ns, now_ns, {**detail, "stamped": "arrival"}))

    def refuse(self, error: Garbage) -> None:
        """A message that the wire format does not allow: it ends the session, or is ignored if it breaks nothing."""
        self._ignored += 1
        if not isinstance(error, NotOfThisWire) or self._ignored > self._limits.ignored:
            self.end(f"the agent sent {error}", "garbage")
        elif self._ignored <= NOTED:
            self.note(IGNORED, message=str(error))

    @contextmanager
    def ours(self, doing: str) -> Iterator[None]:
        """A part of the connection whose errors are no agent's: they end the session as a defect. `doing`: for the sentence."""
        try:
            yield
        except Exception as error:
            self.end(defect(error, doing), "defect")

    def _look_at(self, chunk: AudioChunk) -> None:
        # Packets of RTP have their number of channels in the format itself.
        if chunk.media is None and chunk.rate_hz > 0 and (why := self._channels.take(chunk.pcm, chunk.rate_hz)):
            self.note(ODD_SOUND, why=why)

    def count_text(self, size: int) -> None:
        """Count a message without audio."""
        self._text_bytes += size
        if self._text_bytes > self._limits.text_bytes:
            self.end(f"the agent sent more than {self._limits.text_bytes >> 20} MiB of text", "flood")

    def end(self, error: str | None, kind: FailureKind | None) -> None:
        """End the session; only the first reason counts."""
        if self.ended is None:
            self.ended = Closed(arrival_ns=time.monotonic_ns(), error=error, kind=kind)
            self._events.put_nowait(self.ended)
        self.changed.set()

    async def events(self) -> AsyncIterator[Event]:
        """All events, ending with exactly one `Closed`."""
        while not self._delivered_end:
            event = await self._events.get()
            if isinstance(event, Closed):
                self._delivered_end = True
            yield event
