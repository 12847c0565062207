"""Nights of one agent, invented: runs on disk with the same callers, whose replies come sooner or later."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from harness.store.judgment import JudgeCheck, Judgment
from harness.store.manifest import AgentEntry, RunManifest
from harness.store.run_store import RunStore
from harness.store.session import SessionKey
from harness.timing.figures import Endpointing, InnerPause, TurnTiming
from tests.judged import put
from tests.reports.conftest import SECOND_NS, context, timing


def night(
    folder: Path,
    agents: Mapping[str, float],
    *,
    cut: float = 0.0,
    contexts: int = 12,
    unplayed: int = 0,
    silent: int = 0,
    jitter_ms: float = 0.0,
    kind: str = "cascade",
    check: JudgeCheck | None = None,
    **manifest: Any,
) -> RunStore:
    """A run in which each agent answers after its ms, a little more on every next conversation.

    `cut`: share of inner pauses that are cut; `unplayed`: last conversations that were not played; `silent`: first ones with no
    reply; `jitter_ms`: spread of each turn, another in every folder; `kind`: of the agents; `check`: of a judge who prefers
    most replies to the reference.
    """
    items = [context(n) for n in range(contexts)]
    rng = np.random.default_rng(crc32(folder.name.encode()))
    entries = [AgentEntry(name=a, kind=kind, profile_hash="h", profile_text="") for a in agents]
    facts: dict[str, Any] = {
        "created": "2030-01-01T00:00:00Z", "harness_version": "0", "pack": "test", "pack_source": "test", "pack_hash": "0" * 64,
        "mode": "seeded", "conditions": ["clean"], "repeats": 1, "seed": 1, "machine_id": "m",
    }  # fmt: skip
    store = RunStore.create(
        folder, RunManifest(context_ids=[c.id for c in items], agents=entries, **{**facts, **manifest}), items
    )
    for condition in store.manifest.conditions:
        for n, item in enumerate(items[: contexts - unplayed]):
            for agent, ttfa_ms in agents.items():
                key = SessionKey(item.id, "c", agent, "h", "seeded", condition, 0)
                timed = _turn(
                    ttfa_ms + 7 * n + float(rng.normal(0, jitter_ms)), cut=n < round(cut * contexts), silent=n < silent
                )
                store.commit_session(
                    key,
                    partial=store.partial_folder(key),
                    written_text="I am here.",
                    started_ns=SECOND_NS * (n + 1),
                    timing=timed,
                )
    if check is not None:
        put(store, _verdicts([c.id for c in items], agents, store.manifest.conditions))
        store.add_judge_check(check)
    return store


def _turn(ttfa_ms: float, *, cut: bool, silent: bool) -> TurnTiming:
    pause = InnerPause(1_500.0, 1_900.0, fate="cut" if cut else "kept", marked=True, place=0)
    found = replace(timing(ttfa_ms), endpointing=Endpointing("test", (pause,), dead_air_ms=ttfa_ms))
    return replace(found, ttfa_ms=None, first_sound_ms=None, no_reply=True, utterances=()) if silent else found


def _verdicts(contexts: Sequence[str], agents: Iterable[str], conditions: Sequence[str]) -> list[Judgment]:
    return [
        Judgment(
            context=c, subset="regular", system_a=agent, system_b="ref:careful", source="judge", judge="tester@1",
            winner="a" if (n + k) % 5 else "b", strength=2, presentation="heard_text", condition=condition,
        )
        for condition in conditions for n, c in enumerate(contexts) for k, agent in enumerate(agents)
    ]  # fmt: skip


def nights(root: Path, medians_ms: Sequence[float], agent: str = "polaris-like", **each: Any) -> list[RunStore]:
    """One run a night, from the oldest on."""
    return [
        night(root / f"2030-01-{k + 1:02d}", {agent: ms}, created=f"2030-01-{k + 1:02d}T03:00:00Z", **each)
        for k, ms in enumerate(medians_ms)
    ]
