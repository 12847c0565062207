"""Checks for optional packages before anything starts, with the command that installs them.

What only some commands need is an extra, so that others install little. Of the extra `local` see `harness.local_programs`.
"""

from collections.abc import Sequence
from typing import Final

from harness.errors import UserError
from harness.installation import install_command, missing_modules

_PICTURES: Final = ("vl_convert",)


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
