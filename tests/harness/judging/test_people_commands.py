"""What people say reaches the board from files: votes by CSV, labels by sheets; wrong files are one line back."""

import asyncio
import csv
import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.cli import _run
from harness.judging import labeller_record
from harness.judging.label_sheets import HEADER
from harness.ranking.strategies import STRATEGIES
from harness.store.judgment import JudgeCheck, Judgment, Winner
from harness.store.run_store import RunStore
from tests.judged import put

from . import scripted_server
from .scripted_server import ScriptedServer

VOTES = "context,subset,system_a,system_b,rater,vote,seconds,words,check\n"


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = _run([str(a) for a in arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


def told(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, Any]:
    code, out, _ = call(capsys, *arguments, "--json")
    return code, json.loads(out)


def votes_file(tmp_path: Path, *, raters: Sequence[str] = ("ann", "ben"), hasty: Sequence[str] = ("hasty",)) -> Path:
    lines = [
        f"c-{n:02},{'adversarial' if n % 4 == 3 else 'regular'},flat,kind,{rater},b_much,{1 if rater in hasty else 20},60,\n"
        for rater in (*raters, *hasty)
        for n in range(12)
    ]
    path = tmp_path / "votes.csv"
    path.write_text(VOTES + "".join(lines))
    return path


def human_rows(run: Path) -> list[Judgment]:
    store = RunStore.open(run)
    rows = [row for row in store.judgments() if row.source == "human"]
    store.close()
    return rows


def test_votes_are_taken_in_and_an_exclusion_can_be_taken_back(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path
) -> None:
    path = votes_file(tmp_path)
    code, first = told(capsys, "add-votes", played, "--add", path, "--presentation", "heard_text")
    assert code == 0
    assert first["counted"] == {"heard_text": 24}
    assert {r["rater"] for r in first["raters"] if r["excluded"]} == {"hasty"}
    assert {row.judge for row in human_rows(played)} == {"votes/ann", "votes/ben"}
    told(capsys, "add-votes", played, "--keep-excluded")
    assert len(human_rows(played)) == 36
    told(capsys, "add-votes", played)
    assert len(human_rows(played)) == 24
    told(capsys, "add-votes", played, "--add", path, "--presentation", "heard_text")
    assert len(human_rows(played)) == 24
    _, board = told(capsys, "rank", played)
    assert board["systems"]["kind"]["elo"] > board["systems"]["flat"]["elo"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nowhere,regular,flat,kind,r,same,,,", "context"),
        ("c-00,adversarial,flat,kind,r,same,,,", "subset"),
        ("c-00,regular,flat,nobody,r,same,,,", "system_b"),
        ("c-00,regular,flat,flat,r,same,,,", "system_b"),
        ("c-00,regular,flat,kind,r,better,,,", "vote"),
        ("c-00,regular,flat,kind,r,same,inf,,", "seconds"),
        ("c-00,regular,flat,kind,r,same,,,,,", "extra"),
    ],
)
def test_a_bad_vote_is_named_by_file_and_line_and_nothing_is_taken_in(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path, line: str, says: str
) -> None:
    path = tmp_path / "v.csv"
    path.write_text(VOTES + "c-00,regular,flat,kind,r,same,,,\n" + line + "\n")
    code, _, error = call(capsys, "add-votes", played, "--add", path)
    assert code == 2
    assert f"{path}:3" in error
    assert says in error
    assert error.count("\n") == 1
    assert human_rows(played) == []


def test_no_votes_and_no_columns_are_said(capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path) -> None:
    assert call(capsys, "add-votes", played)[0] == 2
    for text in ("", VOTES, "a,b\n1,2\n"):
        (tmp_path / "v.csv").write_text(text)
        code, _, error = call(capsys, "add-votes", played, "--add", tmp_path / "v.csv")
        assert code == 2
        assert error.count("\n") == 1


def test_a_failed_judge_is_left_out_of_the_ranking_until_asked_for(capsys: pytest.CaptureFixture[str], played: Path) -> None:
    store = RunStore.open(played)
    verdicts: tuple[tuple[str, Winner | None], ...] = (("fair@1", None), ("failed@1", "a"), ("failed@1", "a"))
    rows = [
        Judgment(
            context=f"c-{n:02}", subset="regular", system_a="flat", system_b="kind", source="judge", judge=judge,
            winner=winner or ("b" if n else "a"), strength=3, presentation="heard_text",
        )
        for n in range(12)
        for judge, winner in verdicts
    ]  # fmt: skip
    put(store, rows)
    base: dict[str, Any] = {"family": "f", "pairs": 60, "accuracy_interval": None, "flip_rate": 0.0}
    store.add_judge_check(JudgeCheck(judge="fair@1", accuracy=0.9, trusted=True, **base))
    store.add_judge_check(JudgeCheck(judge="failed@1", accuracy=0.4, trusted=False, excluded=True, **base))
    store.close()
    _, board = told(capsys, "rank", played)
    assert board["systems"]["kind"]["elo"] > board["systems"]["flat"]["elo"]
    assert set(board["judges"]) == {"fair@1"}
    assert board["judges"]["fair@1"]["accuracy"] == 0.9
    _, everybody = told(capsys, "rank", played, "--keep-excluded")
    assert everybody["systems"]["kind"]["elo"] < everybody["systems"]["flat"]["elo"]


def test_a_users_scores_and_families_join_the_ranking_and_bad_ones_are_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, simulate_rows: list[Judgment]
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(row.model_dump_json() + "\n" for row in simulate_rows))
    table = tmp_path / "scores.csv"
    table.write_text("system,family,index\ns0,llama,10\ns1,qwen,20\ns2,qwen,30\ns3,gpt,\njudge-0,qwen,\n")
    _, board = told(capsys, "rank", path, "--scores", table, "--draws", "50")
    assert board["external"]["index"]["pearson"]["systems"] == 3
    assert board["audits"]["self-preference"]["rows"] > 0
    assert any("not measured here" in note for note in board["warnings"])
    for text, says in (("name\nx\n", ":|line 1"), ("system,n\nx,many\n", "many"), ("system\nx\nx\n", "twice")):
        table.write_text(text)
        code, _, error = call(capsys, "rank", path, "--scores", table)
        assert code == 2
        assert str(table) in error
        assert any(word in error for word in says.split("|"))


