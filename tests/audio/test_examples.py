"""The examples in the docstrings of public functions of sound run as they are written."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOM = Path(__file__).parents[2] / "audio"
WITH_EXAMPLES = sorted(path.relative_to(ROOM) for path in ROOM.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("module", WITH_EXAMPLES, ids=str)
def test_the_examples_run(module: Path) -> None:
    found = doctest.testmod(import_module(".".join(("harness.audio", *module.with_suffix("").parts))))
    assert found.attempted
    assert not found.failed


def test_there_are_examples() -> None:
    assert len(WITH_EXAMPLES) >= 15
