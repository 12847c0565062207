"""A small pack, and `harness` as a user runs it: a process of its own, in a folder of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.cli import main
from harness.store.judgment import Judgment
from harness.store.manifest import HARNESS
from harness.store.run_store import RunStore

PEERS = Path(__file__).parents[1] / "peers"
VIRTUAL_TIME = {"PYTHONPATH": os.pathsep.join(filter(None, (str(PEERS.parent / "virtual_time"), os.environ.get("PYTHONPATH"))))}
"""The environment in which a command's calls to agents of known behaviour take no time (tests/virtual_time)."""
PACK = """
pack: two-words
source: tests
licence: Apache-2.0
contexts:
  - id: first
    subset: regular
    emotion: sadness
    problem: moving away
    turns:
      - {role: supporter, text: Hello there.}
      - {role: seeker, text: "I miss them. <pause 400> All of them."}
    references:
      - {id: good, author: authored, quality: 5, text: "You left people you love behind. Who do you think of first?"}
  - id: second
    subset: regular
    emotion: worry
    problem: exams
    turns:
      - {role: seeker, text: "It is tomorrow already."}
    references:
      - {id: good, author: authored, quality: 5, text: "Tomorrow is close. What part of it weighs most tonight?"}
"""


@dataclass(frozen=True)
class Finished:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    path = tmp_path / "two-words.yaml"
    path.write_text(PACK, encoding="utf-8")
    return path


def harness(folder: Path, *arguments: object, timeout_s: float = 300, virtual: bool = False, **environment: str) -> Finished:
    """Run a command in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "harness", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, **(VIRTUAL_TIME if virtual else {}), **environment},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def begin(*arguments: object, cwd: Path | None = None, virtual: bool = False, **more: Any) -> subprocess.Popen[str]:
    """A command that goes on beside its test; `more` is for `subprocess.Popen`."""
    environment = {**os.environ, **(VIRTUAL_TIME if virtual else {}), **more.pop("env", {})}
    line = [sys.executable, "-m", "harness", *map(str, arguments)]
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.Popen(line, cwd=cwd, env=environment, text=True, **piped)


def begin_run(folder: Path, pack: Path, *words: object, virtual: bool = False, **more: Any) -> subprocess.Popen[str]:
    """A run beside its test, which nobody judges, of a pack in whose folder it is begun."""
    line = ("run", "--pack", pack, "--judge", "none", "--out", folder, *words)
    return begin(*line, cwd=pack.parent, virtual=virtual, **more)


@pytest.fixture
def harness_command(tmp_path: Path) -> Callable[..., Finished]:
    """Runs a command in virtual time."""
    return partial(harness, tmp_path, virtual=True)


@pytest.fixture
def harness_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Finished]:
    """`harness` in this process, for what ends before anything is started: a process of its own would mostly import."""

    def call(*arguments: object) -> Finished:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["harness", *map(str, arguments)])
        with monkeypatch.context() as masked:
            masked.setattr(sys, "stdout", sys.stdout)
            masked.setattr(sys, "stderr", sys.stderr)
            masked.setenv("HEART_HARNESS_DEBUG", "")
            with pytest.raises(SystemExit) as ended:
                main()
        assert isinstance(ended.value.code, int)
        return Finished(ended.value.code, *capsys.readouterr())

    return call


@pytest.fixture
def harness_virtual(
    harness_here: Callable[..., Finished], monkeypatch: pytest.MonkeyPatch, virtual_time: None
) -> Callable[..., Finished]:
    """`harness` in this process, with its calls in virtual time: as `harness_command`, without a process that imports."""
    del virtual_time

    def call(*arguments: object, **environment: str) -> Finished:
        with monkeypatch.context() as of_the_command:
            for name, value in environment.items():
                of_the_command.setenv(name, value)
            return harness_here(*arguments)

    return call


@pytest.fixture
def virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Callers that the test's own process starts live in virtual time."""
    monkeypatch.setenv("PYTHONPATH", VIRTUAL_TIME["PYTHONPATH"])


@pytest.fixture
def harness_in_real_time(tmp_path: Path) -> Callable[..., Finished]:
    """Runs a command as a user would, on the machine's own clock."""
    return partial(harness, tmp_path)


def begun_by(folder: Path, version: str) -> None:
    """Make a run one that another version of the harness began."""
    with closing(RunStore.open(folder)) as store, store.lock():
        versions = {**store.manifest.versions, HARNESS: version}
        store.set_manifest(store.manifest.model_copy(update={"versions": versions, "harness_version": version}))


def peer(name: str) -> Path:
    """The profile of an agent of known behaviour."""
    return PEERS / f"{name}.toml"


Simulate = Callable[..., list[Judgment]]


def _simulate(
    contexts: int = 30,
    systems: int = 4,
    judges: int = 2,
    *,
    seed: int = 0,
    spread: float = 1.0,
    position: float = 0.0,
    ties: float = 0.0,
    context_sd: float = 0.5,
    source: str = "judge",
    axes: bool = False,
) -> list[Judgment]:
    """All pairs in every context. System s0 is weakest; η is logistic; strengths fall into five bins."""
    rng = np.random.default_rng(seed)
    theta = np.linspace(-spread, spread, systems)
    rows = []
    for c in range(contexts):
        lean = rng.normal(0, context_sd, systems)
        for i in range(systems):
            for j in range(i + 1, systems):
                for judge in range(judges):
                    shown = "a" if rng.random() < 0.5 else "b"
                    eta = theta[i] - theta[j] + lean[i] - lean[j] + (position if shown == "a" else -position)
                    y = eta + rng.logistic()
                    winner = "tie" if abs(y) < ties else "a" if y > 0 else "b"
                    marks = {}
                    if axes:
                        for axis in "HEART":
                            z = eta + rng.logistic()
                            marks[axis] = {"winner": "a" if z > 0 else "b", "strength": 1 + int(min(abs(z), 4))}
                    rows.append(
                        Judgment(
                            context=f"c{c:03}",
                            subset="adversarial" if c % 10 == 9 else "regular",
                            system_a=f"s{i}",
                            system_b=f"s{j}",
                            source=source,  # type: ignore[arg-type]
                            judge=f"{source}-{judge}",
                            winner=winner,  # type: ignore[arg-type]
                            strength=1 if winner == "tie" else 1 + int(np.searchsorted([0.5, 1.0, 1.8, 3.0], abs(y))),
                            shown_first=shown,  # type: ignore[arg-type]
                            axes=marks,  # type: ignore[arg-type]
                        )
                    )
    return rows


@pytest.fixture(scope="session")
def simulate() -> Simulate:
    return _simulate
