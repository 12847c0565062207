"""A mutant put into a copy of the project, and the tests that reach it run there.

Each trial is a process of its own, forked from one that has already imported the libraries (a second instead of five), in a
group of its own, which is killed whole when time is up: a fault that makes a loop endless counts as found.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from .mutants import Mutant

# None of these starts a thread on import, so that a fork of the process is whole, and none is a plugin of pytest, which
# pytest must load itself.
LIBRARIES = ("numpy", "scipy.stats", "scipy.signal", "scipy.optimize", "pydantic", "pytest", "soundfile", "yaml")
SLOWER_THAN_WITHOUT = 5.0
LEAST_S = 60.0


def import_libraries() -> None:
    for name in LIBRARIES:
        importlib.import_module(name)


def found(mutant: Mutant, tree: Path, tests: Sequence[str], expected_s: float) -> str | None:
    """The way in which ``tests`` find ``mutant`` in the copy ``tree``: "test" or "time"; None if all of them pass."""
    path = tree / mutant.path
    before = path.read_text(encoding="utf-8")
    try:
        path.write_text(mutant.source, encoding="utf-8")
        _forget_compiled(path)
        return outcome(tree, tests, max(LEAST_S, expected_s * SLOWER_THAN_WITHOUT))
    finally:
        path.write_text(before, encoding="utf-8")
        _forget_compiled(path)


def _forget_compiled(path: Path) -> None:
    """Removes the compiled file: Python believes it by second and size, and two mutants may share both."""
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def outcome(tree: Path, tests: Sequence[str], limit_s: float) -> str | None:
    """How ``tests`` fail in ``tree`` ("test" or "time"); None if they pass."""
    child = os.fork()
    if child == 0:
        _run_and_exit(tree, tests)
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return None if os.waitstatus_to_exitcode(status) == 0 else "test"
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "time"


def _run_and_exit(tree: Path, tests: Sequence[str]) -> None:
    """Runs ``tests`` in ``tree`` and ends this process with 0 if all pass. Never returns."""
    code = 1
    try:
        os.setsid()
        os.chdir(tree)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        sys.path[:] = [str(tree), *(each for each in sys.path if each not in ("", os.environ.get("PYTHONPATH", "")))]
        for name in [each for each in sys.modules if each.split(".")[0] in ("harness", "tests")]:
            del sys.modules[name]
        import pytest

        with tempfile.TemporaryDirectory() as folder:
            code = int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp={folder}/t", *tests]))
    finally:
        os._exit(code)
