"""Copies of the project, one for each process that tries mutants, so that trials side by side never see each other's faults."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from .mutants import Mutant
from .reaching import Reaching
from .trial import found, outcome

# Of the tests that reach a line, as many as take this long together: some lines are reached by all tests of a room.
TESTS_OF_ONE_S = 60.0
CONTROL_S = 600.0


def outcomes(root: Path, mutants: Sequence[Mutant], reached: Reaching, lanes: int) -> Iterator[str | None]:
    """How each of ``mutants`` was found ("test" or "time"), in their order; None for one that no test finds.

    Raises:
        RuntimeError: if tests fail in a copy of the code as it is: then every mutant would seem to be found.
    """
    with tempfile.TemporaryDirectory() as folder:
        _copy(root, Path(folder) / "tree")
        one_of_each_file = {test.split("::")[0]: test for test in sorted(reached.seconds)}
        if outcome(Path(folder) / "tree", sorted(one_of_each_file.values()), CONTROL_S) is not None:
            raise RuntimeError("tests fail in a copy of the code as it is, so no mutant can be tried on them")
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(lanes, mp_context=get_context("fork")) as pool:
        yield from pool.map(partial(_outcome, root, Path(folder), reached), mutants)


def _outcome(root: Path, folder: Path, reached: Reaching, mutant: Mutant) -> str | None:
    tree = folder / str(os.getpid())
    if not tree.exists():
        _copy(root, tree)
    tests = reached.of(mutant.path, mutant.lines, TESTS_OF_ONE_S)
    expected_s = sum(reached.seconds[test] for test in tests)
    return found(mutant, tree, tests, expected_s) if tests else None


def _copy(root: Path, into: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        source, target = root / name, into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(os.readlink(source))
        elif source.exists():
            shutil.copy2(source, target)
