"""Waits for model servers in the report: below the waterfall, in the tables, and as hostile text."""

from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.commands.table import print_summary
from harness.figures.server_waits import server_waits
from harness.figures.summary import RunSummary
from harness.reports.assemble import assemble
from harness.reports.html import render
from harness.reports.sessions import served
from harness.reports.shown_runs import alone
from harness.reports.tables import tables
from harness.servers.split import ServerSplit
from harness.store.run_store import RunStore
from harness.timing.figures import Stage, TurnTiming, Waterfall
from tests.reports.conftest import timing
from tests.reports.test_page import unfolded

SPLIT = ServerSplit(
    "llm", "llama.cpp", 120.0, 12.0, "request", queue_ms=30.0, compute_ms=70.0, prefill_ms=66.0, first_decode_ms=4.0,
    idle_ms=8.0, running=2.0, waiting=1.0, cache_use=0.25, prefix_share=0.5,
)  # fmt: skip
QUICK = replace(timing(400.0), ttft_from_spoken_end_ms=330.0, servers=(SPLIT,))


def with_servers(store: RunStore, summary: RunSummary, turn: TurnTiming = QUICK) -> RunSummary:
    """The run, with waits of the agent `quick`."""
    for session in store.sessions():
        if session.key.agent == "quick":
            store.set_timing(session.id, (turn,))
    rows = server_waits({"talk-0": [turn], "talk-1": [turn]}, seed=1)
    cells = [cell.model_copy(update={"servers": rows}) if cell.agent == "quick" else cell for cell in summary.cells]
    return summary.model_copy(update={"cells": cells})


def test_parts_are_drawn_end_to_end_from_the_request_to_the_first_token() -> None:
    (wait,) = served(QUICK)
    assert (wait.name, wait.parts[0].start_ms, wait.parts[-1].end_ms) == ("TTFT", 210.0, 330.0)
    assert [part.name for part in wait.parts] == ["queue", "prefill", "first_decode", "idle", "unexplained"]
    assert all(a.end_ms == b.start_ms for a, b in zip(wait.parts, wait.parts[1:], strict=False))
    assert wait.note == (
        "TTFT 120 ms; 90 % explained; llama.cpp, by the server's own timings of each request; at most 2 requests ran and 1 "
        "waited meanwhile; 50 % of all prompts until its end came from the prefix cache; cache used up to 25 %."
    )


def test_parts_that_overlap_are_drawn_without_a_negative_bar_and_exported_as_they_are() -> None:
    (wait,) = served(replace(QUICK, servers=(replace(SPLIT, unexplained_ms=-5.0, prefill_ms=83.0, compute_ms=87.0),)))
    assert all(part.end_ms >= part.start_ms for part in wait.parts)
    assert wait.parts_ms["unexplained"] == -5.0


def test_a_recognisers_wait_is_drawn_where_its_bar_is_with_its_whole_computing() -> None:
    heard = replace(SPLIT, stage="asr", prefill_ms=None, first_decode_ms=None, late_ms=12.0)
    (wait,) = served(
        replace(QUICK, servers=(heard,), waterfall=Waterfall((Stage("endpointing", 0, 200), Stage("asr", 40, 120))))
    )
    assert [part.name for part in wait.parts] == ["queue", "compute", "idle", "unexplained"]
    assert (wait.parts[0].start_ms, wait.parts[-1].end_ms) == (40, 160)
    assert "; at most 12 ms of the queue may be none; " in wait.note


def test_a_wait_that_nobody_splits_says_so() -> None:
    bare = ServerSplit("llm", "vllm", 120.0, 120.0, note="its page does not count requests")
    (wait,) = served(replace(QUICK, servers=(bare,)))
    assert wait.note == "TTFT 120 ms; not split; its page does not count requests."


def test_page_terminal_and_table_of_turns_have_the_same_parts(
    played: Callable[..., tuple[RunStore, RunSummary]], open_page: Callable[..., Any], tmp_path: Path
) -> None:
    store, summary = played()
    summary = with_servers(store, summary)
    view = assemble(alone(store, summary), tmp_path, audio=False)
    rows = [row for row in tables(view)["turns"] if row["agent"] == "quick"]
    assert [row["llm_queue_ms"] for row in rows] == [30.0, 30.0]
    assert rows[0]["llm_split_by"] == "request"
    assert "llm_queue_ms" not in next(row for row in tables(view)["turns"] if row["agent"] == "slow")
    screen = StringIO()
    print_summary(summary, Console(file=screen, width=200), verbose=True)
    assert "Waits for model servers" in screen.getvalue()
    assert "2 turns by the server's own timings of each request" in screen.getvalue()
    path = tmp_path / "report.html"
    path.write_text(render(view), encoding="utf-8")
    page = unfolded(open_page(path.as_uri()))
    cells = page.locator("#servers tbody tr").first.locator("th, td").all_inner_texts()
    assert cells[:4] == ["quick", "TTFT", "llama.cpp", "2/2"]
    assert [cell.split("\n")[0] for cell in cells[4:]] == ["120 ms", "30 ms", "70 ms", "8 ms", "12 ms", "90 %"]
    page.locator("#c-0 > summary").click()
    drawn = page.locator('[aria-label="TTFT: what its server did"]').first
    drawn.wait_for()
    assert drawn.locator("div > span:first-child").all_inner_texts() == [
        "TTFT: queue", "TTFT: prefill", "TTFT: first decode", "TTFT: idle", "TTFT: unexplained",
    ]  # fmt: skip
    widths = drawn.locator("b").evaluate_all("bars => bars.map((bar) => bar.getBoundingClientRect().width)")
    assert widths[1] == pytest.approx(widths[0] * 66 / 30, rel=0.1)


def test_a_run_without_model_servers_has_no_such_section(
    played: Callable[..., tuple[RunStore, RunSummary]], tmp_path: Path
) -> None:
    store, summary = played()
    html = render(assemble(alone(store, summary), tmp_path, audio=False))
    assert 'id="servers"' not in html
    assert 'href="#servers"' not in html


def test_a_servers_words_are_text_wherever_they_are_shown(
    played: Callable[..., tuple[RunStore, RunSummary]], open_page: Callable[..., Any], hostile: str, tmp_path: Path
) -> None:
    store, summary = played()
    turn = replace(QUICK, servers=(replace(SPLIT, server=hostile, note=hostile),))
    view = assemble(alone(store, with_servers(store, summary, turn)), tmp_path, audio=False)
    path = tmp_path / "report.html"
    path.write_text(render(view), encoding="utf-8")
    page = open_page(path.as_uri())
    page.locator("#c-0 > summary").click()
    page.locator('[aria-label="TTFT: what its server did"]').first.wait_for()
    assert page.locator("#servers img, #servers script, .waterfall img, .waterfall script").count() == 0
    assert hostile[:20] in unfolded(page).locator("#servers").inner_text()
