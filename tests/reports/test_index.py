"""The page over many runs: its rows, its changes, what is left out, and how it is read."""

import html
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.commands import report
from harness.errors import UserError
from harness.figures.summarise import summarise
from harness.reports.index.page import index_json, render_index
from harness.reports.index.rows import Index, read_index
from harness.reports.index.trends import trends
from harness.reports.view import percentile
from harness.store.run_store import RunStore
from tests.borne_out import AN_OPINION, BORNE_OUT
from tests.reports.nightly import night, nights
from tests.reports.test_page_for_everybody import grave_faults

Open = Callable[..., Any]


def rows(index: Index) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(index_json(index, index.root / "index.html"))["rows"]
    return found


def latency_change(row: dict[str, Any]) -> dict[str, Any] | None:
    return next((change for change in row["changes"] if change["figure"] == "latency"), None)


@pytest.mark.parametrize("check", [None, AN_OPINION, BORNE_OUT])
def test_every_figure_is_that_of_the_runs_own_summary(tmp_path: Path, check: Any) -> None:
    store = night(
        tmp_path / "runs" / "one", {"quick": 400.0, "slow": 900.0}, cut=0.25, silent=1, jitter_ms=30,
        conditions=["clean", "g711"], check=check,
    )  # fmt: skip
    (run,) = read_index(tmp_path / "runs").runs
    summary = summarise(store)
    cells = {(cell.agent, cell.condition): cell for cell in summary.whole}
    assert len(run.cells) == len(cells) == 4
    for row in run.cells:
        cell, shown = cells[row.series.agent, row.series.condition], row.figures
        assert percentile(shown.latency, "p50") == percentile(cell.ttfa_ms, "p50")
        assert shown.within_budget == (cell.within_budget.ttfa, cell.within_budget.ttfa_interval)
        assert shown.pauses_cut == (cell.pauses_cut_share, cell.pauses_cut_interval)
        assert shown.turns == cell.turns
        assert row.quality_state == cell.quality_state
        assert bool(row.kind) == (check is not None)
        assert (row.kind == "no verdict") == (check is AN_OPINION)


def test_rows_are_newest_first_and_lead_to_each_runs_own_report(tmp_path: Path) -> None:
    nights(tmp_path, [400.0, 410.0, 420.0])
    (tmp_path / "2030-01-02" / "report.html").write_text("x", encoding="utf-8")
    found = rows(read_index(tmp_path))
    assert [row["run"] for row in found] == ["2030-01-03", "2030-01-02", "2030-01-01"]
    assert [row["report"] for row in found] == [None, "2030-01-02/report.html", None]
    elsewhere = tmp_path / "pages" / "all.html"
    assert "../2030-01-02/report.html" in render_index(read_index(tmp_path), elsewhere)


def test_a_night_that_became_slower_is_worse_by_the_callers_own_difference(tmp_path: Path) -> None:
    nights(tmp_path, [400.0, 400.0, 460.0], jitter_ms=6)
    newest, middle, oldest = rows(read_index(tmp_path))
    assert oldest["changes"] == []
    steady, slower = latency_change(middle), latency_change(newest)
    assert steady is not None
    assert slower is not None
    assert steady["verdict"] == "unclear"
    assert (slower["verdict"], slower["since"], slower["conversations"]) == ("worse", "2030-01-02", 12)
    assert slower["value"] == pytest.approx(60, abs=10)
    low, high = slower["interval"]
    assert 0 < low < slower["value"] < high
    # The callers differ by more than the two nights do, and that part is taken out.
    wide = newest["median_interval_ms"][1] - newest["median_interval_ms"][0]
    assert high - low < wide
    (trend,) = trends(read_index(tmp_path).runs)
    assert trend.is_worse


def test_more_cut_pauses_are_worse_and_fewer_are_better(tmp_path: Path) -> None:
    for number, cut in enumerate((0.0, 0.9, 0.0)):
        night(tmp_path / f"n{number}", {"a": 400.0}, cut=cut, contexts=20, created=f"2030-01-0{number + 1}T00:00:00Z")
    found = {row["run"]: {c["figure"]: c["verdict"] for c in row["changes"]} for row in rows(read_index(tmp_path))}
    assert found["n1"]["pauses_cut"] == "worse"
    assert found["n2"]["pauses_cut"] == "better"


@pytest.mark.parametrize(
    ("other", "series"),
    [
        ({"pack_hash": "1" * 64}, 2), ({"conditions": ["g711"]}, 2), ({"concurrency": 4}, 2), ({"barge_in_ms": 500.0}, 2),
        ({}, 1),
    ],
)  # fmt: skip
def test_only_runs_that_ask_the_same_are_one_trend(tmp_path: Path, other: dict[str, Any], series: int) -> None:
    night(tmp_path / "one", {"a": 400.0}, created="2030-01-01T00:00:00Z")
    night(tmp_path / "two", {"a": 900.0}, created="2030-01-02T00:00:00Z", **other)
    newest, _ = rows(read_index(tmp_path))
    assert bool(newest["changes"]) == (series == 1)
    assert len(trends(read_index(tmp_path).runs)) == (1 if series == 1 else 0)


