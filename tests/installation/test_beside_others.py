"""The installed harness disturbs no package of other people, and their folders do not disturb it."""

import json
from pathlib import Path

import pytest

from tests.harness.conftest import peer
from tests.installation.conftest import Environment

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


def test_the_pytest_plugin_plays_a_call_among_folders_of_the_same_names(installed: Environment, foreign: Path) -> None:
    (foreign / "one-word.yaml").write_text(ONE_WORD, encoding="utf-8")
    (foreign / "mine.toml").write_text(peer("scripted").read_text(encoding="utf-8"), encoding="utf-8")
    (foreign / "test_mine.py").write_text(
        "def test_it_answers(voice_call):\n    assert voice_call.turn.ttfa_ms is not None\n", encoding="utf-8"
    )
    line = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--agent", "mine.toml", "--agent-pack", "one-word.yaml")
    done = installed.run(*line, "test_mine.py", cwd=foreign)
    assert "1 passed" in done.stdout, done.stdout[-3000:] + done.stderr[-1000:]
