"""Which voice speaks for a context: the pack's wish, mapped to what this machine has.

A pack names voices by character, not by file. A wish that cannot be met is given the default voice and noted in the
manifest, because a conversation spoken by another voice is still a conversation, while a run that stops is nothing.
A turn with a recording is not rendered at all.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from audio.prosody_emotions import UnknownEmotion
from audio.speech import RenderedTurn, render_turn
from audio.speech_recording import RecordingError, load_turn
from audio.speech_text import SpeechTextError, without_marks
from audio.speech_voices import caller_voice
from audio.synthesis import PiperSynthesiser, Synthesiser, VoiceError
from harness import models
from harness.errors import UserError
from harness.models.store import cache_folder
from harness.pack_rendering import RenderJob, render_missing
from scenarios.context import Turn
from scenarios.pack import Pack


@dataclass
class Voices:
    """Renders turns; loads each voice once."""

    pack: Pack
    cache: Path
    _loaded: dict[str, Synthesiser] = field(default_factory=dict)

    def chosen(self, wish: str) -> str:
        """The voice that speaks for a wish."""
        return caller_voice(wish)[0].name

    def render(self, turn: Turn, wish: str) -> RenderedTurn:
        """One turn as sound: its recording, or rendered (from the cache if it was spoken before).

        Raises:
            UserError: the voice cannot be had, or the turn cannot be spoken.
        """
        recording = self.pack.recording_of(turn)
        voice, _ = caller_voice(wish)
        try:
            if recording is not None:
                loudness_db = turn.speech.loudness_db if turn.speech else 0.0
                return load_turn(recording, without_marks(turn.text), loudness_db)
            return render_turn(turn.text, turn.speech, self._voice(voice.weight), self.cache, voice.speaker)
        except (SpeechTextError, VoiceError, UnknownEmotion, RecordingError) as error:
            raise UserError(str(error)) from error

    def prepare(self, wanted: Sequence[tuple[Turn, str]], step: Callable[[], None]) -> None:
        """Render every turn of (turn, wish) that is not kept yet, on all cores; `step` is called once for each of them.

        Raises:
            UserError: the voice cannot be had, or a turn cannot be spoken.
        """
        jobs = []
        for turn, wish in wanted:
            if self.pack.recording_of(turn) is None:
                voice, _ = caller_voice(wish)
                jobs.append(RenderJob(turn.text, turn.speech, models.resolve(voice.weight), voice.speaker))
            else:
                step()
        try:
            render_missing(jobs, self.cache, step)
        except (SpeechTextError, VoiceError, UnknownEmotion) as error:
            raise UserError(str(error)) from error

    def _voice(self, weight: str) -> Synthesiser:
        if weight not in self._loaded:
            self._loaded[weight] = PiperSynthesiser(models.resolve(weight))
        return self._loaded[weight]


def open_voices(pack: Pack) -> Voices:
    """The voices of this machine for one pack."""
    return Voices(pack, cache_folder() / "speech")
