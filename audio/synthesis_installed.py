"""Voices from other installed packages: a name in an entry-point group, and a callable that makes the voice.

The user chose the installed packages, as a voices file; a pack can only ask for a voice
by name. Only the name is sent to the rendering processes, and each of them makes its own voice, because a loaded
model cannot be sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Final

from harness.audio.synthesis import AlignedVoice, ShapingVoice, Voice
from harness.audio.voice_error import VoiceError

ENTRY_POINT_GROUP: Final = "heart_voice_harness.voices"
"""A name, and a callable `() -> Voice`."""


@dataclass(frozen=True, slots=True)
class InstalledVoice:
    """A voice of another package, by its name in the group."""

    name: str

    def open(self) -> Voice:
        """The opened voice.

        Raises `VoiceError` if no package has it, or the package fails or returns something that is not a voice.
        """
        points = list(entry_points(group=ENTRY_POINT_GROUP, name=self.name))
        if not points:
            known = ", ".join(installed_voices()) or "none"
            raise VoiceError(f'voice "{self.name}": no installed package brings it; installed voices: {known}')
        try:
            voice = points[0].load()()
        except Exception as error:  # another package's code, which may raise anything
            said = " ".join(str(error).split()) or type(error).__name__
            raise VoiceError(f'voice "{self.name}": {points[0].value} failed ({said}); mend or remove its package') from error
        if not (isinstance(voice, AlignedVoice | ShapingVoice) or callable(getattr(voice, "speak", None))):
            raise VoiceError(f'voice "{self.name}": {points[0].value} gave no voice (docs/python.md says what one is)')
        return voice  # type: ignore[no-any-return]  # checked above as far as a protocol can be


def installed_voices() -> tuple[str, ...]:
    """The names of the voices from installed packages, sorted."""
    return tuple(sorted({point.name for point in entry_points(group=ENTRY_POINT_GROUP)}))
