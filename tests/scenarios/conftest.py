from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.harness.conftest import Finished, harness_here

__all__ = ["harness_here"]

WritePack = Callable[..., Path]
Scenarios = Callable[..., Finished]


@pytest.fixture
def pack_text() -> str:
    return """\
pack: tiny
source: written for the tests
licence: Apache-2.0
contexts:
  - id: one
    subset: regular
    emotion: anxiety
    problem: exams
    turns:
      - role: supporter
        text: Hello there.
      - role: seeker
        text: It's the exam. I mean, <pause 400> the second one.
"""


@pytest.fixture
def write_pack(tmp_path: Path, pack_text: str) -> WritePack:
    def write(old: str = "", new: str = "", name: str = "tiny.yaml") -> Path:
        assert old in pack_text
        path = tmp_path / name
        path.write_text(pack_text.replace(old, new) if old else pack_text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def scenarios(harness_here: Scenarios) -> Scenarios:
    """`harness scenarios …` in this process, from an empty folder."""
    return partial(harness_here, "scenarios")
