"""The plugin as its users meet it: pytest in a folder of its own, on an agent whose every delay is known."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from harness.store.run_store import RunStore
from tests.harness.conftest import PACK, VIRTUAL_TIME, peer

TESTS = """
import pytest

def test_it_hears_a_reply(voice_call):
    assert voice_call.reply is not None
    assert len(voice_call.turns) == 1
    assert voice_call.sound.exists()

@pytest.mark.contexts("first")
@pytest.mark.budget(ttfa_ms=5000, cut_ins=0)
def test_roomy(voice_call):
    assert voice_call.context == "first"

@pytest.mark.contexts("second")
@pytest.mark.budget(ttfa_ms=10)
def test_too_strict(voice_call):
    pass

def test_no_agent_at_all():
    pass
"""

OPTIONS = ("-p", "harness.pytest_plugin", "-p", "no:cacheprovider", "-rA", "-W", "ignore")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two-words.yaml").write_text(PACK, encoding="utf-8")
    text = peer("scripted").read_text(encoding="utf-8")
    (tmp_path / "my.toml").write_text(text, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n", encoding="utf-8")
    return tmp_path


def run(folder: Path, *arguments: str, clock: Mapping[str, str] = VIRTUAL_TIME) -> tuple[int, str]:
    """How pytest ended, and what it said. `clock`: empty for calls that take their real time."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS, *arguments],
        cwd=folder,
        env={**os.environ, **clock},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


Here = Callable[..., tuple[int, str]]


@pytest.fixture
def here(folder: Path, pytester: pytest.Pytester) -> Here:
    """Pytest in this process, for what plays nothing: a process of its own would mostly import."""

    def call(*arguments: str) -> tuple[int, str]:
        os.chdir(folder)
        done = pytester.runpytest_inprocess("--rootdir", str(folder), *OPTIONS, *arguments)
        return int(done.ret), f"{done.stdout}\n{done.stderr}"

    return call


def test_without_an_agent_it_stays_out_of_the_way(here: Here, folder: Path) -> None:
    (folder / "test_mine.py").write_text(TESTS, encoding="utf-8")
    code, said = here()
    assert code == 0, said
    assert "1 passed, 3 skipped" in said
    assert "name a voice agent with --agent" in said


def test_the_tests_of_the_page_are_cases(here: Here, folder: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "pytest.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    (folder / "test_page.py").write_text(shown, encoding="utf-8")
    code, said = here("--agent", "my.toml", "--agent-limit", "2", "--collect-only", "-q")
    assert code == 0, said
    assert "test_page.py::test_it_waits_for_the_end_and_asks[my-mini-night-shift-exam]" in said
    assert said.count("test_page.py::test_nobody_is_left_in_silence[") == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--agent", "polaris-lik"], "unknown agent"),
        (["--agent", "my.toml", "--agent-pack", "nothing"], "nothing"),
        (["--agent", "my.toml", "--agent-budgets", "none.yaml"], "cannot be read"),
        (["--agent", "my.toml", "--budget-ttfa", "0"], "--budget-ttfa 0: must be at least 1"),
        (["--agent", "my.toml", "--agent-concurrency", "0"], "concurrency"),
    ],
)
def test_what_is_wrong_is_one_line_before_anything_is_played(here: Here, folder: Path, arguments: list[str], says: str) -> None:
    code, said = here(*arguments)
    assert code == 4, said
    assert says in said
    assert "Traceback" not in said
    assert not (folder / "voice-runs").exists()


