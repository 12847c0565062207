"""Replies in a file as a run: any columns, the reason of each row that is left out, and what the run then says of itself."""

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from harness.cli import _run
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.material import Material
from harness.scenarios.pack import load_pack
from harness.store.run_store import RunStore
from harness.timing.figures import OF_A_FILE

IDS = [context.id for context in load_pack("heart-mini").contexts]
Say = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    """Import a file's text as `--json` says it: the exit code and the object."""
    monkeypatch.chdir(tmp_path)

    def do(name: str, text: str | bytes, *more: str) -> tuple[int, dict[str, Any]]:
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
        code = _run(["import-replies", name, "--pack", "heart-mini", "--out", f"run-of-{name}", "--json", *more])
        return code, json.loads(capsys.readouterr().out)

    return do


def rows(agents: Sequence[str] = ("calm", "brisk"), ids: Sequence[str] = IDS) -> list[dict[str, Any]]:
    return [{"context": c, "system": a, "text": f"{a} hears you, number {k}."} for k, c in enumerate(ids) for a in agents]


def table(given: Sequence[dict[str, Any]], sign: str = ",", head: Sequence[str] = ()) -> str:
    names = list(given[0])
    return "\n".join([sign.join(head or names), *(sign.join(f'"{row[n]}"' for n in names) for row in given)]) + "\n"


@pytest.mark.parametrize("form", ["csv", "semicolons", "tsv", "jsonl", "list", "utf-16"])
def test_each_form_of_file_is_the_same_run(say: Say, form: str) -> None:
    given = rows()
    text: dict[str, str | bytes] = {
        "csv": table(given), "semicolons": table(given, ";"), "tsv": table(given, "\t"),
        "jsonl": "\n".join(map(json.dumps, given)), "list": json.dumps(given, indent=1),
        "utf-16": table(given, "\t").encode("utf-16"),
    }  # fmt: skip
    code, found = say(f"{form}.txt", text[form])
    assert code == 0
    assert (found["rows"], found["replies"], found["agents"]) == (24, 24, {"brisk": 12, "calm": 12})
    store = RunStore.open(Path(found["run"]))
    assert [a.runs_here for a in store.manifest.agents] == [False, False]
    said = {(s.key.context_id, s.key.agent): s.written_text for s in store.sessions()}
    assert said == {(row["context"], row["system"]): row["text"] for row in given}
    assert Path(found["report"]).exists()


def test_columns_with_other_names_are_mapped_and_the_nearest_are_proposed(say: Say) -> None:
    given = [{"prompt_id": r["context"], "model": r["system"], "response": r["text"], "note": "x"} for r in rows()]
    code, found = say("a.csv", table(given))
    assert code == 2
    message = found["error"]["message"]
    for word in ("context, system, text are missing", "--map prompt_id=context", "--map model=system", "--map response=text"):
        assert word in message
    maps = [word for pair in ("prompt_id=context", "model=agent", "response=text") for word in ("--map", pair)]
    code, found = say("a.csv", table(given), *maps)
    assert (code, found["replies"]) == (0, 24)


@pytest.mark.parametrize(
    ("maps", "says"),
    [
        (["respnse=text"], "response"), (["response"], "COLUMN=FIELD"), (["response=words"], "no field"),
        (["response=text", "context=text"], "already"),
    ],
)  # fmt: skip
def test_a_wrong_map_is_one_sentence(say: Say, maps: list[str], says: str) -> None:
    given = [{"context": r["context"], "system": r["system"], "response": r["text"]} for r in rows()]
    code, found = say("a.csv", table(given), *(word for pair in maps for word in ("--map", pair)))
    assert code == 2
    assert says in found["error"]["message"]


