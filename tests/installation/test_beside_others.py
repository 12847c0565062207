"""The installed harness disturbs no package of other people, and their folders do not disturb it.

Beside a bot is the core alone: the speech models are in another environment, here that of the tests.
"""

import json
import shutil
import subprocess
import sys
import venv
from importlib.metadata import distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from harness.installation import NAME
from harness.local_programs import NAMED_BY
from harness.local_programs.interpreter import MODULES
from tests.harness.conftest import peer
from tests.installation.conftest import Environment

SCRIPTED = Path(__file__).parents[1] / "scripted"
FOLDERS = ("agents", "audio", "reports", "scenarios", "tests")
AGENTS = "from agents import Agent; print(Agent(name='a').name)"
OURS = "import harness, harness.agents.profile; print(harness.rank_judgments.__name__)"
ONE_WORD = """
pack: one-word
source: tests
licence: Apache-2.0
contexts:
  - {id: only, subset: regular, emotion: worry, problem: exams, turns: [{role: seeker, text: "It is tomorrow."}]}
"""


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A repository with folders of these names, each of which says so when it is imported."""
    for name in FOLDERS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise RuntimeError('{name} is the user’s own')\n", encoding="utf-8")
    return tmp_path


@pytest.mark.long
def test_openai_agents_and_the_harness_work_beside_each_other_whichever_came_first(
    installed: Environment, wheel: Path, tmp_path: Path
) -> None:
    def both_work() -> None:
        for program in (AGENTS, OURS):
            done = installed.run("-c", program, cwd=tmp_path)
            assert done.returncode == 0, done.stderr[-1000:]

    installed.pip("install", "openai-agents", cwd=tmp_path)
    both_work()
    installed.pip("uninstall", "-y", "heart-voice-harness", cwd=tmp_path)
    assert installed.run("-c", AGENTS, cwd=tmp_path).stdout == "a\n"
    installed.pip("install", "--no-deps", "--ignore-installed", wheel, cwd=tmp_path)
    both_work()
    installed.pip("uninstall", "-y", "openai-agents", cwd=tmp_path)
    assert installed.run("-c", OURS, cwd=tmp_path).stdout == "rank_judgments\n"


def test_the_command_and_the_library_work_among_folders_of_the_same_names(installed: Environment, foreign: Path) -> None:
    done = installed.run("-m", "harness", "agents", "--json", cwd=foreign)
    assert done.returncode == 0, done.stderr[-1000:]
    assert "polaris-like" in json.loads(done.stdout)["agents"]
    library = installed.run("-c", f"{OURS}; import harness.scenarios as s; print(*s.shipped_packs())", cwd=foreign)
    assert "heart-mini" in library.stdout, library.stderr[-1000:]


def plays_a_call(environment: Environment, folder: Path) -> None:
    """One call by the pytest plugin, with the caller's voice and the transcript from the tests' own environment."""
    (folder / "one-word.yaml").write_text(ONE_WORD, encoding="utf-8")
    (folder / "mine.toml").write_text(peer("scripted").read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "test_mine.py").write_text(
        "def test_it_answers(voice_call):\n    assert voice_call.turn.ttfa_ms is not None\n", encoding="utf-8"
    )
    line = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--agent", "mine.toml", "--agent-pack", "one-word.yaml")
    done = environment.run(*line, "test_mine.py", cwd=folder, more={NAMED_BY: sys.executable, "PYTHONPATH": str(SCRIPTED)})
    assert "1 passed" in done.stdout, done.stdout[-3000:] + done.stderr[-1000:]


def needed_by_the_core(site: Path) -> set[str]:
    """The packages that the wheel's core needs, and those which these need, and pytest, as they are installed here."""
    (core,) = distributions(path=[str(site)])
    found: set[str] = set()
    waiting = ["pytest", *(asked.name for asked in map(Requirement, core.requires or ()) if asked.marker is None)]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name not in found:
            found.add(name)
            asked = [Requirement(line) for line in distribution(name).requires or ()]
            waiting += [one.name for one in asked if one.marker is None or one.marker.evaluate({"extra": ""})]
    return found


@pytest.mark.alone  # a call that the harness must pace: among others on a busy machine it says, rightly, that it was at fault
def test_the_core_alone_plays_a_call_by_the_pytest_plugin_among_folders_of_the_same_names(
    wheel: Path, foreign: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("core")
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    shutil.unpack_archive(wheel, site, "zip")
    # A namespace (google) is of several packages, and linked once.
    places = {
        file.parts[0]: str(distribution(name).locate_file(file.parts[0]))
        for name in needed_by_the_core(site)
        for file in distribution(name).files or ()
        if file.parts[0] not in ("..", "__pycache__")
    }
    for top, place in places.items():
        (site / top).symlink_to(place)
    environment = Environment(folder)
    ask = f"from harness.installation import missing_modules; print(len(missing_modules({MODULES})))"
    assert environment.run("-c", ask, cwd=foreign).stdout == f"{len(MODULES)}\n"
    plays_a_call(environment, foreign)


BESIDE = (
    *(f"pipecat-ai=={minor}.*" for minor in ("1.9", "1.10", "1.11", "1.12", "1.13", "1.14")),
    "livekit-agents", "openai-agents", "deepeval", "langwatch-scenario",
)  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("other", BESIDE)
def test_it_installs_beside_what_people_have_and_plays_a_call(other: str, wheel: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "environment")
    uv = shutil.which("uv")
    venv.create(environment.folder, with_pip=uv is None, symlinks=True)
    wanted = (other, str(wheel), "pytest")
    if uv is None:
        environment.pip("install", *wanted, cwd=tmp_path)
    else:
        line = [uv, "pip", "install", "-q", "--python", str(environment.folder / "bin" / "python"), *wanted]
        subprocess.run(line, check=True, timeout=600)
    try:
        place = tmp_path / "project"
        place.mkdir()
        plays_a_call(environment, place)
    finally:
        shutil.rmtree(environment.folder)


@pytest.mark.long
@pytest.mark.skipif(shutil.which("uv") is None, reason="pip downloads gigabytes of wheels to see what they need; uv does not")
def test_it_fits_what_vllm_pins(wheel: Path, tmp_path: Path) -> None:
    """Resolved and not installed: vllm brings gigabytes of CUDA."""
    venv.create(tmp_path / "environment", symlinks=True)
    line = ["uv", "pip", "install", "--dry-run", "--only-binary=:all:", "--python", str(tmp_path / "environment/bin/python")]
    done = subprocess.run([*line, "vllm", str(wheel)], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert " + vllm==" in done.stderr
    assert f" + {NAME}" in done.stderr
