"""The error of a voice that cannot speak: its file is damaged, its service fails, or its package is missing."""

from importlib import import_module
from typing import Any

from harness.installation import install_command


class VoiceError(RuntimeError):
    """A voice cannot be loaded or cannot speak; the message is one line."""


def imported(module: str, package: str) -> Any:
    """A module of an optional package. Raises `VoiceError` with the command that installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise VoiceError(f"the package '{package}' is missing: {install_command('local')}") from error
