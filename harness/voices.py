"""Which voice speaks for a context: the pack's wish, mapped to what this machine has.

A pack names voices by character, not by file. A wish that cannot be met is given the default voice and noted in the
manifest, because a conversation spoken by another voice is still a conversation, while a run that stops is nothing.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from audio.speech import RenderedTurn, render_turn
from audio.speech_text import SpeechTextError
from audio.synthesis import PiperSynthesiser, Synthesiser, VoiceError
from harness import models
from harness.errors import UserError
from harness.models.store import cache_folder
from scenarios.context import Turn
from scenarios.pack import Pack

DEFAULT_VOICE: Final = "joe"
_WEIGHTS: Final = {"joe": "piper-joe"}


@dataclass
class Voices:
    """Renders turns; loads each voice once."""

    pack: Pack
    cache: Path
    _loaded: dict[str, Synthesiser] = field(default_factory=dict)

    def chosen(self, wish: str) -> str:
        """The voice that speaks for a wish."""
        return wish if wish in _WEIGHTS else DEFAULT_VOICE

    def render(self, turn: Turn, wish: str) -> RenderedTurn:
        """One turn as sound, from the cache if it was spoken before.

        Raises:
            UserError: the voice cannot be had, or the text cannot be spoken.
        """
        try:
            return render_turn(turn.text, turn.speech, self._voice(self.chosen(wish)), self.cache)
        except (SpeechTextError, VoiceError) as error:
            raise UserError(str(error)) from error

    def _voice(self, name: str) -> Synthesiser:
        if name not in self._loaded:
            self._loaded[name] = PiperSynthesiser(models.resolve(_WEIGHTS[name]))
        return self._loaded[name]


def open_voices(pack: Pack) -> Voices:
    """The voices of this machine for one pack."""
    return Voices(pack, cache_folder() / "speech")
