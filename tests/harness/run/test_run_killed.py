"""kill -9 at any moment of a run that also judges, then --resume: nothing lost, played or asked twice, or left running.

What was asked is counted by the endpoint that was asked, a process of its own that outlives every kill. It takes one question
at a time, so when the next one comes, the answer before it had arrived and must have been kept; only the last one before a kill
may have been on its way.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from harness.judging.validation import red_lines
from harness.store.judgment import Judgment
from harness.store.run_store import RunStore
from harness.verdicts.red_lines import validations_folder
from tests.endpoint import endpoint as serving_endpoint
from tests.harness.conftest import peer
from tests.marked import Mark

MANY = int(os.environ.get("HARNESS_TEST_KILLS", "100"))
SESSIONS = 4
ANSWER_S = 0.02
"""Of the endpoint: the judge's check and its questions take some seconds of a run, so that kills fall into them too."""
FIRST_SPAN_S = 25.0
"""How late the first kill may come; later ones may come at any moment of the longest run seen."""


@dataclass
class Endpoint:
    """The judge and the text agent of these runs, which counts what it is asked."""

    url: str
    log: Path

    def asked(self, run: str) -> list[tuple[str, str]]:
        """(to whom, what) of every question of one run that was answered, in order."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [(line["to"], line["asked"]) for line in lines if line["run"] == run]


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    with serving_endpoint(tmp_path, "--delay-s", ANSWER_S) as url:
        yield Endpoint(url, tmp_path / "asked.jsonl")


@dataclass
class Run:
    """One run, killed and gone on with until it is done."""

    folder: Path
    pack: Path
    endpoint: Endpoint
    mark: Mark = field(default_factory=Mark)
    kept: dict[str, int | None] = field(default_factory=dict)
    on_their_way: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Answers that a kill may have overtaken."""
    asked_before: int = 0
    """Questions answered up to the last kill."""

    def __post_init__(self) -> None:
        base = f"{self.endpoint.url}/{self.folder.name}/v1"
        self.judge = self.folder.with_suffix(".judge.toml")
        self.judge.write_text(
            'id = "counted"\nfamily = "rules"\nversion = "1"\nmodel = "m"\nconcurrency = 1\n' + f'base_url = "{base}"\n'
        )
        self.writer = self.folder.with_suffix(".writer.toml")
        self.writer.write_text(f'name = "writer"\nkind = "text"\nmodel = "m"\nbase_url = "{base}"\n')

    def go_on(self) -> "subprocess.Popen[str]":
        line = ["--out", str(self.folder), "--judge", str(self.judge), "--json"]
        if (self.folder / "run.sqlite").exists():
            line.append("--resume")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)  # killed before there was a run: what is there is no run yet
            line += ["--agent", str(peer("raw-pcm-echo")), "--agent", str(self.writer), "--pack", str(self.pack)]
            line += ["--concurrency", "2"]
        return subprocess.Popen(
            [sys.executable, "-m", "harness", "run", *line],
            cwd=self.pack.parent, env={**os.environ, **self.mark.environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip

    def kill(self, running: "subprocess.Popen[str]") -> None:
        """End it as the kernel would, and hold that nothing finished was touched and nothing runs on."""
        os.kill(running.pid, signal.SIGKILL)
        running.communicate(timeout=60)
        assert not self.left_running(), "a process outlived the run"
        asked = self.endpoint.asked(self.folder.name)
        # The judge takes one question at a time; two text sessions may be written at once.
        here = asked[self.asked_before :]
        self.on_their_way.update(here[-1:] if here and here[-1][0] == "judge" else here[-2:])
        self.asked_before = len(asked)
        if (self.folder / "run.sqlite").exists():
            self.check_kept()

    def check_kept(self) -> None:
        with closing(RunStore.open(self.folder)) as store:
            finished = {s.id: s.started_ns for s in store.sessions() if s.status == "finished"}
        assert {name: finished.get(name) for name in self.kept} == self.kept, "a finished session was lost or played again"
        self.kept = finished

    def left_running(self, timeout_s: float = 5) -> list[str]:
        """Processes that carry the run's mark, detached ones too, once they had time to end."""
        return self.mark.left_after(timeout_s)

    def check_whole(self) -> None:
        """Every session and every verdict is there, and nobody was asked twice for what had arrived."""
        self.check_kept()
        assert len(self.kept) == SESSIONS
        assert not self.left_running()
        was = [row.model_dump() for row in _judgments(self.folder)]
        asked = Counter(self.endpoint.asked(self.folder.name))
        of_agent = Counter({question: n for question, n in asked.items() if question[0] == "agent"})
        assert not of_agent - Counter(dict.fromkeys(of_agent, 1)) - self.on_their_way, "a text agent was asked again"

        # The same run judged once more with nothing kept: each question exactly as often as it should be put.
        before = len(self.endpoint.asked(self.folder.name))
        anew = shutil.copytree(self.folder, self.folder.with_suffix(".anew"))
        for file in (*anew.glob("verdicts.sqlite*"), *(validations_folder() / red_lines.FOLDER).glob("*.json")):
            file.unlink()
        seed = RunStore.open(anew).manifest.seed
        done = subprocess.run(
            [sys.executable, "-m", "harness", "judge", str(anew), "--judge", str(self.judge), "--seed", str(seed)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        should = Counter(self.endpoint.asked(self.folder.name)[before:])
        assert [row.model_dump() for row in _judgments(anew)] == was, "a verdict was lost or added"
        of_judge = Counter({question: n for question, n in asked.items() if question[0] == "judge"})
        assert should <= of_judge, "a question was never put"
        twice = dict(of_judge - should - self.on_their_way)
        assert not twice, f"{len(twice)} questions were put again whose answers had arrived"


def _judgments(folder: Path) -> list[Judgment]:
    with closing(RunStore.open(folder)) as store:
        return store.judgments()


@pytest.mark.models
@pytest.mark.parametrize("kills", [1, pytest.param(MANY, marks=pytest.mark.long)])
def test_kills_at_random_instants_lose_nothing_and_repeat_nothing(
    endpoint: Endpoint, pack: Path, tmp_path: Path, kills: int
) -> None:
    seed = int(os.environ.get("HARNESS_TEST_SEED", random.randrange(2**32)))
    print(f"HARNESS_TEST_SEED={seed}", flush=True)
    instants, done, runs, span_s = random.Random(seed), 0, 0, FIRST_SPAN_S
    while done < kills:
        run, spent_s = Run(tmp_path / f"run-{runs}", pack, endpoint), 0.0
        runs += 1
        while True:
            running, began = run.go_on(), time.monotonic()
            try:
                out, err = running.communicate(timeout=instants.uniform(0.1, span_s) if done < kills else 300)
            except subprocess.TimeoutExpired:
                assert done < kills, "the run does not end"
                run.kill(running)
                done += 1
                print(f"kill {done} after {time.monotonic() - began:.1f} s, {len(run.kept)} finished", flush=True)
                continue
            spent_s = time.monotonic() - began
            assert running.returncode == 0, err
            assert json.loads(out)["failures"] == []
            break
        span_s = max(span_s, spent_s)
        run.check_whole()
    print(f"{done} kills in {runs} runs", flush=True)