def test_rows_that_cannot_be_used_are_named_and_lose_no_other(say: Say, capsys: pytest.CaptureFixture[str]) -> None:
    given = [json.dumps(row) for row in rows()]
    wrong: list[tuple[str, object]] = [
        ("not_json", '{"context": '),
        ("unknown_context", {"context": IDS[0][:-1], "system": "calm", "text": "x"}),
        ("twice", {"context": IDS[0], "system": "calm", "text": "Another."}),
        ("empty", {"context": IDS[1], "system": "third", "text": "  "}),
        ("no_context", {"context": None, "system": "third", "text": "x"}),
        ("no_object", [1, 2]),
        ("no_text", {"context": IDS[1], "system": "third", "text": {"said": "x"}}),
        ("too_long", {"context": IDS[1], "system": "third", "text": "x" * 20_001}),
        ("name_of_people", {"context": IDS[1], "system": "Human", "text": "x"}),
        ("name", {"context": IDS[1], "system": "\u202e!", "text": "x"}),
    ]
    lines = [*given[:3], *(one if isinstance(one, str) else json.dumps(one) for _, one in wrong), *given[3:]]
    code, found = say("a.jsonl", "\n".join(lines))
    assert code == 3
    assert [fault["kind"] for fault in found["left_out"]] == [kind for kind, _ in wrong]
    assert [fault["where"] for fault in found["left_out"]] == [f"line {n}" for n in range(4, 14)]
    assert found["replies"] == 24
    assert IDS[0] in found["left_out"][1]["why"]  # the nearest
    assert _run(["import-replies", "a.jsonl", "--pack", "heart-mini", "--out", "other"]) == 3
    out = capsys.readouterr().out
    assert "10 of 34 rows were left out: " in out
    assert "\u202e" not in out


def test_a_row_of_another_width_loses_no_row_after_it(say: Say) -> None:
    given = table(rows()).splitlines()
    code, found = say("a.csv", "\n".join([*given[:3], "one,two", *given[3:]]))
    assert code == 3
    assert [(fault["where"], fault["kind"]) for fault in found["left_out"]] == [("line 4", "cells")]
    assert found["replies"] == 24


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("context,system,text\n", "has no row"),
        (table(rows(ids=["elsewhere", "nowhere"])), "--pack"),
        (table(rows()).encode() + b'"' + IDS[0].encode() + b'",x,"caf\xe9"\n', "UTF-8"),
        (table(rows()) + f'{IDS[0]},x,"never closed\n', "never closed"),
        (b"\x00\x01\x02", "NUL"),
        ('[{"context": 1}', "not JSON"),
        (table([{"context": IDS[k % 12], "system": f"s{k}", "text": "x"} for k in range(201)]), "--map COLUMN=agent"),
    ],
)
def test_a_file_that_is_none_is_one_sentence_and_leaves_no_run(say: Say, text: str | bytes, says: str) -> None:
    code, found = say("a.csv", text)
    assert code == 2
    assert says in found["error"]["message"]
    assert "a.csv" in found["error"]["message"]
    assert not Path("run-of-a.csv").exists()


def test_a_file_of_one_agent_without_its_column_is_named_after_the_file(say: Say) -> None:
    code, found = say("my bot.jsonl", "\n".join(json.dumps({"context": c, "text": f"Reply {c}."}) for c in IDS[:5]))
    assert (code, found["agents"], found["contexts"]) == (0, {"my-bot": 5}, 5)
    assert found["notes"]


def test_names_that_would_be_one_agent_stay_apart(say: Say) -> None:
    code, found = say("a.jsonl", "\n".join(map(json.dumps, rows(("GPT 4", "GPT-4")))))
    assert code == 3
    assert found["agents"] == {"GPT-4": 12}
    assert {fault["kind"] for fault in found["left_out"]} == {"names_alike"}


def test_latencies_are_the_files_and_are_called_so(say: Say, capsys: pytest.CaptureFixture[str]) -> None:
    given = [row | {"ttft_ms": 200 + 10 * k if k else "soon"} for k, row in enumerate(rows())]
    code, found = say("a.jsonl", "\n".join(map(json.dumps, given)))
    assert code == 3
    assert [(fault["where"], fault["kind"]) for fault in found["not_taken"]] == [("line 1", "latency")]
    assert found["replies"] == 24
    run = Path(found["run"])
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    cell = next(c for c in summary["cells"] if c["agent"] == "brisk")
    assert cell["from_a_file"] is True
    assert cell["ttft_ms"]["n"] == 12
    assert "latency_stated" in {caution["code"] for caution in summary["cautions"]}
    assert {t.method for s in RunStore.open(run).sessions() for t in s.turn_timings} == {OF_A_FILE}
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "as a file states, not measured" in page
    assert _run(["measure", str(run)]) == 2
    assert "nothing in it was measured" in capsys.readouterr().err


