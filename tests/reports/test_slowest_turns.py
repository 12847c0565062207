"""Silence on the page: a turn without an answer ranks behind every answered one and is over any budget."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.figures.summarise import summarise
from harness.reports.assemble import assemble
from harness.reports.payload import CUT, DISCARDED, FAILED, OVER, SILENT, SLOWEST, index
from harness.reports.several_runs import together
from harness.store.manifest import AgentEntry, RunManifest
from harness.store.run_store import RunStore
from harness.store.session import SessionKey
from harness.timing.figures import TurnTiming
from tests.reports.conftest import SECOND_NS, context, timing

QUICK = timing(400.0)
SILENCE = replace(QUICK, ttfa_ms=None, first_sound_ms=None, first_speech_ms=None, no_reply=True, utterances=(), waterfall=None)
EARLY = replace(QUICK, ttfa_ms=None, signed_ms=-320.0, cut_in=True, waterfall=None)
CASES: dict[str, tuple[TurnTiming | None, str | None, int, int | None]] = {
    "answered": (QUICK, None, 0, 400),
    "late": (timing(900.0), None, OVER, 900),
    "silent": (SILENCE, None, OVER | SILENT | SLOWEST, None),
    "early": (EARLY, None, OVER | CUT | SLOWEST, None),
    "lost-by-its-agent": (None, "agent_died", OVER | FAILED | SLOWEST, None),
    "lost-by-the-harness": (None, "caller_died", FAILED, None),
    "discarded": (replace(timing(900.0), discarded="echo"), None, DISCARDED, None),
    "silent-and-discarded": (replace(SILENCE, discarded="echo"), None, SILENT | DISCARDED, None),
}
"""What a session came to → its flags, and the latency that the board shows."""


def run(folder: Path, cases: dict[str, tuple[TurnTiming | None, str | None]], **manifest: Any) -> RunStore:
    """A run of one conversation a case; a list of cases under one key is its repeats."""
    items = [context(n).model_copy(update={"id": name}) for n, name in enumerate(cases)]
    facts: dict[str, Any] = {"kind": "cascade", "repeats": 1} | manifest
    store = RunStore.create(
        folder,
        RunManifest(
            created="2030-01-01T00:00:00Z", harness_version="0", pack="test", pack_source="test", pack_hash="0" * 64,
            context_ids=[c.id for c in items], mode="seeded", conditions=["clean"], repeats=facts["repeats"], seed=1,
            agents=[AgentEntry(name="mine", kind=facts["kind"], profile_hash="h", profile_text="")],
            calibration=facts.get("calibration"), machine=facts.get("machine", {}),
        ),
        items,
    )  # fmt: skip
    for item in items:
        found, failure = cases[item.id]
        key = SessionKey(item.id, "c", "mine", "h", "seeded", "clean", 0)
        store.commit_session(
            key, partial=store.partial_folder(key), failure_kind=failure, timing=found, started_ns=SECOND_NS
        )  # fmt: skip
    return store


def entries(store: RunStore) -> dict[str, dict[str, Any]]:
    view = assemble(together([(store, summarise(store))]), Path("unused"), audio=False)
    return {entry["id"]: entry for entry in index(view)}


@pytest.fixture
def board(tmp_path: Path) -> dict[str, dict[str, Any]]:
    return entries(run(tmp_path / "run", {name: (found, failure) for name, (found, failure, *_) in CASES.items()}))


@pytest.mark.parametrize("name", CASES)
def test_what_gave_no_answer_is_over_budget_and_what_is_unknown_is_not(board: dict[str, dict[str, Any]], name: str) -> None:
    *_, flags, shown_ms = CASES[name]
    assert board[name]["flags"] == [flags]
    assert board[name]["ms"] == [shown_ms]
    assert board[name]["slowest_ms"] == [shown_ms]


def test_a_text_endpoint_that_failed_keeps_nobody_waiting(tmp_path: Path) -> None:
    board = entries(run(tmp_path / "run", {"failed": (None, "endpoint_failed")}, kind="text"))
    assert board["failed"]["flags"] == [FAILED]
