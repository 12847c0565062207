"""Labels of strategies and reasons from the command line: made, resumed, and compared with two people."""

import asyncio
import csv
from pathlib import Path
from typing import Any

import pytest

from harness.labelling.label_sheets import HEADER
from harness.ranking.strategies import STRATEGIES
from harness.store.judgment import Judgment
from harness.store.run_store import RunStore
from tests.harness.judging import scripted_server
from tests.harness.judging.conftest import call, told
from tests.harness.judging.scripted_server import ScriptedServer
from tests.judged import put


@pytest.fixture
def labelling_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's model sees emotional validation where somebody is told it is no wonder, and quotes it; once it invents."""

    def answer(data: dict[str, Any]) -> dict[str, Any]:
        if "reason" in data:
            from harness.ranking.rationales import codebook

            return {skill.name: "" for skill in codebook()}
        absent = {"probability": 0.1, "evidence": ""}
        marks = dict.fromkeys(STRATEGIES, absent)
        if "no wonder" in data["reply"].lower():
            marks["emotional validation"] = {"probability": 0.9, "evidence": data["reply"][:9]}
        marks["offer hope"] = {"probability": 0.9, "evidence": "you will be fine"}
        return marks

    monkeypatch.setattr(scripted_server, "_verdict", answer)


@pytest.mark.asyncio
@pytest.mark.usefixtures("labelling_server")
async def test_labels_are_made_resumed_and_held_against_two_people(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path
) -> None:
    async with ScriptedServer() as server:
        judge = tmp_path / "j.toml"
        judge.write_text(f'id = "l"\nfamily = "f"\nversion = "1"\nbase_url = "{server.url}"\nmodel = "m"\n')
        code, first = await asyncio.to_thread(told, capsys, "label", "strategies", played, "--judge", judge)
        asked = sum(server.attempts.values())
        _, again = await asyncio.to_thread(told, capsys, "label", "strategies", played, "--judge", judge)
        assert sum(server.attempts.values()) == asked
        assert server.bodies[0]["max_tokens"] >= 1500
    assert code == 0
    assert first["replies"] == again["replies"] == 36
    assert first["macro_f1"] is None
    assert first["systems"]["kind"]["unique_per_reply"] == 1
    assert first["systems"]["flat"]["unique_per_reply"] == 0
    assert first["systems"]["flat"]["uncertain_share"] > 0
    assert (played / "strategies.jsonl").exists()

    sheets = tmp_path / "sheets"
    code, _, _ = call(capsys, "label", "export", played, "--out", sheets, "--size", "12")
    assert code == 0
    for n in (1, 2):
        _fill(sheets / f"labeller-{n}.csv", unsure=n == 2)
    _, two = told(capsys, "label", "score", played, sheets)
    assert two["disagreed"] == 4
    assert two["labellers"] == {}
    _settle(sheets / "to-settle.csv")
    _, scored = told(capsys, "label", "score", played, sheets)
    assert scored["labellers"]["l@1"] == {"macro_f1": 1.0, "replies": 12}


@pytest.mark.asyncio
@pytest.mark.usefixtures("labelling_server")
async def test_reasons_are_coded_by_a_judge(capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path) -> None:
    store = RunStore.open(played)
    put(store,
        [
            Judgment(
                context="c-00", subset="regular", system_a="flat", system_b="kind", source="judge", judge="j",
                winner="b", rationale=f"It names the feeling {n}.",
            )
            for n in range(3)
        ]
    )  # fmt: skip
    store.close()
    async with ScriptedServer() as server:
        judge = tmp_path / "j.toml"
        judge.write_text(f'id = "l"\nfamily = "f"\nversion = "1"\nbase_url = "{server.url}"\nmodel = "m"\n')
        code, found = await asyncio.to_thread(told, capsys, "label", "reasons", played, "--judge", judge)
    assert (code, found["reasons"], found["missing"]) == (0, 3, 0)


def test_sheets_that_are_not_done_are_sent_back_by_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path
) -> None:
    sheets = tmp_path / "sheets"
    call(capsys, "label", "export", played, "--out", sheets, "--size", "4")
    code, _, error = call(capsys, "label", "score", played, sheets)
    assert code == 2
    assert "labeller-1.csv:2: item" in error
    _fill(sheets / "labeller-1.csv")
    _fill(sheets / "labeller-2.csv")
    text = (sheets / "labeller-2.csv").read_text()
    (sheets / "labeller-2.csv").write_text(text.replace(",1,", ",perhaps,", 1))
    code, _, error = call(capsys, "label", "score", played, sheets)
    assert code == 2
    assert "perhaps" in error


@pytest.mark.parametrize("what", ["strategies", "reasons"])
@pytest.mark.parametrize("judge", ["embedded", "a local model"])
def test_a_judge_that_writes_no_answer_does_not_label(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path, judge: str, what: str
) -> None:
    if judge != "embedded":
        judge = str(tmp_path / "mine.toml")
        Path(judge).write_text('id = "m"\nfamily = "m"\nversion = "1"\napi = "local"\nbase_url = "http://127.0.0.1:9"\n')
    code, _, error = call(capsys, "label", what, played, "--judge", judge)
    assert code == 2
    assert "cannot label" in error


def _fill(path: Path, *, unsure: bool = False) -> None:
    with path.open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    doubted = 4
    for row in rows:
        row["done"] = "1"
        row["emotional validation"] = "x" if "no wonder" in row["reply"] else ""
        if unsure and doubted and "no wonder" not in row["reply"]:
            row["affirmation"], doubted = "1", doubted - 1
    with path.open("w", newline="") as handle:
        writer = csv.DictWriter(handle, HEADER)
        writer.writeheader()
        writer.writerows(rows)


def _settle(path: Path) -> None:
    with path.open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    with path.open("w", newline="") as handle:
        writer = csv.DictWriter(handle, rows[0])
        writer.writeheader()
        writer.writerows(row | {"present": "0"} for row in rows)
