"""Playback of `harness play`: one session, or several agents' replies to the same turn in sequence, on the loudspeakers.

The terminal shows both sides on one scale with a moving playhead. Its position comes from the device's own clock if there
is one, so that it matches the sound. On a machine without a sound device the error is one line.
"""

import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.live import Live
from rich.text import Text

from harness.errors import UserError
from harness.installation import install_command
from harness.recording import playout
from harness.reports.session_audio import envelope
from harness.store.run_store import RunStore
from harness.store.session import Session
from harness.wording import milliseconds

_BARS = " ▁▂▃▄▅▆▇█"
_FRAME_S = 0.05


class Output(Protocol):
    """An output for sound."""

    def start(self, stereo: NDArray[np.int16], rate_hz: int) -> None:
        """Start playing; returns immediately."""

    def position_s(self) -> float:
        """The current position in the sound."""

    def stop(self) -> None:
        """Fall silent."""


class Speakers:
    """The machine's default output, through PortAudio."""

    def __init__(self) -> None:
        """Raises UserError if PortAudio or a device is missing."""
        try:
            import sounddevice
        except ImportError as error:
            raise UserError(f"playing needs sounddevice: {install_command('play')}") from error
        except OSError as error:
            raise UserError(f"playing needs PortAudio ({error}): install libportaudio2, or open the report") from error
        try:
            sounddevice.check_output_settings(channels=2, samplerate=playout.HEARD_RATE_HZ)
        except (sounddevice.PortAudioError, ValueError) as error:
            raise UserError("this machine has no sound device that can play; open the report on one that has") from error
        self._device = sounddevice
        self._began = 0.0

    def start(self, stereo: NDArray[np.int16], rate_hz: int) -> None:
        self._device.play(stereo, rate_hz)
        self._began = time.monotonic() + float(self._device.get_stream().latency)

    def position_s(self) -> float:
        return max(0.0, time.monotonic() - self._began)

    def stop(self) -> None:
        self._device.stop()


def pieces(store: RunStore, context: str | None, agents: Sequence[str]) -> list[Session]:
    """The sessions to play, in the order of `agents`.

    Raises:
        UserError: no such conversation or agent in the run, or nothing was recorded.
    """
    sessions = [s for s in store.sessions() if (s.folder / "recording.json").exists()]
    contexts = list(dict.fromkeys(s.key.context_id for s in sessions))
    if not contexts:
        raise UserError(f"{store.folder}: holds no recording to play")
    chosen = context or contexts[0]
    if chosen not in contexts:
        raise UserError(f"--context {chosen}: is not in this run; it has {', '.join(contexts[:8])}")
    here = {s.key.agent: s for s in sessions if s.key.context_id == chosen}
    unknown = [name for name in agents if name not in here]
    if unknown:
        raise UserError(f"--agents {unknown[0]}: did not play {chosen}; those who did: {', '.join(here)}")
    return [here[name] for name in (agents or list(here)[:1])]


def play(
    store: RunStore,
    *,
    context: str | None = None,
    agents: Sequence[str] = (),
    console: Console | None = None,
    output: Callable[[], Output] = Speakers,
) -> None:
    """Play the sessions one after the other; Ctrl-C ends it.

    Raises:
        UserError: nothing to play, or nowhere to play it.
    """
    chosen = [(session, playout.stereo(store.recording(session))) for session in pieces(store, context, agents)]
    speakers = output()
    screen = console or Console()
    for session, stereo in chosen:
        ttfa_ms = session.timing.ttfa_ms if session.timing is not None else None
        screen.print(f"[bold]{session.key.agent}[/] on {session.key.context_id}, TTFA {milliseconds(ttfa_ms)}")
        try:
            _play_one(stereo, speakers, screen)
        finally:
            speakers.stop()


def _play_one(stereo: NDArray[np.int16], speakers: Output, screen: Console) -> None:
    length_s = len(stereo) / playout.HEARD_RATE_HZ
    width = max(20, min(100, screen.width - 10))
    lanes = [_lane(stereo[:, side], width) for side in (0, 1)]
    speakers.start(stereo, playout.HEARD_RATE_HZ)
    with Live(console=screen, refresh_per_second=1 / _FRAME_S, transient=True) as live:
        while (at_s := speakers.position_s()) < length_s:
            live.update(timeline(lanes, at_s / length_s, at_s))
            time.sleep(_FRAME_S)
    screen.print(timeline(lanes, 1.0, length_s))


def timeline(lanes: Sequence[str], share: float, at_s: float) -> Text:
    """Both sides as bars, with the played part highlighted, and the position in seconds."""
    text = Text()
    for name, lane, style in zip(("caller", "agent "), lanes, ("magenta", "green"), strict=True):
        head = min(len(lane), int(share * len(lane)))
        text.append(f"{name}  ")
        text.append(lane[:head], style)
        text.append(lane[head:], "dim")
        text.append("\n")
    text.append(f"{at_s:7.1f} s")
    return text


def _lane(samples: NDArray[np.int16], width: int) -> str:
    steps = [int(digit, 36) for digit in envelope(samples.astype(np.float32) / np.float32(32_768))]
    at = np.linspace(0, len(steps), width + 1).astype(int)
    return "".join(_BARS[round(max(steps[a:b]) / 35 * (len(_BARS) - 1))] for a, b in pairwise(at))
