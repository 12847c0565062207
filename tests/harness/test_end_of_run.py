"""The end of a run in the terminal: what was found, how sure it is and where the page is are the last three lines."""

import io
import sys
import webbrowser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.commands.opening import open_page
from harness.commands.table import print_summary
from harness.figures.cells import Cell, Failure
from harness.figures.circumstances import Circumstances, OnsetError
from harness.figures.in_a_sentence import found, how_sure
from harness.figures.next_step import next_step
from harness.figures.summary import RunSummary
from harness.timing.quantiles import Quantiles

NINE = frozenset(f"c{n}" for n in range(9))
KNOWN = Circumstances(
    contexts=NINE, played=NINE, onset_error=OnsetError(within_ms=1.14, trials=64), idle_percent={"echo-bot": 12.0}
)


def cell(agent: str = "echo-bot", **more: Any) -> Cell:
    place = {"agent": agent, "condition": "clean", "mode": "seeded", "presentation": "heard_text", "subset": "all"}
    figures = {"turns": 9, "no_reply": 0, "ttfa_ms": Quantiles(p50=1_214.0), "common_opening": (3, 9)}
    return Cell.model_validate(place | figures | more)


def summary(*cells: Cell, known: Circumstances = KNOWN, **more: Any) -> RunSummary:
    fields = {"run": "runs/r", "report": "runs/r/report.html", "cells": list(cells or (cell(),)), "circumstances": known}
    return RunSummary.model_validate(fields | more)


def printed(run: RunSummary, **how: Any) -> list[str]:
    out = io.StringIO()
    print_summary(run, Console(file=out, width=200), **how)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("verbose", [False, True])
def test_the_last_three_lines_are_what_was_found_how_sure_and_the_page(verbose: bool) -> None:
    run = summary()
    *_, first, second, third = printed(run, verbose=verbose, next_step="harness listen runs/r")
    assert (first, second) == (found(run), how_sure(run))
    assert third == "The page is runs/r/report.html (next: harness listen runs/r)"


def test_they_are_bold_on_a_terminal() -> None:
    out = io.StringIO()
    print_summary(summary(), Console(file=out, width=200, force_terminal=True, color_system="standard"))
    bold = [line for line in out.getvalue().splitlines() if line.startswith("\x1b[1m")]
    assert len(bold[-3:]) == 3
    assert out.getvalue().splitlines()[-3:] == bold[-3:]


def test_what_changes_the_reading_stays_and_statistics_are_for_those_who_ask() -> None:
    short, whole = printed(summary()), printed(summary(), verbose=True)
    assert any(line.startswith("Busy while waiting") for line in short)
    for said in ("first word of substance", "Measurement error", "Not judged"):
        assert not any(said in line for line in short)
        assert any(said in line for line in whole)
    assert len(short) < len(whole)


def test_an_invalid_run_says_so_first_and_last() -> None:
    lines = printed(summary(cell(valid=False), valid=False, invalid=["pacing p99 9.1 ms"]))
    assert lines[0].startswith("INVALID RUN: pacing p99 9.1 ms")
    assert lines[-3].startswith("These figures must not be quoted")


def test_columns_of_which_nothing_is_known_are_left_out() -> None:
    text = cell("writes", kind="text", ttfa_ms=Quantiles(), ttft_ms=Quantiles(p50=180.0), within_budget={"ttft": 0.9})
    table = "\n".join(printed(summary(text))[:3])
    assert "TTFT" in table
    assert "90%" in table
    assert not any(word in table for word in ("TTFA", "pauses", "Elo", "–"))
    both = "\n".join(printed(summary(text, cell(pauses_cut=(1, 9))))[:4])
    assert all(word in both for word in ("TTFA", "TTFT", "pauses", "1/9"))


def test_of_many_failed_sessions_three_are_named() -> None:
    failed = [Failure(context=f"c{n}", agent="a", kind="agent_died", detail="gone\nlast words") for n in range(9)]
    lines = printed(summary(failures=failed))
    assert sum(line.startswith("failed: ") for line in lines) == 3
    assert any("6 further sessions failed" in line for line in lines)
    assert sum(line.startswith("failed: ") for line in printed(summary(failures=failed), verbose=True)) == 9


def test_the_next_step_mends_the_run_before_it_asks_people() -> None:
    way = "Vote on the page, or run harness listen runs/r: 7 votes."
    assert next_step(summary()) is None
    assert next_step(summary(way_to_people=way)) == "harness listen runs/r"
    assert next_step(summary(way_to_people="People's answer needs 8 conversations.")) is None
    assert next_step(summary(cell(valid=False), valid=False, way_to_people=way)) == "harness doctor"
    left = KNOWN.model_copy(update={"unfinished": {"runs/r": 3}})
    assert next_step(summary(known=left, way_to_people=way)) == "harness run --resume --out runs/r"
    calls = left.model_copy(update={"calls": {"runs/r": "calls/"}})
    assert next_step(summary(known=calls)) == "harness measure calls/ --resume --out runs/r"


def test_a_page_opens_in_the_browser_or_a_sentence_says_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report page.html"
    page.touch()
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    open_page(page)
    said = capsys.readouterr()
    assert (said.out, len(said.err.splitlines()), str(page) in said.err) == ("", 1, True)
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f"#!{sys.executable}\nimport sys\nopen({str(opened)!r}, 'w').write(sys.argv[1])\n")
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    monkeypatch.setattr(webbrowser, "_tryorder", None)
    open_page(page)
    assert capsys.readouterr().err == ""
    assert opened.read_text() == page.as_uri()
