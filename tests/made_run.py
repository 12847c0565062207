"""Runs made by hand: conversations, a manifest, and sessions with figures and perhaps without sound."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.recording.files import save
from harness.recording.record import Recording
from harness.scenarios.context import Context
from harness.store.manifest import AgentEntry, RunManifest
from harness.store.run_store import RunStore
from harness.store.session import Session, SessionKey


def conversation(
    name: str = "c1", *turns: str, references: Mapping[str, str] | None = None, author: str = "authored", **more: Any
) -> Context:
    """A conversation whose turns are the seeker's and the supporter's, one after the other."""
    given = {
        "id": name, "subset": "regular", "emotion": "sadness", "problem": "work", "source": "test", "licence": "CC0",
        "turns": [{"role": ("seeker", "supporter")[k % 2], "text": text} for k, text in enumerate(turns or ("I don't know.",))],
        "references": [{"id": one, "author": author, "text": text} for one, text in (references or {}).items()],
    }  # fmt: skip
    return Context.model_validate(given | more)


def agent(name: str, kind: str = "cascade", **more: Any) -> AgentEntry:
    """An agent of a run."""
    return AgentEntry(name=name, **{"kind": kind, "profile_hash": "p" * 64, "profile_text": "", **more})


def made_manifest(contexts: Sequence[Context], *agents: str, **more: Any) -> RunManifest:
    """The manifest of a run of these agents."""
    given = {
        "created": "2026-01-01T00:00:00+00:00", "harness_version": "0", "pack": "p", "pack_source": "p", "pack_hash": "x",
        "context_ids": [c.id for c in contexts], "agents": [agent(name) for name in agents or ("a",)], "mode": "seeded",
        "conditions": ["clean"], "repeats": 1, "seed": 1,
    }  # fmt: skip
    return RunManifest.model_validate(given | more)


def made_run(folder: Path, contexts: Sequence[Context] = (conversation(),), *agents: str, **more: Any) -> RunStore:
    """A run in which nothing was played yet. `more`: of its manifest."""
    return RunStore.create(folder, made_manifest(contexts, *agents, **more), contexts)


def play(
    store: RunStore, context: str = "c1", agent: str = "a", condition: str = "clean", repeat: int = 0, *,
    heard: str | None = None, recording: Recording | None = None, **session: Any,
) -> Session:  # fmt: skip
    """Commit one session. `heard`: its transcript; `session`: as `commit_session` takes it."""
    key = SessionKey(context, "h" * 64, agent, "p" * 64, store.manifest.mode, condition, repeat)
    partial = store.partial_folder(key)
    if recording is not None:
        save(recording, partial)
    made = store.commit_session(key, partial=partial, **{"started_ns": 1, **session})
    if heard is not None:
        store.set_heard(made.id, heard, ())
    return store.session(made.id)