@pytest.fixture
def simulate_rows() -> list[Judgment]:
    return [
        Judgment(
            context=f"c{n:02}", subset="regular", system_a=f"s{a}", system_b=f"s{b}", source="judge", judge="judge-0",
            winner="b" if (n + a + b) % 3 else "a", strength=2,
        )
        for n in range(12)
        for a in range(4)
        for b in range(a + 1, 4)
    ]  # fmt: skip


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
async def test_a_measured_labeller_is_named_with_its_yardstick_in_terminal_and_page(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labeller_record, "RECORD", tmp_path / "labellers.json")
    (tmp_path / "labellers.json").write_text('{"l@1": {"macro_f1": 0.314, "replies": 300, "by_strategy": {}}}')
    async with ScriptedServer() as server:
        for version in ("1", "2"):
            judge = tmp_path / f"j{version}.toml"
            judge.write_text(f'id = "l"\nfamily = "f"\nversion = "{version}"\nbase_url = "{server.url}"\nmodel = "m"\n')
        _, unknown = await asyncio.to_thread(told, capsys, "label", "strategies", played, "--judge", tmp_path / "j2.toml")
        _, known, _ = await asyncio.to_thread(call, capsys, "label", "strategies", played, "--judge", tmp_path / "j1.toml")
    assert unknown["against_a_program"] is None
    words = "macro-F1 0.31 against a program's labels, 300 replies"
    assert f"{words}; its quality against people is not measured here" in known
    page = tmp_path / "page.html"
    assert call(capsys, "report", played, "--out", page)[0] == 0
    assert f"by l@1 ({words}; never checked against people)" in html.unescape(page.read_text(encoding="utf-8"))


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


def test_the_embedded_judge_is_said_not_to_label(capsys: pytest.CaptureFixture[str], played: Path) -> None:
    code, _, error = call(capsys, "label", "strategies", played, "--judge", "embedded")
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
