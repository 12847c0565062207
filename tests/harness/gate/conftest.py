"""A run of an older version on disk, and one that others disturbed."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.experiment import Experiment
from harness.figures.validity import with_validity
from harness.run.plan import make_plan, new_manifest
from harness.store.run_store import RunStore
from harness.store.session import SessionKey
from harness.timing.figures import TurnTiming
from harness.timing.others_share import Contention
from tests.harness.conftest import peer
from tests.harness.store.conftest import old_run

__all__ = ["disturbed_run", "old_run"]

AGENT = "raw-pcm-echo"
QUIET = Contention(others_cores=0.0, waited_cores=0.0, stolen_cores=0.0, at_most_ms={"ttfa": 0.0})
TURN = TurnTiming(method="test", spoken_end_ms=0, ttfa_ms=2_500.0, contention=QUIET)


def others_could_have(owed_ms: float, turn: TurnTiming) -> TurnTiming:
    """The turn, of whose time others could have caused that much."""
    return replace(turn, contention=replace(QUIET, at_most_ms={"ttfa": owed_ms}))


@pytest.fixture
def disturbed_run(tmp_path: Path) -> RunStore:
    """A run of a whole pack, each call answered after 2.5 s; others could have delayed all but the last ten."""
    plan = make_plan(Experiment(agents=(str(peer(AGENT)),), pack="heart-open", judges=("none",)))
    store = RunStore.create(tmp_path / "run", new_manifest(plan), plan.contexts)
    for k, context in enumerate(plan.contexts):
        key = SessionKey(context.id, "h" * 64, AGENT, "p" * 64, "seeded", "clean", 0)
        turn = others_could_have(700.0, TURN) if k < len(plan.contexts) - 10 else TURN
        store.commit_session(key, partial=store.partial_folder(key), started_ns=1, timing=turn)
    store.set_manifest(with_validity(store))
    assert store.manifest.invalid
    return store
