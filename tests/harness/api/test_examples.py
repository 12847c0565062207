"""The example in the docstring of each public name runs and prints what it says, in a folder with the files that it names."""

import doctest
import importlib
import shutil
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import soundfile
from scripted_sound import Piece, render

import harness
from harness.store.judgment import Judgment
from tests.harness.conftest import VIRTUAL_TIME, peer

PACK = """
pack: exam
source: tests
licence: Apache-2.0
contexts:
  - id: exam
    subset: regular
    emotion: worry
    problem: exams
    turns:
      - {role: seeker, text: "It is tomorrow already."}
    references:
      - {id: good, author: authored, quality: 5, text: "Tomorrow is close. What part of it weighs most tonight?"}
"""
BROKEN = """
kind = "raw-pcm"
greets = false
accepts_history = true

[process]
command = ["{python}", "-c", "raise SystemExit('no model file')"]
"""
RATE_HZ = 16_000
GAP_S = 0.4


def example_of(name: str) -> doctest.DocTest:
    """The example in a public name's docstring, with nothing but what it imports itself."""
    public = getattr(harness, name)
    # A union of protocols has no docstring of its own: the smallest of them carries the example.
    documented = get_args(public)[0] if get_args(public) else public
    (found,) = doctest.DocTestFinder(recurse=False, exclude_empty=False).find(
        documented, name, module=importlib.import_module(documented.__module__), globs={}
    )
    return found


def differences(example: doctest.DocTest) -> str:
    """A report of every line that printed something else; empty if none did."""
    said: list[str] = []
    doctest.DocTestRunner(verbose=False).run(example, out=said.append)
    return "".join(said)


def files(folder: Path) -> None:
    """The files that the examples name, but for the run."""
    (folder / "my.toml").write_text(peer("scripted").read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "broken.toml").write_text(BROKEN, encoding="utf-8")
    (folder / "exam.yaml").write_text(PACK, encoding="utf-8")
    said, reply = render([Piece(kind="voice", ms=1200)], RATE_HZ), render([Piece(kind="voice", ms=1000)], RATE_HZ)
    pause, second = np.zeros(round(GAP_S * RATE_HZ), np.int16), np.zeros(RATE_HZ, np.int16)
    caller = np.concatenate([second, said, pause, np.zeros_like(reply), second])
    agent = np.concatenate([second, np.zeros_like(said), pause, reply, second])
    soundfile.write(folder / "call.wav", np.stack([caller, agent], axis=1), RATE_HZ)
    rows = [
        Judgment(
            context=f"c{number}", subset="regular", system_a="mine", system_b="theirs", source="human", judge="rater-1",
            winner="a" if number % 3 else "b", strength=2, shown_first="a",
        )
        for number in range(12)
    ]  # fmt: skip
    (folder / "verdicts.jsonl").write_text("".join(row.model_dump_json() + "\n" for row in rows), encoding="utf-8")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder in which the example of `run_agents` has run, and what was different in it: the others open its run."""
    folder = tmp_path_factory.mktemp("examples")
    files(folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.setenv("PYTHONPATH", VIRTUAL_TIME["PYTHONPATH"])
        return folder, differences(example_of("run_agents"))


@pytest.mark.parametrize("name", harness.__all__)
def test_the_example_of_a_public_name_runs(
    name: str, played: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, of_run_agents = played
    example = example_of(name)
    assert example.examples, f"harness.{name} has no example"
    assert not any(one.options for one in example.examples), "an example runs whole"
    monkeypatch.chdir(shutil.copytree(folder, tmp_path / "copy"))
    assert (of_run_agents if name == "run_agents" else differences(example)) == ""
