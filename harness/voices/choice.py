"""Which voice speaks for a context: the pack's wish, mapped to what this machine has.

A pack names voices by character, not by file. A wish that cannot be met is given the default voice and noted in the
manifest, because a conversation spoken by another voice is still a conversation, while a run that stops is nothing.
A turn with a recording is not rendered at all.

The user's own voices file comes first, so that it can also give the names that ship to other voices. It is named by the
environment and never taken from a pack: a pack is a stranger's, and a voice says which class is made and whose key it gets.
Voices of other installed packages come last, so that none of them can take the place of a voice that ships.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness import models
from harness.agents.secrets import learn_file
from harness.audio.prosody import Speaker
from harness.audio.prosody_emotions import UnknownEmotion
from harness.audio.speech import FLOOR, JUST_THE_VOICE, RenderedTurn, render_turn
from harness.audio.speech_floor import FloorSettings
from harness.audio.speech_recording import RecordingError, load_turn
from harness.audio.speech_text import SpeechTextError, without_marks
from harness.audio.speech_voices import HIBARI, caller_voice, cast
from harness.audio.synthesis import Voice
from harness.audio.synthesis_installed import InstalledVoice, installed_voices
from harness.audio.synthesis_service import ServiceVoice, load_service_voices
from harness.audio.voice_error import VoiceError
from harness.errors import UserError
from harness.models.store import cache_folder
from harness.scenarios.context import Context, Turn
from harness.scenarios.pack import Pack
from harness.voices.rendering import Hibari, RenderJob, VoiceSource, open_voice, render_missing

VOICES_FILE = "HEART_VOICES"
"""The environment variable that names the user's voices file."""


@dataclass
class Voices:
    """Renders turns; loads each voice once."""

    pack: Pack
    cache: Path
    services: Mapping[str, ServiceVoice] = field(default_factory=dict)
    seed: int = 0
    """Of who speaks for contexts that name nobody."""
    taken: Collection[str] = ()
    """Weights that agents under test speak with; no caller has such a voice."""
    floor: FloorSettings = FLOOR
    installed: Collection[str] = ()
    """Names of voices that other packages bring."""
    _opened: dict[str, Voice] = field(default_factory=dict)

    def wish_of(self, context: Context) -> str:
        """Who speaks for a context: whom its pack names, or who was drawn for it. The user's own voices are never redrawn."""
        return context.voice if context.voice in self.services else cast(context.voice, context.id, self.seed, self.taken)

    def chosen(self, wish: str) -> str:
        """The voice that speaks for a wish."""
        service = self.services.get(wish)
        if service:
            return f"{wish} ({service.service.rpartition('.')[2]})"
        return f"{wish} (installed)" if self._is_installed(wish) else caller_voice(wish)[0].name

    def knows(self, wish: str) -> bool:
        """Whether the wish is met, and not only answered by the default voice."""
        return wish in self.services or caller_voice(wish)[1] or self._is_installed(wish)

    def weight_of(self, wish: str) -> str | None:
        """The weight that the voice of a wish needs from the model store; None for one that comes otherwise."""
        if wish in self.services or self._is_installed(wish):
            return None
        weight = caller_voice(wish)[0].weight
        return weight if weight != HIBARI else None

    def render(self, turn: Turn, wish: str) -> RenderedTurn:
        """One turn as sound: its recording, or rendered (from the cache if it was spoken before).

        Raises:
            UserError: the voice cannot be had, or the turn cannot be spoken.
        """
        recording = self.pack.recording_of(turn)
        try:
            if recording is not None:
                loudness_db = turn.speech.loudness_db if turn.speech else 0.0
                return load_turn(recording, without_marks(turn.text), loudness_db, turn.pauses_s)
            voice, speaker = self._voice(wish)
            if wish not in self._opened:
                self._opened[wish] = open_voice(voice)
            return render_turn(turn.text, turn.speech, self._opened[wish], self.cache, speaker, self.floor)
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
                jobs.append(RenderJob(turn.text, turn.speech, *self._voice(wish), self.floor))
            else:
                step()
        try:
            render_missing(jobs, self.cache, step)
        except (SpeechTextError, VoiceError, UnknownEmotion) as error:
            raise UserError(str(error)) from error

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
    """The voices of this machine for one pack. `seed` is of who speaks where the pack names nobody, `taken` are the weights
    that agents under test speak with.

    Raises:
        UserError: the user's voices file is malformed.
    """
    named = os.environ.get(VOICES_FILE)
    if named and (path := Path(named)).is_file():
        learn_file(path.read_text(encoding="utf-8-sig", errors="replace"))
    try:
        services = load_service_voices(Path(named)) if named else {}
    except VoiceError as error:
        raise UserError(f"{VOICES_FILE}: {error}") from error
    return Voices(pack, cache_folder() / "speech", services, seed, frozenset(taken), installed=installed_voices())
