"""The page of a pack's callers, on which a person can judge in two minutes if they sound like real ones.

Everything is inside the file: it opens from disk and downloads nothing, and a pack's texts are shown as text, never
run. Sounds are MP3, the one compressed format that every browser plays.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass

import jinja2
import numpy as np
import soundfile
from numpy.typing import NDArray

_POLICY = "default-src 'none'; media-src data:; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True)
class StretchShown:
    """The words up to a pause or the end, and a description of how they end."""

    text: str
    ending: str


@dataclass(frozen=True, slots=True)
class CallerSample:
    """One turn: its place in the pack, its manner, mono int16 samples, and its stretches."""

    place: str
    manner: str
    samples: NDArray[np.int16]
    rate_hz: int
    stretches: tuple[StretchShown, ...]

    @property
    def seconds(self) -> float:
        return self.samples.size / self.rate_hz

    @property
    def data_url(self) -> str:
        """The sound as a `data:` URL."""
        held = io.BytesIO()
        soundfile.write(held, self.samples, self.rate_hz, format="MP3")
        return "data:audio/mpeg;base64," + base64.b64encode(held.getvalue()).decode("ascii")


@dataclass(frozen=True, slots=True)
class VoiceOnPage:
    """A voice and the turns that it speaks."""

    name: str
    about: str
    samples: tuple[CallerSample, ...]


def callers_page(pack: str, voices: Sequence[VoiceOnPage], note: str) -> str:
    """The page as HTML. `note` describes how the sounds were made."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("harness.reports.callers", "."), autoescape=True, undefined=jinja2.StrictUndefined
    )
    template = environment.get_template("callers.html.jinja")
    return template.render(pack=pack, voices=voices, note=note, policy=_POLICY)
