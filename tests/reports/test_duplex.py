"""The page of a full-duplex agent shows how it talks; a page without one does not mention it."""

from dataclasses import replace

from harness.figures.duplex import DuplexFigures
from harness.reports.charts.registry import charts
from harness.reports.html import render
from harness.wording import UNKNOWN_TEXT
from tests.reports.invented import invented_view

TALKS = DuplexFigures(
    overlap_share=0.12, overlap_interval=(0.08, 0.17), agent_overlap_share=0.2, backchannels_per_minute=3.25,
    backchannels_where={"over_speech": 7, "after_turn": 2}, murmured_share=0.03, late_units_share=0.004, unit_ms=80.0,
)  # fmt: skip


def test_a_full_duplex_agent_has_a_chart_of_its_own() -> None:
    view = invented_view(agents=2)
    first, second = view.agents
    slices = {
        subset: replace(part, cell=part.cell.model_copy(update={"duplex": TALKS})) for subset, part in first.slices.items()
    }
    view = replace(view, agents=(replace(first, slices=slices), second))
    (chart,) = (chart for chart in charts(view)["interaction"] if chart.name == "full_duplex")
    assert chart.table is not None
    assert chart.table.rows == ((first.name, "12 %", "20 %", "0 %", "3 %", "3.2", "7 / 0 / 2", "80 ms", UNKNOWN_TEXT),)
    page = render(view)
    assert 'id="chart-full_duplex"' in page


def test_a_page_without_one_does_not_mention_it() -> None:
    view = invented_view(agents=1)
    assert [chart.name for chart in charts(view)["interaction"]] == ["interaction"]
    assert "full_duplex" not in render(view)
