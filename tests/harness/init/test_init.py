"""What `harness init` writes, tried in a clean folder: every file loads, and the CI jobs' own lines are run."""

import json
import os
import pty
import re
import select
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.agents.profile import load_profile, profile_kinds, shipped_profiles
from harness.errors import UserError
from harness.experiment import Experiment
from harness.gate.attainable import refuse_unattainable
from harness.gate.budgets import limits_for, read_budgets
from harness.init import Answers, files_for
from harness.init.answers import DEMO
from harness.init.files import BUDGETS, GITHUB, GITLAB, TO_FILL_IN
from harness.run.plan import make_plan, new_manifest
from harness.turn_taking.detectors import PAUSES_CUT_LIMIT
from tests.harness.conftest import PACK, Finished

Command = Callable[..., Finished]


def job(path: Path) -> Any:
    """The one job of a CI file."""
    read = yaml.safe_load(path.read_text(encoding="utf-8"))
    return read["jobs"]["gate"] if "jobs" in read else read["voice-agent"]


@pytest.mark.parametrize("kind", [*profile_kinds(), *shipped_profiles(), DEMO])
def test_every_kind_gives_files_that_the_harness_takes(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if kind == "plugin":  # nobody has installed the connection that it stands for
        with pytest.raises(UserError, match="no connection"):
            files_for(Answers(kind, install="."))
        return
    answers = Answers(kind, pack="heart-mini", install=".")
    for name, text in files_for(answers).items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    assert load_profile(answers.agent).kind
    mode = "seeded" if answers.profile.accepts_a_history else "replay"
    plan = make_plan(Experiment(agents=(answers.agent,), mode=mode))  # type: ignore[arg-type]
    # Each limit is one that this very agent can have, and that these very conversations can pass.
    limits = limits_for(read_budgets(Path(BUDGETS)), new_manifest(plan), plan.contexts, judged=False)
    assert limits
    refuse_unattainable(limits, plan.contexts, plan.options, None)
    line = next(step for step in job(Path(GITLAB))["script"] if step.startswith(".venv/bin/harness check"))
    assert ("--mode replay" in line) == (mode == "replay")
    assert line in step_named("Gate")["run"]
    assert job(Path(GITHUB))["strategy"]["matrix"]["agent"] == [answers.agent]
    assert job(Path(GITHUB))["steps"][-1]["with"]["path"].split("\n") == ["gate-run", "gate.xml", "gate.md", ""]
    assert job(Path(GITLAB))["parallel"]["matrix"] == [{"AGENT": [answers.agent]}]


def step_named(name: str, folder: Path = Path()) -> Any:
    """The step of the GitHub job whose name begins with this."""
    return next(step for step in job(folder / GITHUB)["steps"] if step.get("name", "").startswith(name))


def test_a_limit_that_the_pack_cannot_decide_is_a_comment(harness_virtual: Command, tmp_path: Path) -> None:
    for pack in ("heart-mini", "heart-open"):
        folder = tmp_path / pack
        assert harness_virtual("init", folder, "--kind", "demo", "--budget-ttfa", 500, "--pack", pack, "--ci", "none").code == 0
        text = (folder / BUDGETS).read_text(encoding="utf-8")
        budgets = read_budgets(folder / BUDGETS)
        assert {limit.figure: limit.bound for limit in budgets.limits} == {
            "ttfa_ms.p50": 500,
            "pauses_cut_share": PAUSES_CUT_LIMIT,
        }
        assert budgets.budgets_ms == {"ttfa": 500}, "the page of a checked run counts turns against the same budget"
        assert "# - {figure: no_reply_rate" in text
        assert re.search(r"silent in 0, 1, 2 % of their turns, four in five pass with 55, \d+, \d+ conversations", text)


def test_the_harness_s_own_source_is_no_place_for_a_user_s_files(harness_virtual: Command, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "heart-voice-harness"\n', encoding="utf-8")
    done = harness_virtual("init", "--kind", "demo", "--ci", "none")
    assert done.code == 2
    assert "the harness's own source" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["pyproject.toml"]


def test_options_answer_all_and_nothing_is_written_over(harness_virtual: Command, tmp_path: Path) -> None:
    asked = ("init", "mine", "--kind", "raw-pcm", "--url", "ws://localhost:8080/", "--name", "support", "--budget-ttfa", "650",
             "--install", "voice harness.whl")  # fmt: skip
    done = harness_virtual(*asked, "--ci", "gitlab", "--json")
    assert done.code == 0, done.err
    assert done.json["files"] == ["mine/support.toml", "mine/budgets.yaml", "mine/.gitlab-ci.yml"]
    assert load_profile(tmp_path / "mine" / "support.toml").running_url == "ws://localhost:8080/"
    assert read_budgets(tmp_path / "mine" / "budgets.yaml").limits[0].bound == 650
    before = (tmp_path / "mine" / "budgets.yaml").read_bytes()
    again = harness_virtual(*asked, "--ci", "github")
    assert again.code == 2
    assert "is there already" in again.err
    assert (tmp_path / "mine" / "budgets.yaml").read_bytes() == before
    assert not (tmp_path / "mine" / ".github").exists()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], "name your agent's protocol"),
        (["--kind", "telepathy"], "--kind telepathy: unknown"),
        (["--kind", "polaris-like", "--url", "ws://x/"], "ships with the harness"),
        (["--kind", "pipecat", "--url", "ws://x/", "--command", "python bot.py"], "give one of them"),
        (["--kind", "pipecat", "--command", "python 'bot.py"], "write it as in a shell"),
        (["--kind", "pipecat", "--url", "nowhere"], "url"),
        (["--kind", "pipecat", "--name", "../x"], "--name ../x"),
        (["--kind", "pipecat", "--budget-ttfa", "0"], "more than 0 ms"),
        (["--kind", "pipecat", "--ci", "jenkins"], "--ci jenkins: unknown"),
    ],
)
def test_wrong_answers_are_one_line_and_write_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], given: list[str], says: str
) -> None:
    from harness.cli import _run

    monkeypatch.chdir(tmp_path)
    assert _run(["init", *given]) == 2
    told = capsys.readouterr().err
    assert says in told
    assert told.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_command_of_the_page_does_what_it_says(harness_virtual: Command, tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "gate.md").read_text(encoding="utf-8")
    line = next(line for line in page.splitlines() if line.startswith("harness init --kind"))
    done = harness_virtual(*shlex.split(line)[1:], "--install", ".")  # a developer's installation has no address
    assert done.code == 0, done.err
    assert (tmp_path / GITHUB).exists()
    assert not (tmp_path / GITLAB).exists()
    assert "harness try my-agent.toml" in done.out


