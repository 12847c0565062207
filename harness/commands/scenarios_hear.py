"""`harness scenarios show PACK --out FILE`: a page on which you can hear a pack's callers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import UserError
from harness.files import write_whole
from harness.nearest import or_one_of
from harness.progress import RunProgress
from harness.scenarios.context import Context, Turn
from harness.scenarios.pack import Pack

if TYPE_CHECKING:
    from harness.audio.speech import RenderedTurn
    from harness.reports.callers import CallerSample, StretchShown, VoiceOnPage
    from harness.voices.choice import Voices

_IN_WORDS = {
    "as_read": "as read",
    "no_final_lengthening": "not drawn out",
    "drawn_out": "drawn out",
    "plateau": "level pitch",
    "rising_pitch": "rising pitch",
    "falling_pitch": "falling pitch",
    "conjunction": "leads on with a conjunction",
    "filler": "um",
    "runs_on": "runs on",
    "breath": "breath in",
    "fading": "fading",
}


def write_callers(loaded: Pack, out: Path, voice: Sequence[str] | None, turns: int) -> None:
    """Write a page, sound included, on which each voice speaks some turns of a pack, and print its path."""
    from harness.audio.caller_voices import CALLER_VOICES
    from harness.reports.callers import callers_page
    from harness.voices.choice import open_voices

    if turns < 1:
        raise UserError(f"--turns {turns}: must be at least 1")
    if not out.parent.is_dir():
        raise UserError(f"--out {out}: there is no folder {out.parent}")
    voices = open_voices(loaded)
    names = list(dict.fromkeys(voice or CALLER_VOICES))
    unknown = [name for name in names if not voices.knows(name)]
    if unknown:
        raise UserError(f"--voice {unknown[0]}: unknown voice{or_one_of(unknown[0], [*CALLER_VOICES, *voices.services])}")
    spoken = list(islice(_last_turns_first(loaded), turns))
    with RunProgress() as progress:
        progress.phase("Rendering the callers", len(names) * len(spoken))
        voices.prepare([(turn, n) for n in names for _, _, turn in spoken], lambda: progress.step("rendered"))
        shown = [_voice(voices, name, spoken) for name in names]
    # Written completely or not at all.
    aside = out.with_name(out.name + ".part")
    write_whole(aside, callers_page(loaded.name, shown, _NOTE))
    aside.replace(out)
    print(out)


_NOTE = (
    "Each voice speaks the same turns. The speech is synthetic; only a turn with its own recording was spoken by a person and "
    "is played unchanged. Emotions are rendered; no listener has judged yet whether they are recognised."
)


def _last_turns_first(pack: Pack) -> list[tuple[Context, int, Turn]]:
    """The seeker turns of a pack: first the last turns, which a seeded run plays, then the earlier ones."""
    seekers = [(c, k, t) for c in pack.contexts for k, t in enumerate(c.turns) if t.role == "seeker"]
    return sorted(seekers, key=lambda found: found[2] is not found[0].spoken)


def _voice(voices: Voices, name: str, spoken: list[tuple[Context, int, Turn]]) -> VoiceOnPage:
    from harness.audio.caller_voices import CALLER_VOICES
    from harness.reports.callers import VoiceOnPage

    about = voices.name_of(name) if name in voices.services else CALLER_VOICES[name].about
    samples = [_sample(context, k, turn, voices.render(turn, name)) for context, k, turn in spoken]
    return VoiceOnPage(name, about, tuple(samples))


def _sample(context: Context, k: int, turn: Turn, rendered: RenderedTurn) -> CallerSample:
    from harness.reports.callers import CallerSample

    said = turn.speech
    return CallerSample(
        place=f"{context.id}, turn {k + 1}",
        manner=f"{said.emotion} {said.intensity:g}" if said else "neutral",
        samples=rendered.samples,
        rate_hz=rendered.rate_hz,
        stretches=_stretches(turn, rendered),
    )


def _stretches(turn: Turn, rendered: RenderedTurn) -> tuple[StretchShown, ...]:
    from harness.audio.speech_text import parse_marked
    from harness.reports.callers import StretchShown

    if not rendered.ends:
        return (StretchShown(rendered.text, "a recording"),)
    segments = parse_marked(turn.text)
    shown = []
    for segment, end in zip(segments, rendered.ends, strict=True):
        cues = ", ".join(_IN_WORDS.get(cue, cue) for cue in end.cues)
        where = {None: "in mid-sentence", True: "goes on", False: "sounds finished"}[end.holds]
        how = f"{where}: {cues}" if cues else where
        pause = f"pause {segment.pause_after_ms} ms, " if segment.pause_after_ms else "end, "
        shown.append(StretchShown(segment.text, pause + how))
    return tuple(shown)
