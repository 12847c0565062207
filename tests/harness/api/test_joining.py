"""A package of its own joins with a judge, a connection and a voice, installed as pip installs it."""

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version

from harness.audio.speech import render_turn
from harness.audio.synthesis import InstalledVoice, installed_voices
from harness.audio.voice_error import VoiceError
from harness.errors import UserError
from harness.judging import Completion, judge_pairs, load_judge_settings, open_judge
from harness.judging.judge import installed_judges
from harness.scenarios.pack import load_pack
from harness.voices.choice import open_voices
from tests.harness.conftest import VIRTUAL_TIME, harness

EXAMPLE = Path(__file__).parents[2] / "example_package"
PACK = """
pack: hummed
source: tests
licence: Apache-2.0
contexts:
  - id: only
    subset: regular
    emotion: worry
    problem: exams
    voice: hummer
    turns:
      - {role: seeker, text: "It is tomorrow already."}
    references:
      - {id: good, author: authored, quality: 5, text: "Tomorrow is close. What part of it weighs most tonight?"}
"""
PROFILE = """
kind = "plugin"
greets = false
connection = "answers-in-a-second"
accepts_history = true
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the example package is installed, and nothing else."""
    # Not imported here: it takes over distutils, which another test of this process may have loaded already.
    if Version(version("setuptools")) < Version("77"):
        pytest.skip("setuptools is older than 77")
    folder = tmp_path_factory.mktemp("site")
    copy = shutil.copytree(EXAMPLE, folder / "source")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
         "--target", folder / "packages", copy],
        check=True, timeout=120, capture_output=True,
    )  # fmt: skip
    return folder / "packages"


@pytest.fixture
def joined(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(site))
    importlib.invalidate_caches()
    yield site
    for name in [name for name in sys.modules if name.split(".")[0] in ("heart_example", "broken")]:
        del sys.modules[name]


def broken(folder: Path, group: str, value: str, code: str) -> None:
    """A package that is installed and does not work."""
    (folder / "broken.py").write_text(code, encoding="utf-8")
    info = folder / "broken-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[heart_voice_harness.{group}]\nbroken = {value}\n", encoding="utf-8")


@pytest.mark.usefixtures("joined")
def test_the_judge_is_known_by_name_and_asked(tmp_path: Path) -> None:
    assert "asks-back" in installed_judges()
    settings = load_judge_settings("asks-back")
    assert (settings.id, settings.version, settings.family) == ("asks-back", "1", "rule")
    contexts = load_pack("heart-mini").contexts[:8]
    replies = [Completion(c.id, name, text) for c in contexts for name, text in (("asks", "And you?"), ("tells", "You will."))]
    rows = judge_pairs(contexts, replies, open_judge("asks-back")).judgments
    assert {row.judge for row in rows} == {"asks-back@1"}
    assert all({row.system_a: "a", row.system_b: "b"}["asks"] == row.winner for row in rows)
    file = tmp_path / "mine.toml"
    named = 'version = "1"\nfamily = "rule"\napi = "installed"\nmodel = "asks-back"\n'
    file.write_text(f'id = "asks-back"\n{named}[extra]\nmark = "!"\n')
    assert open_judge(str(file)).fingerprint == "asks-back@1 !"
    file.write_text(f'id = "other"\n{named}')
    with pytest.raises(UserError, match="calls itself asks-back@1 of family rule"):
        open_judge(str(file))


@pytest.mark.usefixtures("joined")
def test_the_voice_speaks_for_a_pack_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "hummed.yaml"
    path.write_text(PACK, encoding="utf-8")
    voices = open_voices(load_pack(str(path)))
    assert voices.knows("hummer")
    assert not voices.knows("nobody")
    assert voices.name_of("hummer") == "hummer (installed)"
    one, two = (render_turn("It is tomorrow already.", None, InstalledVoice("hummer").open(), None) for _ in range(2))
    assert one.duration_s > 0.5
    assert (one.samples == two.samples).all()


def test_names_of_nobody_are_refused_with_those_there_are() -> None:
    with pytest.raises(UserError, match=r"no such judge; choose one of .*embedded"):
        load_judge_settings("asks-backwards")
    with pytest.raises(VoiceError, match="no installed package brings it"):
        InstalledVoice("nobody").open()
    assert "joe" not in installed_voices()


@pytest.mark.parametrize(
    ("group", "code", "says"),
    [
        ("judges", "def make(options):\n    raise RuntimeError('no\\nlicence')\n", "failed .no licence.; mend or uninstall"),
        ("judges", "def make(options):\n    return object()\n", "gave no judge: it lacks id, family"),
        ("judges", "import nothing_of_that_name\n", "failed .No module named"),
        ("voices", "def make():\n    return object()\n", "gave no voice"),
        ("voices", "def make():\n    raise OSError('no model')\n", "failed .no model."),
    ],
)
def test_a_package_that_does_not_work_is_named_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str, code: str, says: str
) -> None:
    broken(tmp_path, group, "broken:make", code)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    sys.modules.pop("broken", None)
    make: Callable[[], object] = partial(load_judge_settings, "broken") if group == "judges" else InstalledVoice("broken").open
    with pytest.raises((UserError, VoiceError), match=says) as told:
        make()
    assert "\n" not in str(told.value)


@pytest.mark.long
@pytest.mark.models
def test_all_three_join_one_run(site: Path, tmp_path: Path) -> None:
    (tmp_path / "hummed.yaml").write_text(PACK, encoding="utf-8")
    (tmp_path / "example.toml").write_text(PROFILE, encoding="utf-8")
    line = ("run", "--agent", "example.toml", "--pack", "hummed.yaml", "--judge", "asks-back", "--out", "run", "--json")
    done = harness(tmp_path, *line, PYTHONPATH=f"{site}{os.pathsep}{VIRTUAL_TIME['PYTHONPATH']}")
    assert done.code == 0, done.err
    summary = done.json
    assert summary["failures"] == []
    assert summary["agents"]["example"]["turns"] == 1
    assert "asks-back@1" in {judge["id"] for judge in summary["judges"]} | {
        check for check in done.err.split() if check.startswith("asks-back")
    }
