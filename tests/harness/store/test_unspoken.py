"""Planned turns that were never spoken: whose they are, and that a run carries them wherever its sessions go."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from harness.figures.summarise import summarise
from harness.gate.budgets import read_budgets
from harness.gate.check import check_run
from harness.store.run_store import RunStore
from harness.store.unspoken import Reason, Unspoken, unspoken, unspoken_of

Copy = Callable[[str], Path]


@pytest.mark.parametrize(
    ("spoken", "ended", "failure", "turns", "why"),
    [
        (1, "closed", None, 2, "agent hung up"),
        (2, "no_reply", None, 1, "no reply"),
        (1, "limit", None, 2, "length"),
        (1, "an end that nobody knows", None, 2, "ours"),
        (2, "closed_early", "closed_early", 1, "agent hung up"),
        (2, "closed_early", "agent_died", 1, "agent hung up"),
        (0, "hung_up", "hung_up", 2, "agent hung up"),
        (0, "refused", "refused", 2, "failed"),
        (1, "garbage", "garbage", 2, "failed"),
        (0, "defect", "defect", 3, "ours"),
        (1, "caller_error", "caller_error", 2, "ours"),
        (0, "unauthorised", "unauthorised", 3, "ours"),
    ],
)
def test_a_turn_that_was_not_spoken_has_a_reason(spoken: int, ended: str, failure: str | None, turns: int, why: Reason) -> None:
    assert unspoken(3, spoken, ended, failure) == Unspoken(turns, 3, why)


@pytest.mark.parametrize(
    ("planned", "spoken", "ended", "failure"),
    [
        (3, 3, "quiet", None),
        (3, 3, "no_reply", None),
        (1, 0, "refused", "refused"),
        (None, 0, "", None),
        (None, 0, "", "defect"),
    ],
)
def test_nothing_is_unspoken_where_all_was_spoken_or_lost_or_nobody_planned(
    planned: int | None, spoken: int, ended: str, failure: str | None
) -> None:
    assert unspoken(planned, spoken, ended, failure) is None


def cut_short(folder: Path, agent: str, ended: str, failure: str | None = None) -> None:
    """Make every session of an agent one of three planned turns, of which one was spoken."""
    RunStore.open(folder).close()
    with closing(sqlite3.connect(folder / "run.sqlite")) as database, database:
        database.execute("UPDATE sessions SET planned_turns = 1, spoken_turns = 1, ended = 'quiet'")
        database.execute("UPDATE sessions SET planned_turns = 3, ended = ? WHERE agent = ?", (ended, agent))
        if failure is not None:
            database.execute(
                "UPDATE sessions SET failure_kind = ?, status = 'failed'"
                " WHERE id = (SELECT min(id) FROM sessions WHERE agent = ?)",
                (failure, agent),
            )


def an_agent(folder: Path) -> str:
    with closing(RunStore.open(folder)) as store:
        return store.manifest.agents[0].name


def test_a_session_takes_them_along_into_another_run(old_run: Copy, tmp_path: Path) -> None:
    there = old_run("one-condition")
    cut_short(there, an_agent(there), "closed")
    with closing(RunStore.open(there)) as other:
        session = next(s for s in other.sessions() if unspoken_of(s) is not None)
        into = RunStore.create(tmp_path / "into", other.manifest, other.contexts())
        with closing(into):
            into.adopt(other, session, "another machine")
            (adopted,) = into.sessions()
    assert unspoken_of(adopted) == unspoken_of(session) == Unspoken(2, 3, "agent hung up")


def test_a_run_made_before_they_were_counted_does_not_know(old_run: Copy) -> None:
    with closing(RunStore.open(old_run("one-condition"))) as store:
        assert all(unspoken_of(session) is None for session in store.sessions())
        assert all((cell.spoken, cell.unspoken_share) == (None, None) for cell in summarise(store).cells)


@pytest.mark.parametrize("failure", [None, "defect"])
def test_what_is_ours_decides_nothing_and_what_is_the_agents_is_its_figure(old_run: Copy, failure: str | None) -> None:
    folder = old_run("one-condition")
    agent = an_agent(folder)
    cut_short(folder, agent, "closed", failure)
    limits = folder / "limits.yaml"
    limits.write_text(
        f"schema: 1\nlimits:\n  - {{figure: ttfa_ms.p50, agent: {agent}, at_most: 1, missing: fail}}\n"
        f"  - {{figure: unspoken_share, agent: {agent}, at_most: 0.001}}\n",
        encoding="utf-8",
    )
    with closing(RunStore.open(folder)) as store:
        (cell,) = (c for c in summarise(store).whole if c.agent == agent)
        found = check_run(store, read_budgets(limits)).checked
    assert cell.spoken is not None
    assert cell.spoken[0] + sum(cell.unspoken.values()) == cell.spoken[1]
    assert cell.unspoken_share == pytest.approx(
        cell.unspoken["agent hung up"] / (cell.spoken[1] - cell.unspoken.get("ours", 0))
    )
    assert all(one.unspoken == cell.unspoken for one in found)
    assert found[1].decision is not None
    assert found[1].decision.value == pytest.approx(cell.unspoken_share)
    if failure is not None:
        assert cell.unspoken["ours"] == 2
        assert {one.verdict for one in found} == {"cannot tell"}
    else:
        assert found[0].decision is not None
        assert found[1].verdict != "pass"
