"""The voice inside the package `hibari-tts`: its files, and the identity by which runs and caches name it.

The network is part of an installed package and not of the model store, so that no weight's name says which one spoke. Its
version and digest do; callers (`harness.audio.synthesis_hibari`) and agents (`harness.agents.cascade.voice_hibari`) share them.
"""

import hashlib
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from harness.audio.voice_error import VoiceError
from harness.installation import install_command

PACKAGE = "hibari-tts"
_NETWORK = "hibari.onnx"


@dataclass(frozen=True, slots=True)
class HibariFiles:
    """The folder of the package's data, and its version."""

    folder: Path
    version: str

    @property
    def network(self) -> Path:
        return self.folder / _NETWORK

    @property
    def vocabulary(self) -> Path:
        """JSON: phoneme to number."""
        return self.folder / "vocab.json"

    @property
    def digest(self) -> str:
        """SHA-256 of the network."""
        return hashlib.sha256(self.network.read_bytes()).hexdigest()

    @property
    def pin(self) -> str:
        """The name of the voice in a manifest, like that of a weight: version, file and SHA-256."""
        return f"{self.version} {_NETWORK} {self.digest}"


def hibari_files() -> HibariFiles:
    """The installed package's files, found without importing it.

    Raises:
        VoiceError: it is not installed.
    """
    spec = find_spec("hibari")
    if spec is None or spec.origin is None:
        raise VoiceError(f"the package '{PACKAGE}' is missing: {install_command('local')}")
    return HibariFiles(Path(spec.origin).parent / "assets", version(PACKAGE))
