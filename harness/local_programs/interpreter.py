"""The Python that has the programs of the extra `local`, and the environment in which our own modules run there.

The first of these that there is: the one that `HEART_LOCAL_PYTHON` names; this one, if it has all of them; the one of the
environment that the harness made before; one that it makes now. In another Python our code is that of the running harness,
through a folder with links to it alone: the rest of this environment (a bot's own packages) stays out of its path.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution, distributions
from pathlib import Path
from typing import Final

from harness.errors import UserError
from harness.files import OFFLINE_VARIABLE, cache_folder, is_offline, own_folder
from harness.installation import NAME, install_command, missing_modules
from harness.local_programs.environment import NotMade, OnStandardError, Shown, made_python, make_python

NAMED_BY: Final = "HEART_LOCAL_PYTHON"
MODULES: Final = ("faster_whisper", "piper", "hibari", "xllamacpp", "onnxruntime", "gguf", "uvicorn", "fastapi", "pipecat")
_ASK: Final = (
    "import importlib.util as u, json, sys\n"
    "specs = {name: u.find_spec(name) for name in sys.argv[1:]}\n"
    "print(json.dumps([list(sys.version_info[:2]), [n for n, s in specs.items() if s is None or s.origin is None]]))"
)
_VERSIONS: Final = (
    "import importlib.metadata as m, json, sys\n"
    "found = {name: next(iter(m.distributions(name=name)), None) for name in sys.argv[1:]}\n"
    "print(json.dumps({name: one.version for name, one in found.items() if one is not None}))"
)
_ASK_S: Final = 60.0
_OLDEST: Final = (3, 11)


def local_python(why: str, shown: Shown | None = None, modules: Sequence[str] = MODULES) -> str:
    """The path of a Python with these modules, and where there is none yet, of one that is made with all of `local`.

    Raises:
        UserError: the named one lacks something, or none can be made; one sentence with `why` and the way out.
    """
    if named := os.environ.get(NAMED_BY):
        return named_python(named, NAMED_BY, modules)
    if not missing_modules(modules):
        return sys.executable
    try:
        if (made := made_python()) is not None:
            return str(made)
        if is_offline():
            raise NotMade(f"{OFFLINE_VARIABLE} is set")
        return str(make_python(shown or OnStandardError()))
    except NotMade as error:
        raise UserError(
            f"{why} needs the programs of the speech models, which are not in this environment and could not be installed into "
            f"one of their own ({error}): name a Python that has them in {NAMED_BY}, or install them here: "
            f"{install_command('local')}"
        ) from error


def named_python(named: str, where: str, modules: Sequence[str] = MODULES) -> str:
    """The path of a Python that the user named, once it is known to have these modules.

    Raises:
        UserError: it does not run, is too old, or lacks one.
    """
    path = os.path.abspath(os.path.expanduser(named))
    try:
        version, missing = _asked(path, tuple(modules))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise UserError(f"{where}: {path} does not run as a Python ({error}); name one with the extra 'local'") from error
    if version < _OLDEST:
        raise UserError(f"{where}: {path} is Python {version[0]}.{version[1]}; the harness needs 3.11 or newer")
    if missing:
        raise UserError(f"{where}: {path} lacks {', '.join(missing)} of the extra 'local'; install the extra there")
    return path


@lru_cache(maxsize=8)
def _asked(path: str, modules: tuple[str, ...]) -> tuple[tuple[int, int], tuple[str, ...]]:
    done = subprocess.run(
        [path, "-I", "-c", _ASK, *modules], capture_output=True, text=True, check=True, timeout=_ASK_S, stdin=subprocess.DEVNULL
    )
    (major, minor), missing = json.loads(done.stdout.splitlines()[-1])
    return (major, minor), tuple(missing)


def versions_of_models(packages: Sequence[str]) -> dict[str, str]:
    """The versions of these packages in the Python that runs the models; of none where there is no such Python yet."""
    named = os.environ.get(NAMED_BY)
    if not named and not missing_modules(MODULES):
        found = {name: next(iter(distributions(name=name)), None) for name in packages}
        return {name: one.version for name, one in found.items() if one is not None}
    try:
        python = os.path.abspath(os.path.expanduser(named)) if named else made_python()
        return dict(_versions(str(python), tuple(packages))) if python is not None else {}
    except (NotMade, OSError, ValueError, subprocess.SubprocessError):
        return {}


@lru_cache(maxsize=8)
def _versions(python: str, packages: tuple[str, ...]) -> Mapping[str, str]:
    done = subprocess.run(
        [python, "-I", "-c", _VERSIONS, *packages], capture_output=True, text=True, check=True, timeout=_ASK_S,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


def launch_environment(python: str) -> dict[str, str]:
    """The environment of a process in which that Python runs our modules: this one's without what would change its path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON") and name != NAMED_BY}
    root = _harness().parent if python == sys.executable else _links()
    return {**kept, "PYTHONPATH": str(root), "PYTHONSAFEPATH": "1", "PYTHONUNBUFFERED": "1"}


def _harness() -> Path:
    return Path(__file__).absolute().parents[1]


def _links() -> Path:
    """A folder with links to the running package and its metadata, and nothing else."""
    targets = [_harness()]
    try:
        found = distribution(NAME)
        targets.append(Path(str(found.locate_file(f"{NAME.replace('-', '_')}-{found.version}.dist-info"))))
    except PackageNotFoundError:
        pass
    key = hashlib.sha256("\n".join(map(str, targets)).encode()).hexdigest()[:16]
    folder = own_folder(cache_folder() / "local" / "code" / key)
    for target in targets:
        link = folder / target.name
        if target.is_dir() and not link.is_symlink():
            beside = folder / f".{target.name}.{os.getpid()}"
            beside.unlink(missing_ok=True)
            beside.symlink_to(target)
            beside.replace(link)
    return folder
