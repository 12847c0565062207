"""The voice of a context: the pack's wish, mapped to the voices of this machine.

A wish that cannot be met gets the default voice and is noted in the manifest. The user's own voices file comes first; it is
named by an environment variable and never taken from a pack, which is untrusted, while a voice names a class to create and a
key for it. Voices of other installed packages come last, so that none of them can replace a shipped voice.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness import models
from harness.agents.secrets import learn_file, redact_foreign
from harness.audio.caller_voices import HIBARI, caller_voice, cast
from harness.audio.prosody import Speaker
from harness.audio.prosody_emotions import UnknownEmotion
from harness.audio.speech import FLOOR, JUST_THE_VOICE, RenderedTurn
from harness.audio.speech_floor import FloorSettings
from harness.audio.speech_recording import RecordingError, load_turn
from harness.audio.speech_text import SpeechTextError, without_marks
from harness.audio.synthesis import InstalledVoice, installed_voices
from harness.audio.synthesis_service import ServiceVoice, load_service_voices
from harness.audio.voice_error import VoiceError
from harness.errors import UserError
from harness.files import cache_folder
from harness.scenarios.context import Context, Turn
from harness.scenarios.pack import Pack
from harness.voices.rendering import Hibari, RenderJob, VoiceSource, render_missing, rendered

VOICES_FILE = "HEART_VOICES"
"""Environment variable with the path of the user's voices file."""


@dataclass
class Voices:
    """The voices of one pack on this machine; each is loaded once."""

    pack: Pack
    cache: Path
    services: Mapping[str, ServiceVoice] = field(default_factory=dict)
    seed: int = 0
    """Seed for the voices of contexts that name none."""
    taken: Collection[str] = ()
    """The agents' own voices, as weights are named; no caller uses them."""
    floor: FloorSettings = FLOOR
    installed: Collection[str] = ()
    """Names of voices from other packages."""

    def wish_of(self, context: Context) -> str:
        """The wish for a context: the voice that its pack names, or a drawn one. The user's own voices are never redrawn."""
        return context.voice if context.voice in self.services else cast(context.voice, context.id, self.seed, self.taken)

    def name_of(self, wish: str) -> str:
        """The name of the voice for a wish."""
        service = self.services.get(wish)
        if service:
            return f"{wish} ({service.service.rpartition('.')[2]})"
        return f"{wish} (installed)" if self._is_installed(wish) else caller_voice(wish)[0].name

    def knows(self, wish: str) -> bool:
        """True if the wish can be met; False if the default voice replaces it."""
        return wish in self.services or caller_voice(wish)[1] or self._is_installed(wish)

    def speaks_english_alone(self, wish: str) -> bool:
        """True for a voice that ships; of the user's own and of other packages' nothing is known."""
        return wish not in self.services and not self._is_installed(wish)

    def weight_of(self, wish: str) -> str | None:
        """The weight in the model store for the voice of a wish; None for a voice that needs none."""
        if wish in self.services or self._is_installed(wish):
            return None
        weight = caller_voice(wish)[0].weight
        return weight if weight != HIBARI else None

    def render(self, turn: Turn, wish: str) -> RenderedTurn:
        """The sound of one turn: its recording, or rendered speech (from the cache if it was rendered before).

        Raises:
            UserError: the voice is not available, or the turn cannot be rendered.
        """
        recording = self.pack.recording_of(turn)
        try:
            if recording is not None:
                loudness_db = turn.speech.loudness_db if turn.speech else 0.0
                return load_turn(recording, without_marks(turn.text), loudness_db, turn.pauses_s)
            voice, speaker = self._voice(wish)
            return rendered(RenderJob(turn.text, turn.speech, voice, speaker, self.floor), self.cache)
        except (SpeechTextError, VoiceError, UnknownEmotion, RecordingError) as error:
            raise UserError(redact_foreign(str(error))) from error

    def prepare(self, wanted: Sequence[tuple[Turn, str]], step: Callable[[], None]) -> None:
        """Render each (turn, wish) that is not in the cache yet, on all cores; `step` is called once for each.

        Raises:
            UserError: the voice is not available, or a turn cannot be rendered.
        """
        jobs = []
        for turn, wish in wanted:
            if self.pack.recording_of(turn) is None:
                jobs.append(RenderJob(turn.text, turn.speech, *self._voice(wish), self.floor))
            else:
                step()
        try:
            render_missing(jobs, self.cache, step)
        except (SpeechTextError, VoiceError, UnknownEmotion) as error:
            raise UserError(redact_foreign(str(error))) from error

    def _voice(self, wish: str) -> tuple[VoiceSource, Speaker]:
        if wish in self.services:
            return self.services[wish], JUST_THE_VOICE
        if self._is_installed(wish):
            return InstalledVoice(wish), JUST_THE_VOICE
        voice, _ = caller_voice(wish)
        return Hibari() if voice.weight == HIBARI else models.resolve(voice.weight), voice.speaker

    def _is_installed(self, wish: str) -> bool:
        return wish in self.installed and not caller_voice(wish)[1]


def open_voices(pack: Pack, seed: int = 0, taken: Collection[str] = ()) -> Voices:
    """The voices of this machine for one pack. `seed` draws voices for contexts that name none, `taken` are the
    agents' own voices.

    Raises:
        UserError: the user's voices file is malformed.
    """
    named = os.environ.get(VOICES_FILE)
    if named and (path := Path(named)).is_file():
        learn_file(path.read_text(encoding="utf-8-sig", errors="replace"))
    try:
        services = load_service_voices(Path(named)) if named else {}
    except VoiceError as error:
        raise UserError(f"{VOICES_FILE}: {redact_foreign(str(error))}") from error
    return Voices(pack, cache_folder() / "speech", services, seed, frozenset(taken), installed=installed_voices())
