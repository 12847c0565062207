"""Where this installation came from, and the command that adds an extra to it.

A message that names a package which no index has ends on its first line. pip records where a package came from
(`direct_url.json`, PEP 610): a repository with its commit, an archive with its address, or a folder of this machine. The
command names that, and the pip of this environment, so that it can be copied.
"""

import json
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

NAME: Final = "heart-voice-harness"


def install_command(extra: str) -> str:
    """`.venv/bin/pip install '.[pictures]'`: the command that adds an extra to this installation, from where it came."""
    requirement = _requirement(extra, recorded_source())
    return f"{pip_command('install')} {'-e ' if _is_editable() else ''}{shlex.quote(requirement)}"


def missing_modules(modules: Sequence[str]) -> tuple[str, ...]:
    """The modules that are not installed, found without importing them.

    A package that is uninstalled and shares its folder with another (`onnxruntime`, `onnxruntime-gpu`) may leave a folder
    behind: a namespace without an origin, from which nothing can be imported.
    """
    specs = {name: find_spec(name) for name in modules}
    return tuple(name for name, spec in specs.items() if spec is None or spec.origin is None)


def recorded_source() -> dict[str, Any] | None:
    """The `direct_url.json` of this installation; of one that runs from a folder without being installed, that folder.

    None: it came from an index.
    """
    try:
        text = distribution(NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        return {"url": Path(__file__).resolve().parent.parent.as_uri()}
    found: dict[str, Any] | None = json.loads(text) if text is not None else None
    return found


def _is_editable() -> bool:
    recorded = recorded_source()
    return recorded is not None and bool(recorded.get("dir_info", {}).get("editable"))


def _requirement(extra: str, recorded: dict[str, Any] | None) -> str:
    if recorded is None:
        return f"{NAME}[{extra}]"
    url = str(recorded["url"])
    if url.startswith("file:") and "vcs_info" not in recorded:
        return f"{_as_typed(Path(unquote(urlsplit(url).path)))}[{extra}]"
    return (
        f"{NAME}[{extra}] @ {of_git(url, recorded['vcs_info']['commit_id']) if 'vcs_info' in recorded else without_user(url)}"
    )


def pip_command(word: str) -> str:
    """`.venv/bin/pip install`: the pip of this environment with a word, as it is typed here; uv where there is no pip."""
    python = Path(sys.executable)
    beside = python.with_name("pip")
    if find_spec("pip") is None and shutil.which("uv") is not None:
        return f"uv pip {word} --python {shlex.quote(_as_typed(python))}"
    if not beside.exists():
        return f"{shlex.quote(_as_typed(python))} -m pip {word}"
    found = shutil.which("pip")
    return f"{'pip' if found is not None and Path(found) == beside else shlex.quote(_as_typed(beside))} {word}"


def _as_typed(path: Path) -> str:
    """The path from the folder that the user is in, where it is inside it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def of_git(url: str, commit: str) -> str:
    """The address of a commit, as pip takes it."""
    # git's short form of an ssh address, host:path, is no URL.
    short = re.fullmatch(r"(?:[^@/]+@)?([^:/]+):(?!//)(.+)", url)
    return f"git+{without_user(f'https://{short[1]}/{short[2]}' if short else url)}@{commit}"


def without_user(url: str) -> str:
    """The address without a user's name or key, which must reach no file."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
