"""The same rows give the same Elo, interval, P(frontier) and state at every door, to the last printed digit."""

import csv
import json
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import harness
from harness.cli import app
from harness.errors import UserError
from harness.store.judgment import JudgeCheck, Judgment
from harness.store.manifest import AgentEntry, RunManifest
from harness.store.run_store import RunStore
from harness.store.session import SessionKey
from tests.borne_out import AN_OPINION, BORNE_OUT
from tests.judged import put
from tests.present import present
from tests.reports.conftest import context, timing

AGENTS = {"quick": 400.0, "slow": 1_200.0}
CONDITIONS = ("telephone", "clean")
JUDGE = "tester@1"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two agents, two conditions, two repeats; over the telephone `quick` is heard by nobody and loses."""
    return _made(tmp_path_factory.mktemp("same") / "run", BORNE_OUT)


def _made(folder: Path, check: JudgeCheck | None, votes: Sequence[Judgment] = (), contexts: int = 12) -> Path:
    """A run; without a check nobody judged it."""
    lot = random.Random(4)
    items = [context(n).model_copy(update=_subset(n)) for n in range(contexts)]
    manifest = RunManifest(
        created="2030-01-01T00:00:00Z", harness_version="0", pack="test", pack_source="test", pack_hash="0" * 64,
        context_ids=[c.id for c in items], mode="seeded", conditions=list(CONDITIONS), repeats=2, seed=7,
        agents=[AgentEntry(name=name, kind="cascade", profile_hash="h", profile_text="") for name in AGENTS],
    )  # fmt: skip
    store = RunStore.create(folder, manifest, items)
    for item in items:
        for condition in CONDITIONS:
            for repeat in range(2):
                for agent, ttfa_ms in AGENTS.items():
                    key = SessionKey(item.id, "c", agent, "h", "seeded", condition, repeat)
                    silent = (agent, condition) == ("quick", "telephone")
                    timed = timing(ttfa_ms * lot.uniform(0.8, 1.25))
                    if silent:
                        timed = replace(timed, ttfa_ms=None, no_reply=True)
                    session = store.commit_session(key, partial=store.partial_folder(key), timing=timed, started_ns=1)
                    word = item.id.replace("-", "")  # A reply of its own to every caller.
                    said = "" if silent else f"I{word} hear{word} you{word}. " * lot.randint(1, 9)
                    store.set_heard(session.id, said, ())
                if check is not None:
                    put(store, _verdicts(item.id, item.subset, condition, repeat, lot))
    put(store, list(votes))
    if check is not None:
        store.add_judge_check(check)
    store.close()
    return store.folder


def _subset(number: int) -> dict[str, str]:
    return {"subset": "adversarial", "escalation": "linear-ramp"} if number % 3 == 2 else {"subset": "regular"}


def _verdicts(name: str, subset: str, condition: str, repeat: int, lot: random.Random) -> list[Judgment]:
    rows = []
    for a, b, odds in (("quick", "slow", 0.65), ("quick", "ref:careful", 0.4), ("ref:careful", "slow", 0.7)):
        lost = condition == "telephone" and a == "quick"
        rows.append(
            Judgment(
                context=name, subset=subset, system_a=a, system_b=b, source="judge", presentation="heard_text",
                judge=f"rule:no-reply ({JUDGE})" if lost else JUDGE,
                winner="b" if lost or lot.random() > odds else "a", strength=5 if lost else lot.randint(1, 4),
                condition=condition, replicate=repeat, shown_first=None if lost else lot.choice(("a", "b")),
            )
        )  # fmt: skip
    return rows


def _votes(contexts: int = 12) -> list[Judgment]:
    """Of one person, on every pair of replies as read over a clean line: `quick` wins against `slow` on two of three."""
    return [
        Judgment(
            context=context(n).id, system_a=a, system_b=b, source="human", presentation="heard_text", judge="human:ada",
            winner="b" if (n + k) % 3 == 0 else "a", strength=2, condition="clean", draw_rate=1.0, subset=_subset(n)["subset"],
        )
        for n in range(contexts)
        for k, (a, b) in enumerate((("quick", "slow"), ("ref:careful", "quick"), ("ref:careful", "slow")))
    ]  # fmt: skip


def _told(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def doors(run: Path) -> dict[str, Any]:
    exports = run.parent / "exports"
    report = json.loads(_told("report", run, "--json", "--export", exports))
    return {
        "report": report,
        "terminal": _told("report", run, "--verbose"),
        "page": unescape((run / "report.html").read_text(encoding="utf-8")),
        "exports": exports,
    }


def _cell(doors: dict[str, Any], agent: str, condition: str, subset: str = "all") -> dict[str, Any]:
    wanted = (agent, condition, subset)
    (cell,) = (c for c in doors["report"]["cells"] if (c["agent"], c["condition"], c["subset"]) == wanted)
    assert isinstance(cell, dict)
    return cell


@pytest.mark.parametrize("condition", CONDITIONS)
def test_rank_of_the_run_and_of_its_export_give_the_reports_figures(run: Path, doors: dict[str, Any], condition: str) -> None:
    ranked = json.loads(_told("rank", run, "--condition", condition, "--json"))
    exported = json.loads(_told("rank", doors["exports"] / "judgments.csv", "--condition", condition, "--json"))
    for agent in AGENTS:
        cell = _cell(doors, agent, condition)
        row, point = ranked["systems"][agent], ranked["joint"][agent]
        assert (row["elo"], row["interval"]) == (cell["elo"], cell["elo_interval"])
        assert (point["elo"], point["elo_interval"]) == (cell["elo"], cell["elo_interval"])
        assert point["p_frontier"] == cell["p_frontier"]
        assert point["p_best_within_budget"] == cell["p_best_within_budget"]
        assert (point["ttfa_p50_ms"], point["ttfa_p50_interval"]) == (cell["ttfa_ms"]["p50"], cell["ttfa_ms"]["p50_interval"])
        assert point["cut_in_rate"] == cell["cut_in_rate"]
        on_page = exported["systems"][f"{agent} ({condition})"]
        assert (on_page["elo"], on_page["interval"]) == (cell["elo"], cell["elo_interval"])
        for subset in ("regular", "adversarial"):
            part = ranked["boards"][f"judges, {subset}"]["systems"][agent]
            there = _cell(doors, agent, condition, subset)
            assert (part["elo"], part["interval"]) == (there["elo"], there["elo_interval"])


@pytest.mark.parametrize("condition", CONDITIONS)
def test_terminal_page_and_table_print_the_same_digits(doors: dict[str, Any], condition: str) -> None:
    with (doors["exports"] / "systems.csv").open(encoding="utf-8") as handle:
        table = {(row["system"], row["subset"]): row for row in csv.DictReader(handle)}
    board = re.search(rf'data-only-condition="{condition}" data-only-subset="all".*?</tbody>', doors["page"], re.S)
    assert board is not None
    of_condition = doors["terminal"].split(f"\n{condition}", 1)[1].split("\n")
    for agent in AGENTS:
        cell = _cell(doors, agent, condition)
        line = next(line for line in of_condition if line.startswith(agent))
        assert f"{cell['elo']:.0f}" in line
        assert f"{cell['elo']:,.0f}" in board[0] or f"{cell['elo']:.0f}" in board[0]
        row = table[f"{agent} ({condition})", "all"]
        assert float(row["elo"]) == round(cell["elo"], 4)
        assert float(row["p_frontier"]) == cell["p_frontier"]


def test_the_silent_cell_ranks_last_on_both_axes_and_the_other_is_untouched(run: Path, doors: dict[str, Any]) -> None:
    silent, heard = _cell(doors, "quick", "telephone"), _cell(doors, "quick", "clean")
    assert silent["ttfa_ms"]["p50_over_limit"]
    assert silent["p_best_within_budget"] == 0
    assert silent["win_rate"] == 0
    assert silent["elo"] < _cell(doors, "slow", "telephone")["elo"]
    assert heard["ttfa_ms"]["p50"] < 500 < _cell(doors, "slow", "clean")["ttfa_ms"]["p50"]
    assert heard["elo"] > _cell(doors, "slow", "clean")["elo"]
    assert {c["turns"] for c in doors["report"]["cells"] if c["subset"] == "all"} == {24}
    refused = CliRunner().invoke(app, ["rank", str(run)])
    assert isinstance(refused.exception, UserError)
    assert "choose one with --condition" in str(refused.exception)


IN_WORDS = {
    "people": "Quality is people's: 36 votes by 1 person",
    "people alone": "Quality is people's: 36 votes by 1 person, rated without a judge",
    "borne_out": "Quality is a judge's, borne out by people elsewhere (tester@1)",
    "opinion": "Quality is a judge's opinion (tester@1: not compared with judgements of people)",
}


@pytest.mark.parametrize("state", IN_WORDS)
def test_every_door_says_whose_quality_it_is_and_an_opinion_has_no_chances(tmp_path: Path, state: str) -> None:
    known_judges = {"borne_out": BORNE_OUT, "people alone": None}
    voted, words_begin = state.startswith("people"), IN_WORDS[state]
    run = _made(tmp_path / "run", known_judges.get(state, AN_OPINION), _votes() if voted else ())
    state = "people" if voted else state
    options = ("rank", run, "--condition", "clean")
    told = json.loads(_told(*options, "--json"))
    terminal = _told(*options, "--export", tmp_path / "board.csv", "--export", tmp_path / "board.md")
    report = json.loads(_told("report", run, "--json", "--export", tmp_path / "exports"))
    summary, page = _told("report", run, "--verbose"), unescape((run / "report.html").read_text(encoding="utf-8"))
    (board,) = (b for b in report["boards"] if (b["condition"], b["subset"]) == ("clean", "all"))
    (cell,) = (c for c in report["cells"] if (c["agent"], c["condition"], c["subset"]) == ("quick", "clean", "all"))
    with (tmp_path / "board.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    with (tmp_path / "exports" / "systems.csv").open(encoding="utf-8") as lines:
        (system,) = (row for row in csv.DictReader(lines) if (row["system"], row["subset"]) == ("quick (clean)", "all"))
    library = harness.rank_judgments(run, condition="clean")
    asked = json.loads(_told(*options, "--people" if voted else "--judges", "--json"))

    assert {found["quality_state"] for found in (told, board, cell, system, *rows)} == {library.quality_state} == {state}
    words = told["quality_words"]
    assert words.startswith(words_begin)
    assert asked == told
    assert words == board["quality_words"] == library.quality_words
    for shown in (terminal, summary, page, (tmp_path / "board.md").read_text(encoding="utf-8")):
        assert words.replace("(", "").replace(")", "") in shown.replace("\\", "").replace("(", "").replace(")", "")
    assert " ".join(words_begin.split()[:5]) in (tmp_path / "exports" / "summary.md").read_text(encoding="utf-8")

    assert told["joint"]["quick"]["elo"] == cell["elo"] == library.board["quick"].elo
    chances = [
        told["joint"]["quick"]["p_frontier"], cell["p_frontier"], cell["p_best_within_budget"],
        *(point.p_frontier for point in present(library.joint).points),
    ]  # fmt: skip
    known = state != "opinion"
    assert {chance is not None for chance in chances} == {known}
    assert terminal.split("| quick |")[1].split("\n")[0].endswith("| – | – |") != known
    assert (system["p_frontier"] != "", system["kind"] != "no verdict") == (known, known)


def test_votes_on_too_few_conversations_give_no_elo_anywhere_but_their_reason(tmp_path: Path) -> None:
    run = _made(tmp_path / "run", None, _votes(4), 4)
    why = "people voted on 4 conversations, and an interval needs 8"
    report = json.loads(_told("report", run, "--json", "--export", tmp_path / "exports"))
    assert report["boards"] == []
    assert {cell["elo"] for cell in report["cells"]} == {None}
    for shown in (_told("report", run, "--verbose"), unescape((run / "report.html").read_text(encoding="utf-8"))):
        assert f"No people's ratings yet: {why}" in shown
    for asked in ((), ("--people",)):
        assert f"No Elo yet: {why}" in _told("rank", run, "--condition", "clean", *asked)
    library = harness.rank_judgments(run, condition="clean")
    assert (library.board.systems, why in library.people_refused) == ((), True)
    rows = [(one.agent, one.over, one.at_least) for one in library.head_to_head]
    assert rows == [
        (row["agent"], row["over"], row["at_least"]) for row in report["head_to_head"] if row["condition"] == "clean"
    ]


def test_a_named_method_rates_votes_by_that_model_alone(tmp_path: Path) -> None:
    run = _made(tmp_path / "run", None, _votes())
    told = json.loads(_told("rank", run, "--condition", "clean", "--method", "ordinal", "--json"))
    assert told["method"].startswith("ordinal")
    refused = CliRunner().invoke(app, ["rank", str(run), "--condition", "clean", "--judges"])
    assert "no judge has rated these replies" in str(refused.exception)
    both = CliRunner().invoke(app, ["rank", str(run), "--condition", "clean", "--people", "--method", "plain"])
    assert "leave --method out" in str(both.exception)


def test_exported_votes_as_heard_and_verdicts_as_read_give_the_runs_elo(tmp_path: Path) -> None:
    heard = [vote.model_copy(update={"presentation": "audio"}) for vote in _votes() if "ref:careful" not in vote.system_a]
    run = _made(tmp_path / "run", AN_OPINION, heard)
    _told("report", run, "--export", tmp_path / "exports")
    told = json.loads(_told("rank", run, "--condition", "clean", "--json"))
    rows = json.loads(_told("rank", tmp_path / "exports" / "judgments.csv", "--condition", "clean", "--json"))
    assert told["quality_state"] == rows["quality_state"] == "people"
    assert not any("are not part of this" in note for note in told["warnings"])
    judged = json.loads(_told("rank", run, "--condition", "clean", "--judges", "--json"))
    assert any("votes of people on another presentation are not part of this" in note for note in judged["warnings"])
    assert rows["systems"]["quick (clean)"]["win_rate"] == told["systems"]["quick"]["win_rate"]
    assert rows["people_votes"]["judge_agrees"] == told["people_votes"]["judge_agrees"]


def test_judgments_of_which_nothing_is_known_are_an_opinion(doors: dict[str, Any]) -> None:
    rows = doors["exports"] / "judgments.csv"
    told = json.loads(_told("rank", rows, "--condition", "clean", "--json"))
    assert told["quality_state"] == "opinion"
    assert told["quality_words"] == "Quality is a judge's opinion (tester@1: accuracy not measured)"
    assert harness.rank_judgments(rows, condition="clean").quality_words == told["quality_words"]
