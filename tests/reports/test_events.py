"""The events section: the terminal's words, and nothing at all in a run without events."""

from dataclasses import replace

from harness.figures.events import EventRow, event_rows
from harness.reports.html import events_section, render
from harness.reports.view import PageView
from tests.reports.invented import invented_view

ROW = EventRow(
    source="<b>mine</b>.yaml", sound="cough", at_ms=1_500, asks="nothing", of=4, stopped=1, share=0.25, interval=(0.006, 0.806),
    stop_ms=420, fell_silent=1, lost_words=(1, 4), lost_words_interval=(0.006, 0.806), no_occasion=2,
)  # fmt: skip


def _with_events(view: PageView) -> PageView:
    first, *rest = view.agents
    slices = {
        subset: replace(part, cell=part.cell.model_copy(update={"events": [ROW]})) for subset, part in first.slices.items()
    }
    return replace(view, agents=(replace(first, slices=slices), *rest))


def test_the_page_says_what_the_terminal_says() -> None:
    view = _with_events(invented_view(agents=2))
    (found,) = events_section(view, "all").tables
    assert found.rows == event_rows([("invented-a", [ROW])])
    page = render(view)
    assert 'href="#events"' in page
    assert "1/4 25 %</td>" in page.replace("<small>1–81 %</small>", "")
    assert "&lt;b&gt;mine&lt;/b&gt;.yaml, cough at 1500 ms: 2 calls" in page


def test_a_page_without_events_does_not_mention_them() -> None:
    page = render(invented_view(agents=1))
    assert 'id="events"' not in page
    assert 'href="#events"' not in page
