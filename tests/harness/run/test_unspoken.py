"""Calls that end before their caller has spoken all turns: said on the terminal, on the page, in the JSON and by the gate."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from harness.figures.summarise import summarise
from harness.store.run_store import RunStore
from tests.harness.conftest import Finished, harness, peer
from tests.harness.run.test_run_replay import HEAD, KITCHEN

AGENTS = ("raw-pcm-says-goodbye", "raw-pcm-goes-on-and-on", "raw-pcm-never-answers", "raw-pcm-echo")
WHY = {"raw-pcm-says-goodbye": "agent hung up", "raw-pcm-goes-on-and-on": "length", "raw-pcm-never-answers": "no reply"}
Played = tuple[Finished, Path]


def played(place: Path, *agents: str) -> Played:
    pack = place / "kitchen.yaml"
    pack.write_text(HEAD + KITCHEN, encoding="utf-8")
    named = [word for name in agents for word in ("--agent", peer(name))]
    done = harness(
        place, "run", *named, "--mode", "replay", "--pack", pack, "--judge", "none", "--json", "--concurrency", 4,
        "--out", place / "r", virtual=True, timeout_s=900,
    )  # fmt: skip
    return done, place / "r"


@pytest.fixture(scope="module")
def cut_short(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A conversation of three turns, with agents that leave turns unspoken and one that does not."""
    return played(tmp_path_factory.mktemp("unspoken"), *AGENTS)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """The same with a wire that breaks through the harness's own fault, beside an agent that is asked to the end."""
    return played(tmp_path_factory.mktemp("broken"), "scripted-defect", "raw-pcm-echo")


Command = Callable[..., Finished]


def checked(here: Command, folder: Path, *limits: str) -> tuple[Finished, dict[tuple[str, str], Any], Path]:
    budgets, junit = folder.parent / "limits.yaml", folder.parent / "junit.xml"
    budgets.write_text("schema: 1\nlimits:\n" + "".join(f"  - {{{limit}}}\n" for limit in limits), encoding="utf-8")
    done = here("check", folder, "--budgets", budgets, "--junit", junit, "--json")
    return done, {(one["agent"], one["figure"]): one for one in done.json["limits"]}, junit


def test_a_goodbye_is_a_result_that_says_what_it_left_unspoken(cut_short: Played) -> None:
    done, _ = cut_short
    assert done.code == 0, done.err
    agents = done.json["agents"]
    for agent, why in WHY.items():
        assert agents[agent]["spoken"] == [1, 3]
        assert agents[agent]["unspoken"] == {why: 2}
        assert agents[agent]["unspoken_share"] == 2 / 3
    assert agents["raw-pcm-echo"]["spoken"] == [3, 3]
    assert agents["raw-pcm-echo"]["unspoken"] == {}
    assert agents["raw-pcm-echo"]["unspoken_share"] == 0
    assert all(agent["failed"] == 0 for agent in agents.values())


def test_each_session_that_ended_early_is_listed_with_its_reason(cut_short: Played) -> None:
    failures = cut_short[0].json["failures"]
    assert {failure["kind"] for failure in failures} == {"unspoken"}
    assert sorted((f["agent"], f["context"]) for f in failures) == sorted((a, c) for a in WHY for c in ("kitchen",))
    details = {(f["agent"], f["context"]): f["detail"] for f in failures}
    assert details["raw-pcm-says-goodbye", "kitchen"] == "1 of 3 turns spoken: the agent hung up after turn 1"
    assert details["raw-pcm-never-answers", "kitchen"] == "1 of 3 turns spoken: the agent did not answer turn 1"
    assert "over its length in the reply to turn 1" in details["raw-pcm-goes-on-and-on", "kitchen"]