def test_no_test_passes_on_an_invalid_run_and_no_agent_is_blamed_for_it(
    here: Here, folder: Path, old_run: Callable[[str], Path]
) -> None:
    kept = old_run("one-condition")
    store = RunStore.open(kept)
    store.set_manifest(store.manifest.model_copy(update={"invalid": ["c1 · prompt: its event loop stood still for 26.5 ms"]}))
    store.close()
    (kept / "report.html").write_text("", encoding="utf-8")
    (folder / "my.toml").rename(folder / "prompt.toml")
    budgets = "schema: 1\nlimits:\n  - {figure: ttfa_ms.p50, at_most: 15000}\n"
    (folder / "budgets.yaml").write_text(budgets, encoding="utf-8")
    asked = ("--agent", "prompt.toml", "--agent-pack", "two-words.yaml", "--agent-out", str(kept))

    code, said = here(*asked, "--agent-budgets", "budgets.yaml")
    assert code == 1, said
    assert "2 failed, 1 skipped" in said, "a call fails, and a limit cannot be told"
    assert "INVALID RUN: The harness was at fault, not the agent" in said
    assert "its event loop stood still for 26.5 ms" in said
    assert "harness doctor" in said
    assert "cannot tell: The run is invalid through no fault of the agent" in said

    (folder / "test_mine.py").write_text("def test_it(voice_call):\n    pass\n", encoding="utf-8")
    code, said = here(*asked)
    assert code == 1, said
    assert "2 errors" in said, "the fixture cannot give a call, which is an error of the test and no failed assertion"
    assert "passed" not in said.splitlines()[-1]


def test_a_limit_and_a_call_that_others_alone_leave_open_are_skipped_with_their_programs(
    here: Here, folder: Path, busy_run: RunStore
) -> None:
    busy_run.close()
    (busy_run.folder / "report.html").write_text("", encoding="utf-8")
    limits = "".join(
        f"  - {{figure: {limit}}}\n"
        for limit in (
            "ttfa_ms.p50, at_most: 1500",
            "ttfa_ms.p50, at_least: 1000",
            "ttfa_ms.p50, at_most: 2000, subset: regular",
        )
    )
    (folder / "budgets.yaml").write_text(f"schema: 1\nlimits:\n{limits}", encoding="utf-8")
    asked = ("--agent", str(peer("raw-pcm-echo")), "--agent-pack", "heart-open", "--agent-out", str(busy_run.folder))
    code, said = here(*asked, "--agent-budgets", "budgets.yaml", "-k", "ttfa_ms")
    assert code == 1, said
    assert "1 failed, 1 passed, 1 skipped" in said, said
    assert "cannot tell: This machine cannot tell: 700 ms others' (chromium" in said

    code, said = here(*asked, "--budget-ttfa", "2000")
    assert code == 1, said
    assert "10 failed, 62 skipped" in said, "quiet calls are over the budget; of the others this machine cannot tell"
    assert "ttfa_ms 2500 is over the budget of 2000" in said
    assert "turn 1: ttfa_ms: this machine cannot tell: 700 ms others' (chromium .4 cores, python3 .2); budget: 2000" in said


OWN = """
import pytest

def must_ask(call):
    assert "xyzzy" in call.reply, "no magic word"

def test_own_assertion(voice_call):
    must_ask(voice_call)

def test_within(voice_call):
    voice_call.assert_within(ttfa_ms=10)

@pytest.mark.budget(ttfa_ms=10)
def test_marked(voice_call):
    pass

def test_of_nothing():
    assert False, "a failure without a call"
"""
PLUGINS_CODE = ("harness/pytest_plugin", "def over(", "def assert_within", "shared.call(", "outcome = yield", "pytest.fail(")


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "two workers"])
def test_a_failed_assertion_prints_figures_stages_and_sound_and_no_code_of_the_plugin(
    here: Here, folder: Path, old_run: Callable[[str], Path], workers: tuple[str, ...]
) -> None:
    kept = old_run("one-condition")
    store = RunStore.open(kept)
    store.set_manifest(store.manifest.model_copy(update={"invalid": []}))
    (first,) = (s for s in store.sessions() if (s.key.agent, s.key.context_id) == ("prompt", "first"))
    store.close()
    (kept / "report.html").write_text("", encoding="utf-8")
    (folder / "my.toml").rename(folder / "prompt.toml")
    (folder / "test_mine.py").write_text(OWN, encoding="utf-8")
    asked = ("--agent", "prompt.toml", "--agent-pack", "two-words.yaml", "--agent-out", str(kept), "-k", "first or nothing")
    code, said = run(folder, *asked, *workers) if workers else here(*asked)
    assert code == 1, said
    assert "4 failed" in said
    assert said.count("\nprompt in first\n") == 3, "the figures of its call beside each failed test that has one"
    turn = first.turn_timings[-1]
    assert turn.waterfall is not None
    stages = ", ".join(f"{stage.name} {stage.duration_ms:.0f}" for stage in turn.waterfall.stages)
    assert said.count(f"turn 1: ttfa_ms {turn.ttfa_ms:.0f}, ") == 3
    assert said.count(f"spent (ms): {stages}") == 3
    sound = kept / "report-audio" / f"{first.id}.flac"
    assert said.count(f"sound: {sound}") == 3
    assert '>       assert "xyzzy" in call.reply, "no magic word"' in said, "the user's own code"
    assert ">       voice_call.assert_within(ttfa_ms=10)" in said
    assert "<call of prompt in first>" in said
    for code_of_plugin in PLUGINS_CODE:
        assert code_of_plugin not in said