def test_a_person_at_a_terminal_is_asked(tmp_path: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover
        os.chdir(tmp_path)
        at_home = {name: value for name, value in os.environ.items() if name != "CI"}
        os.execve(sys.executable, [sys.executable, "-m", "harness", "init", "--install", "."], at_home)
    told = b""
    for question, answer in (
        (b"Protocol of", "pipecat-eval"), (b"Name of your agent", "ours"), (b"running agent", ""),
        (b"starts it", "python bot.py --port {port}"), (b"in ms", "700"), (b"CI", "github"),
    ):  # fmt: skip
        told += _until(terminal, question)
        os.write(terminal, answer.encode() + b"\n")
    told += _until(terminal, b"Check the limits")
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, told
    settings = load_profile(tmp_path / "ours.toml").process_settings
    assert settings is not None
    assert settings.command == ("python", "bot.py", "--port", "{port}")
    assert (tmp_path / GITHUB).exists()
    assert not (tmp_path / GITLAB).exists()


def test_a_terminal_of_a_ci_job_is_asked_nothing(tmp_path: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover
        os.chdir(tmp_path)
        os.execve(sys.executable, [sys.executable, "-m", "harness", "init"], {**os.environ, "CI": "true"})
    assert b"name your agent's protocol" in _until(terminal, b"has all kinds)")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2


def _until(terminal: int, words: bytes) -> bytes:
    """What the program shows up to these words and the mark that ends a question."""
    told, deadline = b"", time.monotonic() + 60
    while words not in told or not told.rstrip().endswith((b":", b"?", b"]", b"none")):
        assert time.monotonic() < deadline, told
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                told += os.read(terminal, 4096)
            except OSError:  # the program has ended
                break
    return told


def test_a_pack_too_small_for_any_limit_is_refused(harness_virtual: Command, tmp_path: Path) -> None:
    (tmp_path / "two-words.yaml").write_text(PACK, encoding="utf-8")
    done = harness_virtual("init", "mine", "--kind", "raw-pcm", "--pack", "two-words.yaml", "--ci", "none")
    assert done.code == 2
    assert re.search(r"--pack two-words: no run of it can pass .*at least \d+\); name a larger pack", done.err)
    assert not (tmp_path / "mine").exists()


@pytest.mark.alone
@pytest.mark.long
@pytest.mark.models
def test_the_jobs_run_in_a_clean_folder(tmp_path: Path) -> None:
    """The very lines of both jobs, but for the installation: red with the bot as it is, and green after its one line."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    environment = {**os.environ, "GITHUB_STEP_SUMMARY": str(tmp_path / "job.md"), "AGENT": "echo_bot.toml"}

    def bash(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-e", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600, check=False
        )

    done = bash(".venv/bin/harness init --kind demo --pack heart-mini --install .")
    assert done.returncode == 0, done.stderr
    gate = bash(step_named("Gate", tmp_path)["run"])
    if "The run is invalid" in gate.stdout:
        pytest.skip("others had this machine's processor")
    assert gate.returncode == 1, gate.stdout + gate.stderr
    assert "ttfa_ms.p50" in (tmp_path / "job.md").read_text(encoding="utf-8")
    assert "<testsuites>" in (tmp_path / "gate.xml").read_text(encoding="utf-8")
    assert (tmp_path / "gate-run" / "report.html").exists()
    (tmp_path / "gate-run").rename(tmp_path / "of-github")
    assert bash("sed -i 's/^WAIT_MS = .*/WAIT_MS = 1_200/' echo_bot.py").returncode == 0
    lab = bash(job(tmp_path / GITLAB)["script"][-1])
    assert lab.returncode in (0, *job(tmp_path / GITLAB)["allow_failure"]["exit_codes"]), lab.stdout + lab.stderr
    assert lab.returncode == 0 or "The run is invalid" in lab.stdout


def test_a_harness_from_a_folder_writes_the_job_with_an_address_to_fill_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from harness.cli import _run
    from harness.init import install_address

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(install_address, "recorded_source", lambda: {"url": tmp_path.as_uri(), "dir_info": {}})
    asked = ["init", "--kind", "raw-pcm", "--url", "ws://localhost:8080/", "--pack", "heart-mini"]
    assert _run(asked) == 0
    printed = capsys.readouterr().out
    assert all(TO_FILL_IN in (tmp_path / name).read_text(encoding="utf-8") and name in printed for name in (GITHUB, GITLAB))
    assert f"pip install {TO_FILL_IN}" in step_named("Install", tmp_path)["run"]
    assert f".venv/bin/pip install {TO_FILL_IN}" in job(Path(GITLAB))["script"]
    assert _run([*asked, "--name", "other", "--install", "there.whl", "--ci", "none", "--json", "elsewhere"]) == 0
    assert json.loads(capsys.readouterr().out)["to_fill_in"] == []


def test_ci_installs_the_harness_alone_beside_a_bot(monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.init import install_address

    wheel = {"url": "https://host.example/h.whl", "archive_info": {}}
    monkeypatch.setattr(install_address, "recorded_source", lambda: wheel)
    assert install_address.install_address() == "heart-voice-harness @ https://host.example/h.whl"
    assert install_address.install_address("local") == "heart-voice-harness[local] @ https://host.example/h.whl"
