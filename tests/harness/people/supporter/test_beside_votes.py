"""People who answer after a run was voted on: the agents stay on people's axis, and people join it with their first votes."""

from pathlib import Path

import numpy as np
import pytest

from harness.figures.rank import people_or_why
from harness.figures.summarise import summarise
from harness.store.judgment import Judgment
from harness.store.manifest import AgentEntry
from harness.store.run_store import RunStore
from harness.store.selection import HEARD, Selection
from harness.store.session import SessionKey
from tests.harness.judging.conftest import played as played


def votes(store: RunStore, one: str, other: str, raters: int = 3) -> list[Judgment]:
    rng = np.random.default_rng(len(one))
    return [
        Judgment(
            context=c.id, subset=c.subset, system_a=one, system_b=other, source="human", judge=f"votes/r{k}",
            winner="a" if rng.random() < 0.7 else "b", presentation=HEARD, condition="clean", draw_rate=1.0,
        )
        for c in store.contexts() for k in range(raters)
    ]  # fmt: skip


def answered(store: RunStore) -> None:
    """People's replies to each conversation, said and heard; only the takes were not recorded."""
    entry = AgentEntry(name="people", kind="person", profile_hash="q" * 64, profile_text="", runs_here=False)
    store.set_manifest(store.manifest.model_copy(update={"agents": [*store.manifest.agents, entry]}))
    for context in store.contexts():
        key = SessionKey(context.id, "h" * 64, "people", "q" * 64, "seeded", "clean", 0)
        session = store.commit_session(key, partial=store.partial_folder(key))
        store.set_heard(session.id, f"and then {context.id}", ())


@pytest.fixture
def voted(played: Path) -> RunStore:
    store = RunStore.open(played)
    for pair in (("flat", "kind"), ("kind", "ref:good"), ("flat", "ref:good")):
        with store.lock():
            store.replace_judgments(set(), votes(store, *pair), HEARD, "clean")
    return store


def test_new_people_do_not_take_the_axis_away(voted: RunStore) -> None:
    inside = frozenset(c.id for c in voted.contexts())
    before, _ = people_or_why(Selection(voted), "clean", inside)
    assert before is not None
    answered(voted)
    after, refused = people_or_why(Selection(voted), "clean", inside)
    assert refused == ""
    assert after is not None
    assert {r.system: r.elo for r in after.board.systems} == pytest.approx({r.system: r.elo for r in before.board.systems})
    assert after.pairs == before.pairs
    assert any("Nobody has voted yet on pairs with people" in note for note in after.board.warnings)
    assert any("pairs with people" in c.text for c in summarise(voted).cautions)
    voted.replace_judgments(set(), votes(voted, "kind", "people"), HEARD, "clean")
    joined, _ = people_or_why(Selection(voted), "clean", inside)
    assert joined is not None
    assert "people" in {r.system for r in joined.board.systems}
