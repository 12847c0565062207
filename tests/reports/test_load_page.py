"""The page of a load test: works from disk, says what it found, and keeps apart what says nothing about the agent."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from harness.load.result import LoadResult, Step
from harness.reports.charts.load import charts
from harness.reports.load_page import render_load, slowest, write_load
from harness.reports.load_words import cautions, figures, sentences
from harness.servers.split import ServerSplit
from harness.store.load_part import ArrivalFigures, CallerError, StepRecord, Used
from harness.store.machine_facts import GpuUse
from harness.store.manifest import AgentEntry, RunManifest
from harness.store.session import UnrecordedCall
from tests.harness.load.made_turns import MADE, changed, queued, result_of, turn, written
from tests.harness.load.made_turns import step as made_step
from tests.reports.test_load_chart import rows_of

HOSTILE = "<script>alert(1)</script>"
HOSTILE_MADE = MADE | {"agents": [AgentEntry(name=HOSTILE, kind="cascade", profile_hash="p", profile_text="")]}
LASTS_S = 240.0
FACTS: dict[str, Any] = {
    "used": Used(processes=1, cores_a_caller=0.01, busiest_process=0.3, machine=0.5, mib_a_caller=1.0),
    "arrivals": ArrivalFigures(calls=99, p99_error_ms=0.4, max_error_ms=1.2, law_distance=0.02),
    "caller_error": CallerError(calls=70, bias_ms=-0.5, p50_ms=0.6, p95_ms=2.1, max_ms=4.0),
    "pacing_p99_error_ms": 0.3, "loop_lag_p99_ms": 1.5,
}  # fmt: skip


def step(rate: float, *, late: str = "", turns: list[UnrecordedCall] | None = None) -> Step:
    return made_step(queued(rate, LASTS_S, 1) if turns is None else turns, rate=rate, late=late, **FACTS)


def result(*steps: Step) -> LoadResult:
    return result_of(*steps, budget_ms=800.0, priority="SCHED_FIFO 20")


WHOLE = result(step(1), step(2), step(5), step(8), step(9.5, late="callers came late, p99 90 ms"))


@pytest.fixture
def page_of(tmp_path: Path) -> Any:
    def render(found: LoadResult, calls: Sequence[UnrecordedCall] = (), **made: Any) -> str:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        return render_load(written(folder, found, calls, HOSTILE_MADE | made), found)

    return render


def slow(tmp_path: Path, *calls: UnrecordedCall) -> Any:
    return slowest(written(tmp_path, result(step(1)), calls))


def test_the_answer_is_under_ttfa_where_it_differs_and_nowhere_else() -> None:
    rows = queued(2, LASTS_S, 1)
    late = [changed(row, answer_ms=2_500.0) for row in rows]
    for cell, before in zip(figures(step(2, turns=late))[:2], figures(step(2, turns=rows))[:2], strict=True):
        assert (cell.text, cell.interval) == (before.text, f"{before.interval}; answer 2.50 s")
    alone = [turn(k, k, 400.0, filler=True) for k in range(200)]
    assert figures(step(2, turns=alone))[0].interval.endswith("; answer > 15 s")
    told = step(2, turns=late).to_json()
    assert (told["answer_ms"]["p50"], told["filler_first"]) == (2_500.0, (len(rows), len(rows)))


def test_a_step_above_the_caller_s_ceiling_is_said_and_shows_no_figure_of_the_agent() -> None:
    said = list(sentences(WHOLE))
    assert sum("At 9.5 calls a second nothing is said of the agent" in one for one in said) == 1
    agents = [cell.text for cell in figures(WHOLE.steps[-1])[:7]]
    assert agents == ["—"] * 7
    assert [cell.text for cell in figures(WHOLE.steps[-1])[7:]] == ["0.4 ms", "2.1 ms", "50 %"]
    told = WHOLE.to_json()["steps"][-1]
    assert told["ttfa_ms"]["p50"] is told["cut_in_rate"] is told["continuity"] is None
    assert told["arrivals"]["p99_error_ms"] == 0.4
    assert told["caller_error"]["p95_ms"] == 2.1


def test_the_reason_the_knee_and_the_calls_within_the_budget_are_said_with_their_intervals() -> None:
    said = "\n".join(sentences(WHOLE))
    assert "p95 of TTFA within 800 ms: " in said
    assert "calls a second [" in said
    assert "at once" in said
    assert "is the agent: TTFA p95" in said
    assert "The knee" in said
    assert WHOLE.limit is not None
    assert WHOLE.limit[0] == 5


def test_few_turns_are_said_in_plain_words() -> None:
    few = result(step(0.2))
    assert figures(few.steps[0])[1].text == "—"
    assert "needs 60" in figures(few.steps[0])[1].interval
    short = result(step(5, turns=queued(5, 60.0, 1)))
    assert any("an interval needs 8" in one for one in sentences(short))


def test_the_slowest_turns_come_first_and_uncounted_ones_do_not(tmp_path: Path) -> None:
    turns = [turn(k, k, 100.0 * (k + 1)) for k in range(20)]
    found = slow(tmp_path, *turns, turn(99, 99, 9_000.0, counted=False), turn(98, 98, None), turn(97, 97, discarded="echo"))
    assert [one.wait for one in found][:2] == ["2.00 s", "1.90 s"]
    assert len(found) == 12


def test_a_step_above_the_caller_s_ceiling_has_no_slow_turns(page_of: Any) -> None:
    own, callers = turn(1, 1, 700.0), turn(2, 2, 9_000.0, rate=9.5)
    page = page_of(WHOLE, [own, callers])
    assert "700 ms" in page
    assert "9.00 s" not in page


def test_the_stages_of_a_slow_turn_are_at_their_part_of_the_wait(tmp_path: Path) -> None:
    (one,) = slow(tmp_path, turn(0, 0, 800.0, stages={"endpointing": (0.0, 200.0), "llm": (200.0, 600.0)}))
    assert [(stage.left, stage.width, stage.length) for stage in one.stages] == [(0, 25, "200 ms"), (25, 75, "600 ms")]


def test_an_agent_that_turns_every_caller_away_is_in_its_row_and_its_curve() -> None:
    away = result(step(1), step(2, turns=[turn(k, k, None, failure="refused", rate=2.0) for k in range(200)]))
    assert [cell.text for cell in figures(away.steps[1])][:2] == ["> 15 s", "> 15 s"]
    assert figures(away.steps[1])[6].text == "200 of 200"
    shares = next(chart for chart in charts(away) if chart.name == "shares")
    assert {"offered": 2, "figure": "failed", "value": 1.0}.items() <= rows_of(shares.spec)[-1].items()


def test_where_the_knee_is_beyond_what_was_played_is_said() -> None:
    said = "\n".join(sentences(result(step(0.5), step(1), step(1.5))))
    assert "is nowhere up to 1.5 calls a second [" in said
    assert "is at 9 calls a second or below [" in "\n".join(sentences(result(step(9), step(9.5), step(9.9))))


def test_a_chart_without_a_point_is_left_out(page_of: Any) -> None:
    silent = result(step(1, turns=[turn(k, k, None) for k in range(3)]))
    assert [chart.name for chart in charts(silent)] == ["shares", "caller"]
    assert 'id="chart-waits"' not in page_of(silent)


def test_turns_of_plays_of_version_0_3_are_no_slow_turns(page_of: Any) -> None:
    play = StepRecord(name="asr computing (1)", computing=("asr",), sessions=60, says_of_agent=True)
    part = WHOLE.part.model_copy(update={"records": (*WHOLE.part.records, play)})
    of_play = turn(1, 1, 9_000.0)
    of_play = replace(of_play, key=replace(of_play.key, step=play.name))
    page = page_of(replace(WHOLE, part=part), [turn(0, 0, 700.0), of_play])
    assert "700 ms" in page
    assert "9.00 s" not in page


def test_names_are_text(page_of: Any) -> None:
    call = turn(0, 0, 700.0, stages={"llm": (0.0, 400.0)})
    page = page_of(WHOLE, [replace(call, key=replace(call.key, context_id=HOSTILE))])
    assert HOSTILE not in page
    assert "src=" not in page.split("<script>")[0]


def test_without_a_figure_nothing_is_drawn_and_that_is_said(page_of: Any) -> None:
    page = page_of(result(step(0.05, late="callers came late")))
    assert "No step has a figure that could be drawn." not in page_of(WHOLE)
    assert 'id="chart-waits"' not in page
    assert 'id="chart-caller"' in page
    nobody = made_step([], rate=0.05, late="no call could be measured")
    assert "No step has a figure that could be drawn." in page_of(result(nobody))


def test_what_the_gpu_did_is_said_in_the_words_of_a_run_and_its_name_is_text(page_of: Any) -> None:
    use = GpuUse(
        samples=900, loaded=500, slowed={"power": 1.0}, slowed_sm_clock_mhz=(1425.0, 1980.0), others_share=0.5
    )  # fmt: skip
    more = {"cards": {"gpu0": use}, "machine": {"gpus": HOSTILE, "gpu_driver": "580"}}
    clock, shared = cautions(RunManifest(**MADE | more))
    assert clock.topic == "The GPU's clock"
    assert "by its power cap or supply in 100 % of 500 samples under load, to 1,425 MHz of 1,980" in clock.text
    assert "programs of no agent used it in 50 %" in shared.text
    page = page_of(WHOLE, **more)
    assert HOSTILE not in page
    assert "1,425 MHz of 1,980" in page
    assert cautions(RunManifest(**MADE)) == ()
    assert "The GPU" not in page_of(WHOLE)


def test_waits_for_model_servers_have_a_table_where_a_server_says_what_it_does(page_of: Any) -> None:
    split = ServerSplit("llm", HOSTILE, 200.0, 20.0, "request", queue_ms=60.0, compute_ms=120.0, prefill_ms=120.0)
    served = [changed(row, servers=(split,)) for row in queued(2, LASTS_S, 1)]
    page = page_of(result(step(1), step(2, turns=served)))
    assert HOSTILE not in page
    assert page.count('id="servers"') == 1
    (section,) = re.findall(r'<section id="servers".*?</section>', page, re.DOTALL)
    assert section.count('<th scope="row">') == 1
    assert "60 ms<small>" in section
    assert 'id="servers"' not in page_of(WHOLE)


@pytest.fixture
def shown(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    stages = {"endpointing": (0.0, 300.0), "llm": (300.0, 350.0), "tts": (650.0, 150.0)}
    rows = [turn(k, k, 800.0, stages=stages, rate=5.0) for k in range(3)]
    found = WHOLE
    write_load(written(tmp_path, found, rows, HOSTILE_MADE), found)
    context = browser.new_context(offline=True)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda line: problems.append(line.text) if line.type in ("error", "warning") else None)
    page.goto((tmp_path / "report.html").as_uri())
    yield page
    assert problems == []
    context.close()


def test_the_curves_are_drawn_from_disk_and_a_slow_turn_opens_by_key(shown: Page) -> None:
    for name in ("waits", "shares", "caller"):
        shown.wait_for_selector(f"#chart-{name} svg")
    axes = shown.locator("#chart-waits svg").text_content() or ""
    assert "1,500" in axes, "milliseconds are plain numbers"
    assert "e+" not in axes
    assert "0.2" in (shown.locator("#chart-caller svg").text_content() or "")
    assert shown.locator("#steps tbody tr").count() == 5
    assert shown.locator("#steps tbody tr.apart").count() == 1
    first = shown.locator(".slow summary").first
    first.focus()
    shown.keyboard.press("Enter")
    assert shown.locator(".slow details[open] dt").all_inner_texts() == ["endpointing", "language model", "speech synthesis"]


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_runs_out_of_the_window(shown: Page, width: int) -> None:
    shown.set_viewport_size({"width": width, "height": 800})
    shown.wait_for_selector("#chart-waits svg")
    assert shown.evaluate("document.documentElement.scrollWidth") <= width


def test_the_colours_follow_the_reader(shown: Page) -> None:
    shown.get_by_role("button", name="Dark").click()
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 28)"


def test_the_curve_has_the_agents_steps_alone_and_its_open_calls() -> None:
    found = result(step(1), step(2), step(5, late="callers came late, p99 90 ms")).within_budget
    assert found is not None
    assert found.highest == 2
    within = WHOLE.within_budget
    assert within is not None
    assert within.at_once == pytest.approx(12 * within.rate)
