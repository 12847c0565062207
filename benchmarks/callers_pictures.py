"""What holding the floor and handing it over look like: `python -m benchmarks.callers_pictures` (docs/voices.md).

The same sentence by one speaker three times: as the end of a turn, before a pause that is held, and with a pause in
mid-sentence. Spectrogram to 4 kHz with F0 on top, one scale for all, so that nobody need take a table's word for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import altair as alt
import numpy as np
from scipy.signal import spectrogram

from harness.audio.caller_voices import CALLER_VOICES
from harness.audio.pcm import Float32, to_float
from harness.audio.prosody import ceiling_hz, f0_track
from harness.audio.speech import FLOOR, render_turn
from harness.audio.speech_floor import FloorSettings
from harness.audio.synthesis_hibari import HibariSynthesiser

SPEAKER = "ann"
PICTURE = Path("docs/pictures/floor.png")
TOP_HZ = 4_000
SHOWN_DB = 55.0
F0_SCALE = 8
"""F0 is drawn eight times as high as it is, so that a semitone can be seen beside 4 kHz."""
WITHOUT_WORDS = replace(FLOOR, filler_share=0.0, mid_filler_share=0.0, conjunction_share=0.0, breath_share=0.0)


@dataclass(frozen=True, slots=True)
class Shown:
    """One row of the picture: its title, what is rendered, and which stretch of it is drawn."""

    title: str
    text: str
    settings: FloorSettings
    stretch: int


ROWS = (
    Shown("End of a turn, handed over", "I stayed with my mother all morning.", replace(WITHOUT_WORDS, yield_share=1.0), 0),
    Shown(
        "The same sentence before a pause, held",
        "I stayed with my mother all morning. <pause 600> Then I went home.",
        replace(WITHOUT_WORDS, hold_share=1.0, rise_share=0.0),
        0,
    ),
    Shown("Cut in mid-sentence", "I stayed with my mother <pause 600> all morning.", WITHOUT_WORDS, 0),
)


def main() -> None:
    """Render three times, draw, save."""
    voice = HibariSynthesiser()
    charts = []
    for row in ROWS:
        turn = render_turn(row.text, None, voice, None, CALLER_VOICES[SPEAKER].speaker, row.settings)
        start = 0 if row.stretch == 0 else turn.pauses[row.stretch - 1][1]
        charts.append(_chart(row.title, to_float(turn.samples[start : turn.ends[row.stretch].at_sample]), turn.rate_hz))
    picture = alt.vconcat(*charts).resolve_scale(x="shared", color="shared").configure_view(stroke=None)
    picture.save(str(PICTURE), ppi=72)


def _chart(title: str, sound: Float32, rate_hz: int) -> alt.LayerChart | alt.FacetChart:
    hz, at_s, power = spectrogram(sound, rate_hz, window="hann", nperseg=400, noverlap=320, nfft=512)
    level_db = 10 * np.log10(power + 1e-12)
    floor_db = float(level_db.max()) - SHOWN_DB
    cells = [
        {
            "s": float(s),
            "s2": float(s) + 0.005,
            "hz": float(f),
            "hz2": float(f) + 1.1 * rate_hz / 512,
            "db": float(level_db[j, k]) - floor_db,
        }
        for j, f in enumerate(hz)
        if f < TOP_HZ
        for k, s in enumerate(at_s)
        if level_db[j, k] > floor_db
    ]
    track = f0_track(sound, rate_hz, ceiling_hz([f0_track(sound, rate_hz)]))
    pitch = [{"s": k * 0.005, "hz": float(f) * F0_SCALE} for k, f in enumerate(track) if f > 0]
    rects = (
        alt.Chart(alt.InlineData(values=cells), title=alt.TitleParams(title, anchor="start"))
        .mark_rect()
        .encode(
            x=alt.X("s:Q", axis=alt.Axis(title="seconds", grid=False), scale=alt.Scale(domain=[0, 1.9])),
            x2="s2:Q",
            y=alt.Y("hz:Q", axis=alt.Axis(title="Hz", grid=False), scale=alt.Scale(domain=[0, TOP_HZ])),
            y2="hz2:Q",
            color=alt.Color("db:Q", scale=alt.Scale(scheme="greys"), legend=None),
        )
    )
    dots = (
        alt.Chart(alt.InlineData(values=pitch))
        .mark_point(filled=True, size=9, color="#c2410c", opacity=1)
        .encode(x="s:Q", y="hz:Q")
    )
    return alt.layer(rects, dots, width=640, height=170)


if __name__ == "__main__":
    main()
