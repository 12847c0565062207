"""Functions called in the Python that has the speech models: real processes of this test's own interpreter."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import psutil
import pytest

from harness.agents.process import AgentFailed, AgentProcess
from harness.agents.profile import parse_profile
from harness.audio.speech import JUST_THE_VOICE
from harness.doctor import installed
from harness.doctor.result import Finding
from harness.errors import UserError
from harness.installation import missing_modules
from harness.local_programs import NAMED_BY, are_here, call, local_python
from harness.local_programs.interpreter import launch_environment
from harness.models import resolve
from harness.store.manifest import package_versions
from harness.voices.rendering import Hibari, RenderJob, render_missing, rendered


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAMED_BY, sys.executable)


def test_a_function_runs_in_one_other_process_and_its_result_comes_back() -> None:
    first, second = (call(os.getpid, why="a test", modules=("numpy",)) for _ in range(2))
    assert first == second != os.getpid()
    assert not are_here(("numpy",))


def test_where_the_modules_are_here_it_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAMED_BY)
    assert call(os.getpid, why="a test", modules=("numpy",)) == os.getpid()
    assert local_python("a test", modules=("numpy",)) == sys.executable
    assert missing_modules(("numpy", "no_such_module")) == ("no_such_module",)


def test_errors_come_back_as_they_are() -> None:
    with pytest.raises(ValueError, match="invalid literal") as raised:
        call(int, "x", why="a test", modules=("numpy",))
    assert "Traceback" in raised.value.__notes__[0]
    with pytest.raises(UserError, match="no-such-weight"):
        call(resolve, "no-such-weight", why="a test", modules=("numpy",))


def test_a_turn_rendered_there_has_the_samples_of_one_rendered_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [RenderJob(text, None, Hibari(), JUST_THE_VOICE) for text in ("It is tomorrow.", "I am tired.")]
    steps: list[int] = []
    render_missing(jobs, tmp_path / "there", lambda: steps.append(1))
    there = [rendered(job, tmp_path / "there") for job in jobs]
    monkeypatch.delenv(NAMED_BY)
    here = [rendered(job, tmp_path / "here") for job in jobs]
    assert len(steps) == len(list((tmp_path / "there").iterdir())) == 2
    assert all(np.array_equal(a.samples, b.samples) for a, b in zip(there, here, strict=True))


def test_a_process_that_is_killed_is_one_sentence_and_the_next_call_has_a_new_one() -> None:
    before = call(os.getpid, why="a test", modules=("numpy",))
    with pytest.raises(UserError, match=r"ended by itself \(exit code -9"):
        call(os.kill, before, signal.SIGKILL, why="a test", modules=("numpy",))
    assert call(os.getpid, why="a test", modules=("numpy",)) != before


def test_it_ends_with_the_process_that_called_it_in_the_midst_of_its_work() -> None:
    program = (
        "import os, time; from harness.local_programs import call\n"
        "print(call(os.getpid, why='a test', modules=('numpy',)), flush=True)\n"
        "call(time.sleep, 60, why='a test', modules=('numpy',))\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    worker = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.communicate()
    worker.wait(timeout=5)


def test_only_the_running_code_of_this_environment_is_on_its_path(tmp_path: Path) -> None:
    other = tmp_path / "python"
    other.symlink_to(sys.executable)
    (folder,) = launch_environment(str(other))["PYTHONPATH"].split(os.pathsep)
    assert {entry.name.partition("-")[0] for entry in Path(folder).iterdir()} <= {"harness", "heart_voice_harness"}
    assert (Path(folder) / "harness").resolve() == Path(sys.modules["harness"].__file__ or "").parent.resolve()
    assert NAMED_BY not in launch_environment(str(other))


def test_a_python_that_cannot_do_it_is_named_with_what_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=rf"{NAMED_BY}: .* lacks no_such_module of the extra 'local'"):
        local_python("a test", modules=("no_such_module",))
    monkeypatch.setenv(NAMED_BY, str(tmp_path / "none"))
    with pytest.raises(UserError, match=f"{NAMED_BY}: .*none does not run as a Python"):
        local_python("a test")


def test_without_any_and_without_a_network_the_way_out_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAMED_BY)
    monkeypatch.setenv("HEART_HARNESS_OFFLINE", "1")
    with pytest.raises(UserError, match=rf"hearing needs .*{NAMED_BY}.*pip install") as raised:
        local_python("hearing", modules=("no_such_module",))
    assert "\n" not in str(raised.value)


def test_versions_of_the_models_are_those_of_the_python_that_runs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    there = package_versions()
    assert there["pipecat-ai"] == version("pipecat-ai")
    monkeypatch.delenv(NAMED_BY)
    assert package_versions() == there
    monkeypatch.setenv(NAMED_BY, "/no/such/python")
    assert set(there) - set(package_versions()) >= {"pipecat-ai", "hibari-tts", "onnxruntime"}


def test_the_doctor_says_which_python_runs_the_models(monkeypatch: pytest.MonkeyPatch) -> None:
    def said() -> Finding:
        return next(one for one in installed.versions() if one.part == "speech models")

    assert (said().state, NAMED_BY in said().seen) == ("fine", True)
    monkeypatch.setenv(NAMED_BY, "/no/such/python")
    assert said().state == "broken"
    monkeypatch.delenv(NAMED_BY)
    assert said().seen == f"run by this Python ({sys.executable})"


PROFILE = 'kind = "cascade"\n[process]\npython = "bin/python"\n'


async def test_a_cascade_is_run_by_the_python_that_its_profile_names(tmp_path: Path) -> None:
    profile = parse_profile(PROFILE, tmp_path / "mine.toml")
    assert profile.python == str(tmp_path / "bin" / "python")
    with pytest.raises(AgentFailed, match=r"process\.python: .*bin/python does not run as a Python"):
        await AgentProcess(profile, {}, tmp_path / "log").start()


async def test_a_users_own_bot_is_run_by_it_too(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text(f'#!/bin/sh\necho run by mine\nexec {sys.executable} "$@"\n')
    (tmp_path / "bin" / "python").chmod(0o755)
    said = json.dumps({"event": "ready", "url": "ws://127.0.0.1:{port}"})
    program = f"import time; print('{said}', flush=True); time.sleep(60)"
    text = f'kind = "raw-pcm"\n[process]\npython = "bin/python"\ncommand = ["{{python}}", "-c", {json.dumps(program)}]\n'
    agent = AgentProcess(parse_profile(text, tmp_path / "mine.toml"), {}, tmp_path / "log")
    began = time.monotonic()
    await agent.start()
    await agent.stop(at_once=True)
    assert time.monotonic() - began < 30
    assert "run by mine" in (tmp_path / "log").read_text()


def test_profiles_of_an_older_harness_have_the_hash_that_they_had(tmp_path: Path) -> None:
    text = 'kind = "raw-pcm"\n[process]\ncommand = ["{python}", "bot.py"]\n'
    without = parse_profile(text, tmp_path / "a.toml")
    assert "python" not in without.model_dump(mode="json")["process"]
    assert parse_profile(text + 'python = "p/python"\n', tmp_path / "a.toml").hash != without.hash
