"""Naming the command that installs what is missing, before anything has been started.

The speech and language models come with an extra, so that who tests an own agent against an own judge installs little.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

from harness.errors import UserError

_LOCAL: Final = ("faster_whisper", "piper", "xllamacpp", "onnxruntime", "gguf", "uvicorn", "fastapi")


def missing_modules(modules: Sequence[str] = _LOCAL) -> tuple[str, ...]:
    """Which of the modules cannot be imported, without importing them."""
    return tuple(name for name in modules if find_spec(name) is None)


def require_local(why: str, modules: Sequence[str] = _LOCAL) -> None:
    """Refuse, with the command that mends it, when a package of the `local` extra is missing.

    Raises:
        UserError: names what needs the extra, what is missing, and the command.
    """
    missing = missing_modules(modules)
    if missing:
        raise UserError(
            f"{why} needs the extra 'local' (missing: {', '.join(missing)}); "
            "install it with: pip install 'heart-voice-harness[local]'"
        )
