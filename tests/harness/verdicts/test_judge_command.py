"""`harness judge` from its line: any server's judge is checked, asked and accounted for; a failing one is left out."""

import asyncio
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.cli import _run
from harness.files import CACHE_VARIABLE
from harness.judging.embedded import WORTH
from harness.judging.load_judge import fingerprint_of
from harness.judging.settings import shipped_judges
from harness.judging.validation.against_people import keep
from harness.judging.validation.labelled import gold_pairs
from harness.judging.validation.red_lines import shipped_red_lines
from harness.scenarios.pack import load_pack
from harness.store.judgment_files import read
from harness.verdicts.red_lines import validations_folder
from tests.borne_out import BY_PEOPLE
from tests.harness.judging import scripted_server
from tests.harness.judging.scripted_server import ScriptedServer

pytestmark = pytest.mark.asyncio
RATINGS = "context,reply,rater,dimension,score\n" + "".join(
    f'"Seeker: Night {n} was bad.","{words} {n}",r{rater},overall,{score}\n'
    for n in range(10)
    for words, score in (("That sounds like a long night, good", 5), ("Cheer up", 1))
    for rater in range(2)
)


@pytest.fixture
def knows_gold(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's model tells gold pairs apart, and is otherwise the one that counts the word `good`."""
    better = {pair.better for pair in gold_pairs()}
    counted = scripted_server._verdict

    def verdict(data: dict[str, Any]) -> dict[str, Any]:
        known = {letter for letter in "AB" if data[f"reply_{letter}"] in better}
        return counted(data) | ({"winner": known.pop()} if len(known) == 1 else {})

    monkeypatch.setattr(scripted_server, "_verdict", verdict)


def judge_file(
    tmp_path: Path,
    url: str,
    *,
    name: str = "scripted",
    api: str = "openai",
    structured: str = "json_schema",
    family: str = "rules",
    key_env: str = "",
) -> str:
    path = tmp_path / f"{name}.toml"
    base = url.removesuffix("/v1") if api == "anthropic" else url
    path.write_text(
        f'id = "{name}"\nfamily = "{family}"\nversion = "1"\napi = "{api}"\nstructured = "{structured}"\n'
        f'base_url = "{base}"\nmodel = "m"\nconcurrency = 16\nprice_in = 1.0\nprice_out = 2.0\n'
        + (f'key_env = "{key_env}"\n' if key_env else "")
    )
    return str(path)


def completions_file(
    tmp_path: Path,
    systems: Sequence[str] = ("strong", "weak"),
    families: Mapping[str, str] | None = None,
    contexts: int = 12,
) -> str:
    path = tmp_path / "texts.jsonl"
    lines = [
        {"context": c.id, "system": s, "text": f"{'good ' * (len(systems) - n)}({c.id} {s})"}
        | ({"family": families[s]} if families else {})
        for c in load_pack("heart-open").contexts[:contexts]
        for n, s in enumerate(systems)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


async def harness(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = await asyncio.to_thread(_run, ["judge", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("knows_gold")
async def test_a_check_needs_no_run_and_a_file_is_shown_with_all_that_is_known_of_its_judge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = completions_file(tmp_path, contexts=4)
    async with ScriptedServer(0.1) as server:
        path = judge_file(tmp_path, server.url)
        code, told = await harness(capsys, "check", "--judge", path)
        (checked,) = told["judges"]
        keep(BY_PEOPLE.model_copy(update={"fingerprint": fingerprint_of(path)}), validations_folder())
        _, told = await harness(capsys, "run", texts, "--pack", "heart-open", "--judge", path)
    (now,) = told["judges"]
    assert code == 0
    assert (checked["trusted"], checked["validated_on_people"]) == (False, None)
    assert checked["standing"] == "a judge's opinion: not compared with judgements of people"
    assert (len(checked["red_lines"]["by_family"]), checked["red_lines"]["missing"]) == (21, 0)
    assert checked["accuracy"] == 1.0
    assert checked["accuracy_interval"][0] > 0.6
    assert checked["flip_rate"] < 0.2
    assert now["standing"].startswith("a judge's opinion: right on 75 %")
    assert now["red_lines"] == checked["red_lines"]


async def test_a_judge_that_fails_the_check_is_not_asked_unless_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = completions_file(tmp_path)
    async with ScriptedServer() as server:
        path = judge_file(tmp_path, server.url)
        code, told = await harness(capsys, "run", texts, "--pack", "heart-open", "--judge", path)
        assert code == 0
        assert told["judges"][0]["excluded"]
        assert told["comparisons"] == 0
        _, kept = await harness(capsys, "run", texts, "--pack", "heart-open", "--judge", path, "--keep-excluded")
    assert kept["comparisons"] > 0


@pytest.mark.usefixtures("knows_gold")
async def test_judges_are_compared_in_one_table_and_one_without_a_key_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    (tmp_path / "ratings.csv").write_text(RATINGS)
    keyless = judge_file(tmp_path, "http://127.0.0.1:9/v1", name="keyless", key_env="NOBODY_SET_THIS_KEY")
    async with ScriptedServer() as server:
        line = ["check", "--judge", judge_file(tmp_path, server.url), "--judge", keyless]
        code, found = await harness(capsys, *line, "--against", str(tmp_path / "ratings.csv"))
        first, second = found["table"]
        asked = sum(server.attempts.values())
        await asyncio.to_thread(_run, ["judge", *line])
        shown = capsys.readouterr().out
        again = sum(server.attempts.values()) - asked
    assert code == 3
    assert (first["judge"], first["accuracy"], first["why_not"]) == ("scripted@1", 1.0, "")
    assert first["red_lines_first_set"]["pairs"] == 228
    assert first["red_lines_second_set"]["pairs"] == 72
    assert first["red_lines_short_right"]["pairs"] == 100
    assert (first["people_source"], first["people_pairs"]) == ("ratings.csv", 10)
    assert first["people_accuracy"] is not None
    assert first["seconds_per_answer"] >= 0
    assert first["usd_per_1000_answers"] > 0
    assert "NOBODY_SET_THIS_KEY" in second["why_not"]
    assert second["accuracy"] is None
    assert found["judges"][0]["id"] == "scripted@1"
    assert len(found["checks"]) == 1
    heading, rule, *rows = [row for row in shown.splitlines() if row.startswith("|")]
    assert {row.count("|") for row in (heading, rule, *rows)} == {heading.count("|")}
    assert rows[0].startswith("| scripted@1 | 100 %")
    assert "not measured: " in rows[1]
    assert "NOBODY_SET_THIS_KEY" in rows[1]
    assert again == 120, "red lines are not asked again"


@pytest.mark.usefixtures("knows_gold")
async def test_a_paid_answer_is_never_paid_for_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = completions_file(tmp_path)
    async with ScriptedServer() as server:
        line = ("run", texts, "--pack", "heart-open", "--judge", judge_file(tmp_path, server.url))
        _, first = await harness(capsys, *line)
        _, again = await harness(capsys, *line)
    assert first["calls"] > 0
    assert (again["calls"], again["cached"]) == (0, first["calls"])
    assert len(read(tmp_path / "texts.judgments.jsonl")) == first["comparisons"]


@pytest.mark.usefixtures("knows_gold")
async def test_a_dry_run_bounds_what_an_early_end_costs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = completions_file(tmp_path, contexts=36)
    line = ("run", texts, "--pack", "heart-open", "--until-separated", "best")
    async with ScriptedServer() as server:
        path = judge_file(tmp_path, server.url)
        _, plan = await harness(capsys, *line, "--judge", path, "--dry-run")
        assert not server.attempts
        _, done = await harness(capsys, *line, "--judge", path)
    (most,) = plan["dry_run"]
    assert most["check_calls"] == 2 * len(gold_pairs()), "a file's judge is asked no red lines"
    assert most["least"]["calls"] <= most["check_calls"] + done["calls"] < most["calls"]
    assert most["least"]["cost_usd"] < most["cost_usd"]
    assert done["unasked"] > 0
    assert done["stop"]["looks"][-1]["apart"]


@pytest.mark.usefixtures("knows_gold")
async def test_a_dry_run_counts_every_call_with_those_of_the_check_until_they_are_stored(
    played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    another = shutil.copytree(played, tmp_path / "another")
    gold, part = 2 * len(gold_pairs()), 2 * len(shipped_red_lines()) // 3
    async with ScriptedServer() as server:
        path = judge_file(tmp_path, server.url)

        async def planned(run: Path) -> Any:
            (plan,) = (await harness(capsys, "run", str(run), "--judge", path, "--dry-run"))[1]["dry_run"]
            return plan

        before = await planned(played)
        assert not server.attempts
        await harness(capsys, "run", str(played), "--judge", path)
        asked = sum(server.attempts.values())
        await harness(capsys, "run", str(played), "--judge", path)
        assert sum(server.attempts.values()) == asked, "a run asks its third once"
        again, elsewhere = await planned(played), await planned(another)
        await harness(capsys, "check", "--judge", path)
        whole = await planned(another)
    assert before["calls"] == asked
    calls = [plan["check_calls"] for plan in (before, again, elsewhere, whole)]
    assert calls == [gold + part, 0, gold + part, gold]
    for later in (again, whole):
        assert before["calls"] - later["calls"] == before["check_calls"] - later["check_calls"]
        assert before["cost_usd"] > later["cost_usd"]


@pytest.mark.usefixtures("knows_gold")
async def test_audits_and_replicates_are_asked_in_their_shares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = completions_file(tmp_path, systems=("a", "b", "c", "d"))
    async with ScriptedServer() as server:
        line = ("run", texts, "--pack", "heart-open", "--judge", judge_file(tmp_path, server.url))
        await harness(capsys, *line, "--pairs", "40", "--replicates", "3")
    rows = read(tmp_path / "texts.judgments.jsonl")
    main = [row for row in rows if row.purpose == "main"]
    assert len(main) == 3 * 40
    assert {row.repeat for row in main} == {0, 1, 2}
    assert sum(row.purpose == "swapped" for row in rows) == 4
    assert sum(row.purpose == "repeat" for row in rows) == 2
    shown = {(r.context, r.system_a, r.system_b): r.shown_first for r in main if r.repeat == 0}
    for row in rows:
        if row.purpose != "main":
            same = row.shown_first == shown[row.context, row.system_a, row.system_b]
            assert same == (row.purpose == "repeat")


@pytest.mark.usefixtures("knows_gold")
async def test_judges_of_one_line_keep_off_their_own_family(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = completions_file(tmp_path, families={"strong": "llama", "weak": "gpt"})
    async with ScriptedServer() as server:
        line = ["run", texts, "--pack", "heart-open"]
        for name, family in (("kin", "llama"), ("stranger", "qwen")):
            line += ["--judge", judge_file(tmp_path, server.url, name=name, family=family)]
        await harness(capsys, *line)
    rows = read(tmp_path / "texts.judgments.jsonl")
    kin = [row for row in rows if row.judge == "kin@1"]
    assert kin
    assert not any("strong" in (r.system_a, r.system_b) and "weak" in (r.system_a, r.system_b) for r in kin)
    assert not any(row.own_family for row in rows)


@pytest.mark.parametrize(
    ("option", "value"),
    [("--until-separated", "all"), ("--pairs", "0"), ("--replicates", "0"), ("--reads", "sung"), ("--judge", "none")],
)
async def test_a_wrong_line_is_one_line_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, value: str
) -> None:
    line = ("run", completions_file(tmp_path), "--judge", "embedded") if option != "--judge" else ("run", "r")
    code, told = await harness(capsys, *line, option, value)
    assert code == 2
    assert told["error"]["message"].startswith(option)
    assert "\n" not in told["error"]["message"]


@pytest.mark.parametrize("line", [("run", "runs/r"), ("check",), ("runs/r",)])
async def test_no_judge_is_asked_unless_it_is_named(capsys: pytest.CaptureFixture[str], line: tuple[str, ...]) -> None:
    code, told = await harness(capsys, *line)
    assert code == 2
    assert all(name in told["error"]["message"] for name in (*shipped_judges(), "local:", ".toml"))


async def test_the_embedded_judge_says_what_it_is_worth_where_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["judge", "run", completions_file(tmp_path), "--pack", "heart-open", "--judge", "embedded", "--dry-run"]
    assert await asyncio.to_thread(_run, line) == 0
    assert WORTH in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (("run", "--dry-run"), ("run", "run", "--dry-run")),
        (("run", "--check", "--dry-run"), ("run", "run", "--dry-run")),
        (("--completions", "texts.jsonl", "--pack", "heart-open", "--dry-run"),
         ("run", "texts.jsonl", "--pack", "heart-open", "--dry-run")),
        (("--completions=texts.jsonl", "--pack", "heart-open", "--dry-run"),
         ("run", "texts.jsonl", "--pack", "heart-open", "--dry-run")),
        (("--check", "--against", "none.csv"), ("check", "--against", "none.csv")),
    ],
)  # fmt: skip
async def test_the_words_of_version_0_3_mean_what_they_meant(
    played: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    old: tuple[str, ...],
    new: tuple[str, ...],
) -> None:
    assert played == tmp_path / "run", "a folder named as the sub-command is"
    completions_file(tmp_path, contexts=2)
    monkeypatch.chdir(tmp_path)
    code, told = await harness(capsys, *new, "--judge", "embedded")
    assert await harness(capsys, *old, "--judge", "embedded") == (code, told)
    assert "dry_run" in told or "none.csv" in told["error"]["message"]
