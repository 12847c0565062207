"""Checks for optional packages before anything starts, with the command that installs them.

The speech and language models are an extra, so that a user with an own agent and an own judge installs little. The engine
that draws pictures is another, because no page needs it.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

from harness.errors import UserError
from harness.installation import install_command

_LOCAL: Final = ("faster_whisper", "piper", "hibari", "xllamacpp", "onnxruntime", "gguf", "uvicorn", "fastapi")
_PICTURES: Final = ("vl_convert",)


def missing_modules(modules: Sequence[str] = _LOCAL) -> tuple[str, ...]:
    """The modules that are not installed, found without importing them.

    A package that is uninstalled and shares its folder with another (`onnxruntime`, `onnxruntime-gpu`) may leave a folder
    behind: a namespace without an origin, from which nothing can be imported.
    """
    specs = {name: find_spec(name) for name in modules}
    return tuple(name for name, spec in specs.items() if spec is None or spec.origin is None)


def require_local(why: str, modules: Sequence[str] = _LOCAL) -> None:
    """Check that the packages of the `local` extra are installed.

    Raises:
        UserError: a package is missing; names what needs it, the package, and the command that installs it.
    """
    _require("local", why, modules)


def require_listen(why: str) -> None:
    """Check that the packages of the `listen` extra are installed.

    Raises:
        UserError: a package is missing; names what needs it, and the command that installs it.
    """
    _require("listen", why, ("uvicorn", "starlette"))


def require_pictures(why: str) -> None:
    """Check that the package of the `pictures` extra is installed.

    Raises:
        UserError: it is missing; names what needs it, and the command that installs it.
    """
    _require("pictures", why, _PICTURES)


def pictures_missing() -> str:
    """The sentence on pictures that cannot be drawn here, and the command that mends it; empty where they can."""
    if not missing_modules(_PICTURES):
        return ""
    return f"Pictures were not drawn, which needs the extra 'pictures': {install_command('pictures')}"


def _require(extra: str, why: str, modules: Sequence[str]) -> None:
    missing = missing_modules(modules)
    if missing:
        raise UserError(
            f"{why} needs the extra '{extra}' (missing: {', '.join(missing)}); install it with: {install_command(extra)}"
        )