def test_the_terminal_has_a_line_and_a_column_only_where_turns_are_unspoken(
    harness_here: Command, cut_short: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, folder = cut_short
    monkeypatch.setenv("COLUMNS", "200")
    told = harness_here("report", folder).out
    assert re.search(r"^Unspoken turns: .*raw-pcm-says-goodbye: 1 of 3 turns spoken; unspoken: 2 because the agent", told, re.M)
    assert "spoken" in told.split("raw-pcm-echo")[0]
    assert re.search(r"^raw-pcm-echo .* 0/3 ", told, re.M)
    assert "failed:" not in told


def test_the_page_has_a_caution_a_column_and_a_row_for_each_unspoken_turn(cut_short: Played) -> None:
    _, folder = cut_short
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "raw-pcm-says-goodbye: 1 of 3 turns spoken; unspoken: 2 because the agent hung up" in page
    assert 'data-order="unspoken"' in page
    assert "2 of 3<small>agent hung up: 2</small>" in page


@pytest.mark.parametrize(("agent", "verdict"), [("raw-pcm-says-goodbye", "fail"), ("raw-pcm-echo", "cannot tell")])
def test_the_share_can_be_limited(harness_here: Command, cut_short: Played, agent: str, verdict: str) -> None:
    done, limits, _ = checked(harness_here, cut_short[1], f"figure: unspoken_share, agent: {agent}, at_most: 0.01")
    assert limits[agent, "unspoken_share"]["value"] == (2 / 3 if verdict == "fail" else 0)
    assert limits[agent, "unspoken_share"]["verdict"] in (verdict, "cannot tell")
    assert done.code in (1, 4)


def test_turns_that_the_agent_left_unspoken_stop_no_other_limit_and_are_said(harness_here: Command, cut_short: Played) -> None:
    agent = "raw-pcm-says-goodbye"
    _, limits, junit = checked(
        harness_here, cut_short[1], f"figure: ttfa_ms.p50, agent: {agent}, at_most: 20000, missing: fail"
    )
    (found,) = limits.values()
    assert found["unspoken"] == {"agent hung up": 2}
    assert found["value"] is not None
    told = ElementTree.parse(junit).getroot().itertext()
    attributes = [value for node in ElementTree.parse(junit).iter() for value in node.attrib.values()]
    assert "never spoken: 2 because the agent hung up" in " ".join([*told, *attributes])


def test_a_fault_of_ours_is_charged_to_nobody_and_the_gate_cannot_tell(harness_here: Command, broken: Played) -> None:
    done, folder = broken
    assert done.code == 3, "its sessions failed"
    agent = done.json["agents"]["scripted-defect"]
    assert agent["unspoken"].keys() == {"ours"}
    assert agent["unspoken_share"] in (0, None)
    assert {f["kind"] for f in done.json["failures"]} == {"defect"}, "a failed session is listed once"
    checked_run, limits, junit = checked(harness_here, folder, "figure: no_reply_rate, at_most: 0.99")
    assert checked_run.code == 4
    assert limits["scripted-defect", "no_reply_rate"]["verdict"] == "cannot tell"
    assert limits["scripted-defect", "no_reply_rate"]["unspoken"] == agent["unspoken"]
    assert limits["raw-pcm-echo", "no_reply_rate"]["unspoken"] == {}, "another agent's turns are whole"
    skipped = [node.attrib["message"] for node in ElementTree.parse(junit).iter("skipped")]
    assert any("through no fault of the agent" in message for message in skipped)


def test_an_older_run_opens_and_says_that_it_does_not_know(tmp_path: Path, cut_short: Played) -> None:
    import shutil
    import sqlite3
    from contextlib import closing

    old = tmp_path / "old"
    shutil.copytree(cut_short[1], old)
    with closing(sqlite3.connect(old / "run.sqlite")) as database, database:
        for column in ("ended", "planned_turns", "spoken_turns", "step", "due_ns", "begun_ns"):
            database.execute(f"ALTER TABLE sessions DROP COLUMN {column}")
        database.execute("PRAGMA user_version = 3")
    with closing(RunStore.open(old)) as store:
        summary = summarise(store)
    assert all((cell.spoken, cell.unspoken, cell.unspoken_share) == (None, {}, None) for cell in summary.cells)
    assert summary.failures == []
