"""What changed since another run: one answer on the page, in the index, in the gate and in `change`."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.figures.summarise import summarise
from harness.gate.budgets import read_budgets
from harness.gate.check import check_run
from harness.reports.changes import ChangeRow
from harness.reports.index.page import index_json
from harness.reports.index.rows import read_index
from harness.reports.listening.results import human_rows
from harness.reports.versions import Versions, versions
from harness.reports.write import write_joint_report
from harness.store.judgment import JudgeCheck, Judgment
from harness.store.manifest import AgentEntry, RunManifest
from harness.store.run_store import RunStore
from harness.store.selection import Selection
from harness.store.session import SessionKey
from harness.timing.figures import Contention, Endpointing, InnerPause, TurnTiming
from harness.turns import change
from harness.turns.of_run import table_of_run
from tests.borne_out import AN_OPINION, BORNE_OUT
from tests.judged import put
from tests.reports.conftest import SECOND_NS, context, timing
from tests.reports.nightly import night, nights

Cuts = Sequence[Sequence[bool]]


def turn(ttfa_ms: float | None, cuts: Sequence[bool] = (), owed_ms: float = 0.0) -> TurnTiming:
    pauses = tuple(InnerPause(300.0 * k, 300.0 * k + 250, "cut" if cut else "kept", True, 0) for k, cut in enumerate(cuts))
    found = replace(
        timing(ttfa_ms if ttfa_ms is not None else 400.0),
        endpointing=Endpointing("test", pauses, dead_air_ms=ttfa_ms),
        contention=Contention(others_cores=0.1, waited_cores=0.1, stolen_cores=0.0, at_most_ms={"ttfa": owed_ms}),
    )
    return found if ttfa_ms is not None else replace(found, ttfa_ms=None, first_sound_ms=None, no_reply=True, utterances=())


def run_of(folder: Path, turns: Sequence[TurnTiming | str], agent: str = "a", **manifest: Any) -> RunStore:
    """A run of one turn a conversation, or the failure by which its session was lost."""
    items = [context(n) for n in range(len(turns))]
    facts: dict[str, Any] = {
        "created": "2030-01-01T00:00:00Z", "harness_version": "0", "pack": "test", "pack_source": "test", "pack_hash": "0" * 64,
        "mode": "seeded", "conditions": ["clean"], "repeats": 1, "seed": 1, "machine_id": "m",
    }  # fmt: skip
    entry = AgentEntry(name=agent, kind="cascade", profile_hash="h", profile_text="")
    store = RunStore.create(
        folder, RunManifest(context_ids=[c.id for c in items], agents=[entry], **{**facts, **manifest}), items
    )
    for n, (item, timed) in enumerate(zip(items, turns, strict=True)):
        key = SessionKey(item.id, "c", agent, "h", "seeded", "clean", 0)
        lost = timed if isinstance(timed, str) else None
        store.commit_session(
            key, partial=store.partial_folder(key), written_text="I am here.", started_ns=SECOND_NS * (n + 1),
            failure_kind=lost, timing=None if isinstance(timed, str) else timed,
        )  # fmt: skip
    return store


def since(now: RunStore, before: RunStore) -> Versions:
    return versions(*((store, summarise(store, human_rows(store))) for store in (now, before)))


def rows(now: RunStore, before: RunStore, agent: str = "a") -> dict[str, ChangeRow]:
    (found,) = (each for each in since(now, before).changes if each.agent == agent)
    return {row.figure: row for row in found.rows}


def in_index(root: Path, run: str, figure: str) -> dict[str, Any]:
    listed = json.loads(index_json(read_index(root), root / "index.html"))["rows"]
    (row,) = (row for row in listed if row["run"] == run)
    (found,) = (each for each in row["changes"] if each["figure"] == figure)
    return dict(found)


LONG_ONES_BETTER: tuple[Cuts, Cuts] = (
    [[False] * 8 if k < 4 else [bool(k % 2)] for k in range(24)], [[True] * 8 if k < 4 else [False] for k in range(24)]
)  # fmt: skip


def newly_cut(number: int) -> tuple[Cuts, Cuts]:
    return [[k < number] for k in range(24)], [[False]] * 24


@pytest.mark.parametrize(
    ("cuts", "value", "verdict"),
    [
        (LONG_ONES_BETTER, (10 - 32) / 52, "unclear"),
        (newly_cut(5), 5 / 24, "unclear"),
        (newly_cut(6), 6 / 24, "worse"),
        (newly_cut(9), 9 / 24, "worse"),
    ],
)
def test_page_index_gate_and_change_give_one_number_and_one_word(
    tmp_path: Path, cuts: tuple[Cuts, Cuts], value: float, verdict: str
) -> None:
    now, before = (
        run_of(tmp_path / name, [turn(400.0, each) for each in of], created=f"2030-01-0{day}T00:00:00Z")
        for name, of, day in (("now", cuts[0], 2), ("before", cuts[1], 1))
    )
    found = change(table_of_run(Selection(now)), table_of_run(Selection(before)), "pauses_cut_share")
    assert found is not None
    assert found.value == pytest.approx(value)
    assert found.verdict == verdict
    listed = in_index(tmp_path, "now", "pauses_cut")
    assert (listed["value"], listed["verdict"]) == (found.value, verdict)
    shown = rows(now, before)["Pauses cut"]
    assert (shown.difference, shown.verdict) == (f"{100 * value:+.0f} %".replace("-", "−"), verdict)
    budgets = tmp_path / "budgets.yaml"
    budgets.write_text("schema: 1\nlimits:\n  - {figure: pauses_cut_share, worse_than_baseline_by: 0.001}\n", encoding="utf-8")
    (checked,) = check_run(now, read_budgets(budgets), baseline=before).checked
    assert checked.decision is not None
    assert checked.decision.value == found.value
    assert (checked.verdict == "fail") <= (verdict == "worse"), "the gate never fails what the page does not call worse"


@pytest.mark.long
def test_page_and_index_agree_on_fifty_pairs_of_runs(tmp_path: Path) -> None:
    rng = np.random.default_rng(55)
    sizes = rng.integers(1, 4, 12)
    stores = []
    for number in range(51):
        slower, bad = rng.normal(0, 30), rng.uniform(0, 0.6)
        turns = [
            turn(
                None if rng.random() < 0.05 else 400 + 20 * k + slower + rng.normal(0, 15),
                list(rng.random(size) < bad),
                float(rng.choice([0.0, 25.0])),
            )
            for k, size in enumerate(sizes)
        ]
        stores.append(run_of(tmp_path / f"n{number:02d}", turns, created=f"2030-01-01T00:{number:02d}:00Z"))
    summaries = [summarise(store) for store in stores]
    listed = {row["run"]: row["changes"] for row in json.loads(index_json(read_index(tmp_path), tmp_path / "i.html"))["rows"]}
    verdicts: list[str] = []
    for k in range(1, 51):
        (found,) = versions((stores[k], summaries[k]), (stores[k - 1], summaries[k - 1])).changes
        shown = {row.figure: row for row in found.rows}
        each = {of["figure"]: of for of in listed[f"n{k:02d}"]}
        latency, pauses = each["latency"], each["pauses_cut"]
        ends = (found.slower.ms.low, found.slower.ms.high)
        assert (found.slower.ms.value, *ends) == (latency["value"], *latency["interval"])
        assert list(found.slower.ends) == latency["range"]
        assert shown["Pauses cut"].difference.removeprefix("+") == f"{100 * pauses['value']:.0f} %".replace("-", "−")
        words = [shown["TTFA"].verdict, shown["Pauses cut"].verdict]
        assert words == [latency["verdict"], pauses["verdict"]]
        verdicts += words
    assert set(verdicts) == {"worse", "better", "unclear"}


def test_what_others_could_have_caused_is_no_change_and_is_said(tmp_path: Path) -> None:
    before = run_of(tmp_path / "before", [turn(400.0 + k) for k in range(24)])
    now = run_of(tmp_path / "now", [turn(440.0 + k, owed_ms=60.0) for k in range(24)], created="2030-01-02T00:00:00Z")
    found = since(now, before).changes[0]
    assert found.words.removeprefix("a: ") == (
        "TTFA unchanged within ± 40 ms (95 %) on 24 shared conversations, −20 ms to +40 ms had the machines been their own; "
        "kindness "
        "— (nobody judged this run or the baseline on the shared conversations)"
    )
    assert found.as_object()["slower_ms"]["range"] == [-20.0, 40.0]
    row = rows(now, before)["TTFA"]
    assert (row.difference, row.own, row.verdict) == ("+40 ms", "−20 ms to +40 ms", "unclear")
    assert in_index(tmp_path, "now", "latency")["range"] == [-20.0, 40.0]


def test_silence_is_a_regression_and_stands_first_and_replies_again_stand_last(tmp_path: Path) -> None:
    heard = run_of(tmp_path / "heard", [turn(400.0)] * 12)
    silent = run_of(tmp_path / "silent", [turn(None)] * 12)
    summaries = {store: summarise(store) for store in (heard, silent)}
    out = tmp_path / "out"
    for now, before, word in ((silent, heard, "Regression"), (heard, silent, "Improvement")):
        write_joint_report([(now, summaries[now])], out, baseline=(before, summaries[before]), exports=out)
        said = [line for line in (out / "summary.md").read_text(encoding="utf-8").splitlines() if line.startswith(f"- {word}")]
        assert any("a, No reply" in line for line in said)
    row = rows(silent, heard)["No reply"]
    assert (row.before, row.after, row.verdict) == ("0 %", "100 %", "worse")


def test_silence_in_both_runs_has_no_change(tmp_path: Path) -> None:
    found = rows(run_of(tmp_path / "now", [turn(None)] * 12), run_of(tmp_path / "before", [turn(None)] * 12))["TTFA"]
    assert (found.before, found.after, found.difference, found.verdict) == ("over 15 s", "over 15 s", "0 ms", "unclear")


def test_a_lost_session_is_a_failed_one_and_no_reply(tmp_path: Path) -> None:
    before = run_of(tmp_path / "before", [turn(400.0)] * 24)
    found = rows(run_of(tmp_path / "now", [*[turn(400.0)] * 12, *["agent_died"] * 12]), before)
    for figure in ("Failed sessions", "No reply"):
        assert (found[figure].before, found[figure].after, found[figure].verdict) == ("0 %", "50 %", "worse")


def test_under_eight_conversations_nothing_is_called_a_change(tmp_path: Path) -> None:
    found = rows(run_of(tmp_path / "now", [turn(None)] * 7), run_of(tmp_path / "before", [turn(400.0)] * 7))
    assert {row.verdict for row in found.values()} == {"unclear"}
    assert (found["No reply"].difference, found["No reply"].interval) == ("+100 %", "")


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    now = night(tmp_path / "now", {"both": 400.0, "new": 400.0})
    before = night(tmp_path / "before", {"old": 400.0, "both": 400.0}, contexts=9)
    found = since(now, before)
    assert [each.agent for each in found.changes] == ["both"]
    said = " ".join(found.notes)
    assert "Not in the baseline: new." in said
    assert "In the baseline only: old." in said
    assert "9 of 12" in said


def rate(store: RunStore, lost: int, *, by: str = "tester@1", check: JudgeCheck | None = BORNE_OUT) -> RunStore:
    """A verdict (vote) on each conversation: the agent loses the first ones to the reference and wins the rest."""
    person = by.startswith("human:")
    put(store, [
        Judgment(
            context=c.id, subset=c.subset, system_a="a", system_b="ref:careful", source="human" if person else "judge",
            judge=by, winner="b" if n < lost else "a", presentation="heard_text", condition="clean",
            draw_rate=1.0 if person else None,
        )
        for n, c in enumerate(store.contexts())
    ])  # fmt: skip
    if check is not None and not person:
        store.add_judge_check(check.model_copy(update={"judge": by}))
    return store


def preferred(now: RunStore, before: RunStore) -> dict[str, str]:
    return {name: row.verdict for name, row in rows(now, before).items() if name.startswith("Preferred")}


@pytest.mark.parametrize(
    ("by", "check", "expected"),
    [
        ("tester@1", BORNE_OUT, {"Preferred to references": "worse"}),
        ("human:ada", None, {"Preferred to references": "worse"}),
        ("tester@1", AN_OPINION, {"Preferred to references (a judge's opinion)": "unclear"}),
        ("other@1", BORNE_OUT, {}),
    ],
)
def test_replies_that_lose_are_worse_by_one_rater_who_may_decide_it(
    tmp_path: Path, by: str, check: JudgeCheck | None, expected: dict[str, str]
) -> None:
    now = rate(run_of(tmp_path / "now", [turn(400.0)] * 24), 24 if by != "human:ada" else 22, by=by, check=check)
    then = "human:ada" if by == "human:ada" else "tester@1"
    before = rate(run_of(tmp_path / "before", [turn(400.0)] * 24), 2, by=then, check=check)
    assert preferred(now, before) == expected
    if expected and check is not AN_OPINION:
        (row,) = (row for name, row in rows(now, before).items() if name.startswith("Preferred"))
        assert row.before == "92 %"
        assert re.match("−(92|83) %", row.difference)


def test_votes_are_not_compared_with_verdicts(tmp_path: Path) -> None:
    both = rate(rate(run_of(tmp_path / "now", [turn(400.0)] * 24), 2), 22, by="human:ada")
    before = rate(run_of(tmp_path / "before", [turn(400.0)] * 24), 2)
    assert preferred(both, before) == {}
    voted = rate(rate(run_of(tmp_path / "then", [turn(400.0)] * 24), 2), 2, by="human:ada")
    assert preferred(both, voted) == {"Preferred to references": "worse"}


def test_another_timing_method_is_said_on_the_page_and_decides_nothing_in_the_index(tmp_path: Path) -> None:
    before, now = nights(tmp_path, [400.0, 900.0], agent="a")
    for session in now.sessions():
        now.set_timing(session.id, [replace(each, method="timing-next") for each in session.turn_timings])
    listed = in_index(tmp_path, "2030-01-02", "latency")
    assert (listed["value"], listed["verdict"]) == (500, "unclear")
    assert listed["unlike"] == ["timed by another method (`harness measure` brings both to one)"]
    assert any(note.startswith("Runs differ (timing method)") for note in since(now, before).notes)