@pytest.mark.models
@pytest.mark.long
@pytest.mark.parametrize("at_once", [1, 2])
def test_calls_are_played_at_once_if_asked(folder: Path, at_once: int) -> None:
    (folder / "test_mine.py").write_text("def test_it(voice_call):\n    assert voice_call.reply\n", encoding="utf-8")
    given = ("--agent", "my.toml", "--agent-pack", "two-words.yaml", "--agent-out", "kept", "-n", "2")
    _, said = run(folder, *given, "--agent-concurrency", str(at_once), clock={})
    store = RunStore.open(folder / "kept")
    assert store.manifest.concurrency == at_once, said
    one, other = sorted(s.started_ns for s in store.sessions() if s.started_ns is not None)
    ends = max(s.timing.spoken_end_ms for s in store.sessions() if s.timing is not None)
    store.close()
    # Calls one after the other begin at least the caller's turn apart.
    assert ((other - one) / 1e6 < ends) == (at_once == 2), said


@pytest.mark.models
@pytest.mark.long
def test_two_workers_share_one_run_and_a_failure_tells_all(folder: Path) -> None:
    (folder / "test_mine.py").write_text(TESTS, encoding="utf-8")
    code, said = run(folder, "--agent", "my.toml", "--agent-pack", "two-words.yaml", "-n", "2")
    runs = [path for path in (folder / "voice-runs").iterdir() if path.is_dir()]
    assert len(runs) == 1, said
    assert len(list((runs[0] / "sessions").iterdir())) == 2
    assert code == 1, said
    assert "1 failed, 4 passed" in said
    assert "FAILED test_mine.py::test_too_strict[my-second]" in said
    told = re.search(r"turn 1: ttfa_ms (\d+) is over the budget of 10", said)
    assert told is not None, said
    sound = re.search(r"sound: (\S+\.flac)", said)
    assert sound is not None
    assert Path(sound[1]).exists()
    assert Path(sound[1]).is_relative_to(runs[0])


@pytest.mark.alone
@pytest.mark.long
@pytest.mark.models
def test_contexts_are_cases_by_themselves_and_limits_are_told(folder: Path) -> None:
    (folder / "budgets.yaml").write_text("schema: 1\nlimits:\n  - {figure: ttfa_ms.p50, at_most: 1500}\n", encoding="utf-8")
    code, said = run(
        folder, "--agent", "my.toml", "--agent-pack", "two-words.yaml", "--agent-budgets", "budgets.yaml",
        "--budget-ttfa", "3000", "--agent-out", "kept",
    )  # fmt: skip
    # Two conversations cannot tell a median: that is neither a pass nor a failure. Where the machine was too busy for its
    # figures to be quoted, no call passes, and the limit cannot be told either.
    invalid = "INVALID RUN" in said
    assert code == int(invalid), said
    assert ("2 failed, 1 skipped" if invalid else "2 passed, 1 skipped") in said
    assert "cannot tell" in said
    if invalid:
        pytest.skip("this machine cannot pace a call")
    assert (folder / "kept" / "report.html").exists()
    # The same folder again: nothing is played, and another budget is asked of the same calls.
    code, said = run(
        folder, "--agent", "my.toml", "--agent-pack", "two-words.yaml", "--budget-ttfa", "100", "--agent-out", "kept",
        "-k", "first",
    )  # fmt: skip
    assert code == 1, said
    assert "is over the budget of 100" in said
    assert "1 failed" in said
