"""The chat endpoint of known behaviour, `tests/peers/endpoint.py`, in a process of its own, and runs for it to judge."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from harness.experiment import Experiment
from harness.judging.validation.labelled import gold_pairs
from harness.run.plan import make_plan, new_manifest
from harness.store.run_store import RunStore

PEERS = Path(__file__).parent / "peers"


@contextmanager
def endpoint(folder: Path, *options: object) -> Iterator[str]:
    """Its address. It logs what it is asked into the folder's `asked.jsonl`, and of the gold pairs it prefers the better."""
    log, better = folder / "asked.jsonl", folder / "better.json"
    log.touch()
    better.write_text(json.dumps([pair.better for pair in gold_pairs()]))
    line = [sys.executable, str(PEERS / "endpoint.py"), str(log), "--better", str(better), *map(str, options)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        try:
            yield serving.stdout.readline().strip()
        finally:
            serving.kill()


def judge_by_rule(profile: Path, base_url: str, more: str = "") -> Path:
    """The profile of a judge at the endpoint."""
    profile.write_text(f'id = "by-rule"\nfamily = "rules"\nversion = "1"\nmodel = "m"\nbase_url = "{base_url}"\n{more}')
    return profile


def writer(folder: Path, base_url: str) -> Path:
    """The profile of a text agent at the endpoint."""
    (folder / "writer.toml").write_text(f'name = "writer"\nkind = "text"\nmodel = "m"\nbase_url = "{base_url}"\n')
    return folder / "writer.toml"


def unjudged(folder: Path, limit: int) -> Path:
    """A run of two agents, two repeats of each context, whose replies are heard and not judged."""
    agents = tuple(str(PEERS / f"{name}.toml") for name in ("raw-pcm-echo", "pipecat-echo"))
    plan = make_plan(Experiment(agents=agents, limit=limit, repeats=2))
    with closing(RunStore.create(folder, new_manifest(plan), plan.contexts)) as store:
        for key in plan.session_keys():
            session = store.commit_session(key, partial=store.partial_folder(key), started_ns=1)
            store.set_heard(session.id, f"{key.agent} has {'more ' * key.repeat}words for {key.context_id}", ())
    return folder


def rows(run: Path) -> list[dict[str, Any]]:
    """The judgments of a run."""
    with closing(RunStore.open(run)) as store:
        return [row.model_dump() for row in store.judgments()]


def questions(folder: Path, of: str) -> Counter[str]:
    """How often each question was answered under the name `of`."""
    lines = [json.loads(line) for line in (folder / "asked.jsonl").read_text().splitlines()]
    return Counter(line["asked"] for line in lines if line["run"] == of)
