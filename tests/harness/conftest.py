"""A small pack, and `harness` as a user runs it: a process of its own, in a folder of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PEERS = Path(__file__).parents[1] / "peers"
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


@pytest.fixture
def harness_command(tmp_path: Path) -> Callable[..., Finished]:
    def call(*arguments: object, timeout_s: float = 300, **environment: str) -> Finished:
        done = subprocess.run(
            [sys.executable, "-m", "harness", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    return call


def peer(name: str) -> Path:
    """The profile of an agent of known behaviour."""
    return PEERS / f"{name}.toml"
