"""The address from which CI can install this very harness, taken from the way in which it was installed here.

A folder of this machine is of no use to CI, but where it is a checkout, its own repository and commit are.
"""

import subprocess
from importlib.metadata import version
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from harness.installation import NAME, of_git, recorded_source, without_user

_GIT_S: Final = 10.0
"""Longest wait for git, which only reads a folder of this machine."""


def install_address(extra: str = "") -> str | None:
    """The requirement that gives CI this harness; None if it came from a folder or a file that only this machine has.

    Without an extra it fits beside the packages of any bot: the speech models then run in an environment of their own.
    """
    recorded = recorded_source()
    package = f"{NAME}[{extra}]" if extra else NAME
    if recorded is None:
        return f"{package}=={version(NAME)}"
    address = _reachable(recorded)
    return f"{package} @ {address}" if address is not None else None


def _reachable(recorded: dict[str, Any]) -> str | None:
    """The address in a `direct_url.json`, as pip takes it; None if other machines cannot reach it."""
    url = str(recorded["url"])
    if "vcs_info" in recorded:
        return of_git(url, recorded["vcs_info"]["commit_id"])
    if not url.startswith("file:"):
        return without_user(url)
    folder = unquote(urlsplit(url).path)
    origin, commit = _git(folder, "remote", "get-url", "origin"), _git(folder, "rev-parse", "HEAD")
    elsewhere = bool(origin) and not origin.startswith(("/", ".", "file:"))
    return of_git(origin, commit) if elsewhere and commit else None


def _git(folder: str, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", folder, *words], capture_output=True, text=True, timeout=_GIT_S, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
