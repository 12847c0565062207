"""A run of many verdicts on disk, of sessions that were never played: what every door must rate and show alike."""

import json
from collections.abc import Iterator
from contextlib import closing
from itertools import combinations
from pathlib import Path

import numpy as np

from harness.scenarios.context import Context
from harness.store.judgment import AXES, Judgment
from harness.store.manifest import AgentEntry, RunManifest
from harness.store.run_store import RunStore
from harness.store.session import SessionKey
from harness.timing.figures import TurnTiming
from tests.judged import put

JUDGES = 3
CONDITION = "clean"
SAYS_ITS_PEAK = """
import atexit, sys
peak = lambda: next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
atexit.register(lambda: print(peak(), file=sys.stderr))
from harness.cli import main
main()
"""
"""The command line for `python -c`, which ends by writing how much memory it had at most to stderr."""


def verdicts(agents: int, contexts: int, seed: int = 1) -> Iterator[dict[str, object]]:
    """Of three judges on every pair of replies to every conversation, as a file of judgments has them."""
    rng = np.random.default_rng(seed)
    replies = np.linspace(-0.9, 0.9, agents) + rng.normal(0, 0.7, (contexts, agents))
    for c in range(contexts):
        for a, b in combinations(range(agents), 2):
            for judge in range(JUDGES):
                y = replies[c, a] - replies[c, b] + rng.logistic()
                strength = 1 + int(np.searchsorted([0.5, 1.0, 1.8, 3.0], abs(y)))
                winner = "a" if y > 0 else "b"
                yield {
                    "context": f"c{c:04}", "subset": _subset(c), "system_a": f"agent-{a:02}", "system_b": f"agent-{b:02}",
                    "source": "judge", "judge": f"judge-{judge}", "winner": winner, "strength": strength,
                    "shown_first": "a" if rng.random() < 0.5 else "b", "presentation": "heard_text", "condition": CONDITION,
                    "axes": {axis: {"winner": winner, "strength": strength} for axis in AXES},
                    "rationale": f"The reply number {a if y > 0 else b} asks about the evening, and the other does not.",
                }  # fmt: skip


def make(folder: Path, agents: int, contexts: int) -> Path:
    """The run in `folder/run`, and the same rows in `folder/rows.jsonl`; returns the run's folder."""
    rng = np.random.default_rng(2)
    many = [
        Context.model_validate(
            {
                "id": f"c{k:04}",
                "subset": _subset(k),
                "emotion": "sadness",
                "problem": "work",
                "source": "test",
                "licence": "CC0-1.0",
                "turns": [{"role": "seeker", "text": "I do not know what to say to her."}],
                "escalation": "always-10" if _subset(k) == "adversarial" else None,
            }
        )
        for k in range(contexts)
    ]
    names = [f"agent-{k:02}" for k in range(agents)]
    manifest = RunManifest(
        created="2026-01-01T00:00:00+00:00", harness_version="0", pack="p", pack_source="p", pack_hash="x",
        context_ids=[c.id for c in many], mode="seeded", conditions=[CONDITION], repeats=1, seed=1,
        agents=[AgentEntry(name=name, kind="cascade", profile_hash="p" * 64, profile_text="") for name in names],
    )  # fmt: skip
    with closing(RunStore.create(folder / "run", manifest, many)) as store:
        for context in many:
            for name in names:
                key = SessionKey(context.id, "h" * 64, name, "p" * 64, "seeded", CONDITION, 0)
                partial = store.partial_folder(key)
                (partial / "recording.json").write_text("{}")
                ttfa_ms = float(rng.lognormal(6.3, 0.4))
                timing = TurnTiming(method="m", spoken_end_ms=1000.0, ttft_ms=ttfa_ms / 2, ttfa_ms=ttfa_ms)
                text = " ".join(["I", "hear", "you"] * int(rng.integers(3, 12)))
                session = store.commit_session(key, partial=partial, timing=timing, written_text=text, started_ns=1)
                store.set_heard(session.id, text.lower(), [])
        with (folder / "rows.jsonl").open("w", encoding="utf-8") as out:
            for row in verdicts(agents, contexts):
                out.write(json.dumps(row) + "\n")
        rows = (Judgment.model_validate(row) for row in verdicts(agents, contexts))
        put(store, rows)
    return folder / "run"


def _subset(context: int) -> str:
    return "adversarial" if context % 10 == 9 else "regular"