def test_nothing_is_called_worse_on_another_machine_but_the_difference_is_shown(tmp_path: Path) -> None:
    night(tmp_path / "one", {"a": 400.0}, created="2030-01-01T00:00:00Z")
    night(tmp_path / "two", {"a": 900.0}, created="2030-01-02T00:00:00Z", machine_id="another")
    change = latency_change(rows(read_index(tmp_path))[0])
    assert change is not None
    assert change["verdict"] == "unclear"
    assert change["unlike"] == ["another machine"]
    assert change["value"] == 500
    assert "not compared: another machine" in page_of(read_index(tmp_path))


def test_an_invalid_run_has_no_change_and_is_no_run_before(tmp_path: Path) -> None:
    night(tmp_path / "one", {"a": 400.0}, created="2030-01-01T00:00:00Z")
    night(tmp_path / "two", {"a": 900.0}, created="2030-01-02T00:00:00Z", invalid=["pacing p99 9 ms"])
    night(tmp_path / "three", {"a": 410.0}, created="2030-01-03T00:00:00Z")
    three, two, _ = rows(read_index(tmp_path))
    assert (two["valid"], two["changes"]) == (False, [])
    change = latency_change(three)
    assert change is not None
    assert (change["since"], change["value"]) == ("one", 10)
    page = page_of(read_index(tmp_path))
    assert "INVALID, not to be quoted: pacing p99 9 ms" in page


def test_under_eight_conversations_there_is_no_interval_and_no_change(tmp_path: Path) -> None:
    nights(tmp_path, [400.0, 900.0], contexts=6)
    newest, _ = rows(read_index(tmp_path))
    assert newest["changes"] == []
    assert newest["median_interval_ms"] == [None, None]
    page = page_of(read_index(tmp_path))
    assert "no interval: under 8 conversations" in page
    assert "No change is given: under 8 conversations" in page


def test_silence_is_slowest_and_its_bounds_are_said(tmp_path: Path) -> None:
    night(tmp_path / "one", {"a": 400.0}, created="2030-01-01T00:00:00Z")
    night(tmp_path / "two", {"a": 400.0}, created="2030-01-02T00:00:00Z", silent=12)
    newest, _ = rows(read_index(tmp_path))
    assert newest["median_over_limit"]
    change = latency_change(newest)
    assert change is not None
    assert change["verdict"] == "worse"
    assert change["value"] is None
    assert "> 15 s" in page_of(read_index(tmp_path))


def test_broken_unfinished_and_foreign_folders_are_named_in_one_line_each(tmp_path: Path) -> None:
    nights(tmp_path / "good", [400.0])
    night(tmp_path / "stopped", {"a": 400.0}, unplayed=5)
    night(tmp_path / "lost", {"a": 400.0})
    shutil.rmtree(next((tmp_path / "lost" / "sessions").iterdir()))
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.sqlite").write_bytes(b"this is no database " * 60)
    (tmp_path / "<img src=x>" / "deeper").mkdir(parents=True)
    (tmp_path / ".hidden").mkdir()
    index = read_index(tmp_path)
    assert [run.name for run in index.runs] == ["good/2030-01-01"]
    why = {each.name: each.why for each in index.left_out}
    assert set(why) == {"stopped", "lost", "broken", "<img src=x>"}
    assert "7 of 12 calls played" in why["stopped"]
    assert "--resume" in why["stopped"]
    assert "files of this session are gone" in why["lost"]
    assert "damaged" in why["broken"]
    assert not any("\n" in text for text in why.values())
    raw = render_index(index, tmp_path / "index.html")
    assert "<img src=x>" not in raw
    assert "<img src=x>" in html.unescape(raw)


def test_hostile_names_never_become_markup_or_another_address(tmp_path: Path, hostile: str) -> None:
    folder = tmp_path / "javascript:alert(1)"
    night(folder, {hostile.replace("/", ""): 400.0}, pack=hostile, invalid=[hostile])
    (folder / "report.html").write_text("x", encoding="utf-8")
    page = render_index(read_index(tmp_path), tmp_path / "index.html")
    assert "<img" not in page
    assert 'href="javascript%3Aalert%281%29/report.html"' in page


@pytest.mark.parametrize("prepare", [lambda _: None, lambda path: (path / "notes").mkdir()])
def test_a_folder_without_runs_is_one_line(tmp_path: Path, prepare: Callable[[Path], None]) -> None:
    prepare(tmp_path)
    told = CliRunner().invoke(app, ["report", "--index", str(tmp_path)])
    assert isinstance(told.exception, UserError)
    assert "has no run in it or below it" in str(told.exception)
    assert not (tmp_path / "index.html").exists()