def test_of_a_file_without_latencies_nothing_is_about_time(say: Say) -> None:
    code, found = say("a.jsonl", "\n".join(map(json.dumps, rows()[:-1])))
    assert (code, found["unanswered"]) == (0, {"brisk": 1})
    summary = json.loads((Path(found["run"]) / "summary.json").read_text(encoding="utf-8"))
    codes = {caution["code"] for caution in summary["cautions"]}
    assert codes & {"unfinished", "no_reply", "latency_stated", "not_calibrated", "discarded", "no_p95"} == set()
    assert "not_in_file" in codes
    for cell in summary["cells"]:
        assert (cell["ttft_ms"]["p50"], cell["ttfa_ms"]["p50"], cell["within_budget"]["ttft"]) == (None, None, None)
        assert cell["cut_in_rate"] is None
    page = (Path(found["run"]) / "report.html").read_text(encoding="utf-8")
    assert "on 100 % of" not in page
    assert "on 0 % of" not in page


def test_sound_is_heard_and_not_timed(say: Say, tmp_path: Path) -> None:
    tone = (0.3 * np.sin(np.arange(16_000) / 8)).astype(np.float32)
    given = []
    for k, row in enumerate(rows()):
        soundfile.write(tmp_path / f"{k}.wav", np.column_stack([tone, tone]) if k % 2 else tone, 16_000)
        given.append(row | {"audio": f"{k}.wav" if k < 23 else "nowhere.wav"})
    code, found = say("a.csv", table(given))
    assert (code, [fault["kind"] for fault in found["not_taken"]]) == (3, ["sound"])
    assert found["replies"] == 24
    out = tmp_path / "vote.html"
    assert _run(["report", found["run"], "--vote-file", str(out)]) == 0
    assert out.read_text(encoding="utf-8").count('id="sound-') == 22
    summary = json.loads((Path(found["run"]) / "summary.json").read_text(encoding="utf-8"))
    assert {cell["cut_in_rate"] for cell in summary["cells"]} == {None}


def test_a_listening_test_reads_them_and_says_how_they_are_heard(say: Say, capsys: pytest.CaptureFixture[str]) -> None:
    _, found = say("a.jsonl", "\n".join(map(json.dumps, rows())))
    assert _run(["listen", found["run"], "--medium", "sound"]) == 2
    assert "--medium text" in capsys.readouterr().err
    with closing(RunStore.open(Path(found["run"]))) as store:
        material = Material(store, ListeningDesign(medium="text"))
        assert len(material.conversations) == 12
        assert all({"calm", "brisk"} < set(one.replies) for one in material.conversations)


def test_a_hostile_text_is_text(say: Say) -> None:
    hostile = "</script><img src=x onerror=alert(1)> \u202e &amp; {{ 7 * 7 }}"
    given = [row | {"text": hostile} if row["system"] == "calm" else row for row in rows()]
    code, found = say("a.jsonl", "\n".join(map(json.dumps, given)))
    assert code == 0
    page = (Path(found["run"]) / "report.html").read_text(encoding="utf-8")
    assert hostile not in page


@pytest.mark.parametrize("words", [["listen"], ["report"], ["rank"], ["judge", "check", "--judge", "embedded"]])
def test_a_file_of_replies_in_the_place_of_a_run_names_the_way(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("r.jsonl", "\n".join(map(json.dumps, rows()))), ("r.csv", table(rows()))):
        Path(name).write_text(text, encoding="utf-8")
        assert _run([*words[:2], name, *words[2:]]) == 2
        assert f"harness import-replies {name} --pack" in capsys.readouterr().err
