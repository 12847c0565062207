"""The address from which CI can install this very harness, taken from the way in which it was installed here.

A job that names a package which no index has fails on its first line. pip records where a package came from
(`direct_url.json`, PEP 610): a repository with its commit, an archive with its address, or a folder of this machine. A folder
is of no use to CI, but where it is a checkout, its own repository and commit are.
"""

import json
import re
import subprocess
from importlib.metadata import distribution
from typing import Any, Final
from urllib.parse import unquote, urlsplit

NAME: Final = "heart-voice-harness"
_GIT_S: Final = 10.0
"""Longest wait for git, which only reads a folder of this machine."""


def install_address(extra: str = "local") -> str | None:
    """The requirement that gives CI this harness; None if it came from a folder or a file that only this machine has."""
    found = distribution(NAME)
    recorded = found.read_text("direct_url.json")
    if recorded is None:
        return f"{NAME}[{extra}]=={found.version}"
    address = _reachable(json.loads(recorded))
    return f"{NAME}[{extra}] @ {address}" if address is not None else None


def _reachable(recorded: dict[str, Any]) -> str | None:
    """The address in a `direct_url.json`, as pip takes it; None if other machines cannot reach it."""
    url = str(recorded["url"])
    if "vcs_info" in recorded:
        return _of_git(url, recorded["vcs_info"]["commit_id"])
    if not url.startswith("file:"):
        return _without_user(url)
    folder = unquote(urlsplit(url).path)
    origin, commit = _git(folder, "remote", "get-url", "origin"), _git(folder, "rev-parse", "HEAD")
    elsewhere = bool(origin) and not origin.startswith(("/", ".", "file:"))
    return _of_git(origin, commit) if elsewhere and commit else None


def _of_git(url: str, commit: str) -> str:
    # git's short form of an ssh address, host:path, is no URL.
    short = re.fullmatch(r"(?:[^@/]+@)?([^:/]+):(?!//)(.+)", url)
    return f"git+{_without_user(f'https://{short[1]}/{short[2]}' if short else url)}@{commit}"


def _without_user(url: str) -> str:
    """The address without a user's name or key, which must reach no file."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _git(folder: str, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", folder, *words], capture_output=True, text=True, timeout=_GIT_S, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
