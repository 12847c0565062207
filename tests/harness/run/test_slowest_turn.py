"""The recipe that finds the slowest turn of a run in a profiler's trace."""

import importlib.util
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.agents import marks
from harness.agents.cascade.session_marks import StageRanges

RECIPE = Path(__file__).parents[3] / "docs" / "recipes" / "slowest_turn.py"
SESSION = "c-1__mine__seeded__clean__r1"


def recipe() -> Any:
    spec = importlib.util.spec_from_file_location("slowest_turn", RECIPE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def trace_of(path: Path, names: list[str]) -> None:
    """A trace as `nsys export --type sqlite` writes it: a name is in the row, or a registered string."""
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
        made.execute("CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, text TEXT, textId INTEGER, domainId INTEGER)")
        for k, name in enumerate(names):
            made.execute("INSERT INTO StringIds VALUES (?, ?)", (k, name))
            text, number = (name, None) if k % 2 else (None, k)
            made.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, 0)", (k * 1_000_000, (k + 2) * 1_000_000, text, number))
        made.execute("INSERT INTO NVTX_EVENTS VALUES (0, NULL, 'a mark', NULL, 0)")
        made.commit()


def run_of(*ttfa_ms: tuple[float | None, ...]) -> Any:
    sessions = [
        SimpleNamespace(id=SESSION.replace("c-1", f"c-{k}"), turn_timings=[SimpleNamespace(ttfa_ms=value) for value in values])
        for k, values in enumerate(ttfa_ms)
    ]
    return SimpleNamespace(folder=Path("run"), sessions=sessions)


def test_the_slowest_is_named_as_its_ranges_are() -> None:
    assert recipe().slowest(run_of((300.0, None), (250.0, 900.0), (None,))) == (SESSION, 2, 900.0)
    with pytest.raises(SystemExit, match="no turn has a TTFA"):
        recipe().slowest(run_of((None,)))


def test_its_stages_are_found_in_a_trace_and_no_other_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names: list[str] = []

    def start(name: str) -> int:
        names.append(name)
        return len(names)

    ranges = StageRanges(SESSION, start, lambda _: None)
    for request in range(12):
        for mark in (marks.SPEECH_STARTED, marks.ASR_STARTED, marks.TURN_DECIDED):
            ranges.follow(mark, {})
        ranges.follow(marks.LLM_REQUESTED, {"request": request})
    trace = tmp_path / "box.sqlite"
    trace_of(trace, names)
    found = recipe()
    assert [stage for stage, _, _ in found.stages(trace, f"{SESSION} turn 1")] == ["asr", "llm to first token", "llm"]
    monkeypatch.setattr(found.harness, "load_run", lambda _: _Opened(run_of((1.0,), (*[2.0] * 10, 99.0))))
    monkeypatch.setattr(sys, "argv", ["slowest_turn.py", "run", str(trace)])
    found.main()
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"{SESSION} turn 11: TTFA 99 ms"
    assert [line.rpartition(": ")[2] for line in said[1:-1]] == ["asr", "llm to first token", "llm"]
    assert said[-1].endswith(f"--filter-time 30000000/34000000 {tmp_path / 'box.nsys-rep'}")


def test_the_window_reaches_to_the_last_end_and_stages_are_in_order_of_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "box.sqlite"
    trace_of(trace, [])
    with closing(sqlite3.connect(trace)) as made:
        for start, end, stage in ((5, 6, "tts"), (1, 9, "llm")):
            made.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, NULL, 0)", (start, end, f"{SESSION} turn 1: {stage}"))
        made.commit()
    found = recipe()
    assert found.stages(trace, f"{SESSION.replace('c-1', 'c-0')} turn 1") == []
    assert found.stages(trace, f"{SESSION} turn 1") == [("llm", 1, 9), ("tts", 5, 6)]
    monkeypatch.setattr(found.harness, "load_run", lambda _: _Opened(run_of((1.0,), (2.0,))))
    monkeypatch.setattr(sys, "argv", ["slowest_turn.py", "run", str(trace)])
    found.main()
    assert " --filter-time 1/9 " in capsys.readouterr().out


@pytest.mark.parametrize("content", [None, b"", b"NVTX" * 100])
def test_a_trace_that_is_none_is_one_sentence_and_is_not_made(tmp_path: Path, content: bytes | None) -> None:
    trace = tmp_path / "box 1.sqlite"
    if content is not None:
        trace.write_bytes(content)
    with pytest.raises(SystemExit, match=r"box 1\.sqlite: no trace with ranges \(.*\); export it: nsys export"):
        recipe().stages(trace, f"{SESSION} turn 1")
    assert trace.exists() == (content is not None)


def test_without_a_run_its_call_is_shown_and_a_folder_without_one_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "argv", ["slowest_turn.py"])
    with pytest.raises(SystemExit, match=r"slowest_turn\.py RUN"):
        recipe().main()
    monkeypatch.setattr(sys, "argv", ["slowest_turn.py", str(tmp_path)])
    with pytest.raises(SystemExit, match="holds no run"):
        recipe().main()


class _Opened:
    def __init__(self, run: Any) -> None:
        self._run = run

    def __enter__(self) -> Any:
        return self._run

    def __exit__(self, *_: object) -> None:
        pass
