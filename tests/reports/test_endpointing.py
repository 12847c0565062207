"""The endpointing section: an agent over the published curves, and the same words as in the terminal."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.figures.endpointing import BANDS_MS, EVERY_LENGTH, EndpointingSummary
from harness.reports.charts import endpointing
from harness.reports.html import endpointing_section, render
from harness.reports.tables import tables
from harness.reports.view import PageView
from harness.turn_taking.detectors import DETECTORS
from tests.present import present
from tests.reports.invented import invented_view
from tests.reports.test_page import unfolded


def _without(view: PageView) -> PageView:
    """The same page of a run that was timed without the figure."""
    bare = dict(EndpointingSummary(endpointing_untimed=3))
    slices = [
        {subset: replace(part, cell=part.cell.model_copy(update=bare)) for subset, part in a.slices.items()}
        for a in view.agents
    ]
    return replace(view, agents=tuple(replace(a, slices=s) for a, s in zip(view.agents, slices, strict=True)))


def _drawn(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of every layer, however deep."""
    own = spec.get("data", {}).get("values", [])
    return [*own, *(row for layer in spec.get("layer", []) for row in _drawn(layer))]


def test_an_agent_stands_by_its_dead_air_and_by_its_decisions_where_it_tells_them() -> None:
    view = invented_view(agents=2)
    chart = present(endpointing.curves(view))
    rows = [row for row in _drawn(chart.spec) if row.get("subset") == "all"]
    told = {(row["agent"], row["measure"]): row for row in rows}
    assert {agent for agent, _ in told} == {"invented-a", "invented-b"}
    assert len(told) == 3
    found = view.agents[0].whole.cell
    first = told["invented-a", "dead air, pauses cut"]
    assert (first["ms"], first["share"]) == (found.dead_air_ms.mean, found.pauses_cut_share)
    assert "other speech, without compute" in chart.caption
    assert [row[0] for row in present(chart.table).rows] == [d.name for d in DETECTORS]


def test_tables_follow_the_pages_switch(open_page: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(render(invented_view(agents=2)), encoding="utf-8")
    page = unfolded(open_page(path.as_uri()))
    shown = page.locator('#endpointing [data-only-subset="regular"]')
    assert not shown.is_visible()
    page.locator("#endpointing select[data-subset]").select_option("regular")
    assert shown.is_visible()
    assert "mid-sentence" in shown.inner_text()
    assert "Between-people: people talking with each other" in shown.inner_text()
    assert not page.locator('#endpointing [data-only-subset="all"]').is_visible()


def test_a_run_timed_without_the_figure_says_how_to_get_it() -> None:
    view = _without(invented_view(agents=2))
    assert endpointing.curves(view) is None
    assert endpointing.by_length(view) is None
    assert endpointing_section(view, "all").tables[0].rows == ()
    page = render(view)
    assert "3 turns timed without these figures" in page
    assert tables(view)["endpointing"] == []


def test_exported_rows_name_length_and_kind() -> None:
    rows = tables(invented_view(agents=2))["endpointing"]
    assert {(row["from_ms"], row["to_ms"]) for row in rows} == {EVERY_LENGTH, *BANDS_MS}
    assert {row["subset"] for row in rows} == {"all", "regular", "adversarial"}