def test_a_run_itself_and_two_folders_and_options_of_one_run_are_refused(tmp_path: Path) -> None:
    night(tmp_path / "one", {"a": 400.0})
    said = [
        str(CliRunner().invoke(app, ["report", "--index", *words]).exception)
        for words in ([str(tmp_path / "one")], [str(tmp_path), "other"], [str(tmp_path), "--bundle"], ["nowhere"])
    ]
    assert [re.search(words, text) is not None for words, text in zip(
        ("is a run itself", "takes one folder", "--bundle: is for the report of one run", "is no folder"), said, strict=True
    )] == [True] * 4, said  # fmt: skip


def test_the_command_writes_the_page_and_prints_the_same_rows(tmp_path: Path) -> None:
    nights(tmp_path / "runs", [400.0, 470.0])
    told = CliRunner().invoke(app, ["report", str(tmp_path / "runs"), "--json"])
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["rows"] == rows(read_index(tmp_path / "runs"))
    page = (tmp_path / "runs" / "index.html").read_text(encoding="utf-8")
    assert "2030-01-02" in page
    plain = CliRunner().invoke(app, ["report", "--index", str(tmp_path / "runs"), "--out", str(tmp_path / "here" / "all.html")])
    assert f"index   {tmp_path / 'here' / 'all.html'} (2 runs)" in plain.stdout
    assert (tmp_path / "here" / "all.html").is_file()


def test_runs_that_measured_nothing_are_no_trend(tmp_path: Path) -> None:
    night(tmp_path / "n0", {"a": 400.0}, created="2030-01-01T00:00:00Z")
    night(tmp_path / "n1", {"a": 400.0}, created="2030-01-02T00:00:00Z")
    assert len(trends(read_index(tmp_path).runs)) == 1
    for folder in ("n0", "n1"):
        store = RunStore.open(tmp_path / folder)
        for session in store.sessions():
            store.set_timing(session.id, [replace(turn, discarded="detectors disagree") for turn in session.turn_timings])
    assert trends(read_index(tmp_path).runs) == ()
    assert "Trends" not in page_of(read_index(tmp_path))


def test_a_text_endpoint_has_its_first_token_and_no_pauses(tmp_path: Path) -> None:
    summary = summarise(night(tmp_path / "one", {"a": 400.0}, kind="text"))
    (row,) = rows(read_index(tmp_path))
    assert row["measure"] == "ttft"
    assert row["median_ms"] == summary.whole[0].ttft_ms.p50
    assert row["within_budget"] == summary.whole[0].within_budget.ttft
    assert row["pauses_cut"] is None
    assert "TTFT" in page_of(read_index(tmp_path))


@pytest.mark.parametrize(("soon_s", "shown"), [(0.0, True), (1e9, False)])
def test_progress_is_shown_once_reading_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, soon_s: float, shown: bool
) -> None:
    nights(tmp_path, [400.0, 470.0])
    monkeypatch.setattr(report, "_SOON_S", soon_s)
    told = CliRunner().invoke(app, ["report", "--index", str(tmp_path)])
    assert ("Reading runs (2)" in told.stderr) == shown
    assert "Reading" not in told.stdout


def test_no_sound_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nights(tmp_path, [400.0, 470.0], check=BORNE_OUT)
    monkeypatch.setattr(RunStore, "recording", lambda *_: pytest.fail("a recording was decoded"))
    assert len(read_index(tmp_path).runs) == 2


@pytest.mark.parametrize(("width", "dark"), [(390, True)])
def test_axe_finds_nothing_serious_and_nothing_runs_out_of_a_phone(
    open_page: Open, tmp_path: Path, width: int, dark: bool
) -> None:
    for store in nights(tmp_path / "nightly", [400.0, 405.0, 520.0], cut=0.2, jitter_ms=8, check=BORNE_OUT):
        store.close()
    night(tmp_path / "an-invalid-run-with-a-name-that-is-longer-than-a-phone-is-wide", {"a" * 60: 400.0}, invalid=["pacing"])
    (tmp_path / "foreign").mkdir()
    page_file = tmp_path / "index.html"
    page_file.write_text(render_index(read_index(tmp_path), page_file), encoding="utf-8")
    page = open_page(page_file.as_uri(), width=width, dark=dark)
    assert not grave_faults(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    chart = page.get_by_role("img", name="Median TTFA over 3 runs")
    assert "worse than the run before in nightly/2030-01-03" in chart.get_attribute("aria-label")
    dots = chart.locator("path.dot")
    heights = [dots.nth(k).bounding_box()["y"] for k in range(3)]
    assert heights[2] < heights[0]
    assert chart.locator("path.dot.worse").count() == 1
    assert page.get_by_role("row").count() == 1 + 4
    page.emulate_media(media="print")
    assert not grave_faults(page)


def page_of(index: Index) -> str:
    """The words of the page."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", render_index(index, index.root / "index.html"))).split())
