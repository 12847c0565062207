"""Naming the command that installs what is missing, before anything has been started.

The speech and language models come with an extra, so that who tests an own agent against an own judge installs little; so
does the engine that draws pictures, which no page needs.
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
    _require("local", why, modules)


def require_pictures(why: str) -> None:
    """Refuse, with the command that mends it, when the package of the `pictures` extra is missing.

    Raises:
        UserError: names what needs the extra, and the command.
    """
    _require("pictures", why, ("vl_convert",))


def _require(extra: str, why: str, modules: Sequence[str]) -> None:
    missing = missing_modules(modules)
    if missing:
        raise UserError(
            f"{why} needs the extra '{extra}' (missing: {', '.join(missing)}); "
            f"install it with: pip install 'heart-voice-harness[{extra}]'"
        )
