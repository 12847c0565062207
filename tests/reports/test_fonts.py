"""The charts and the page in every font: no words on each other, none cut off, and no page that scrolls sideways.

A page's font is its reader's. What holds in one font alone holds on one machine alone, so each test here runs in four.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.reports.html import render
from harness.reports.view import Estimate, PageView
from tests.reports.conftest import running
from tests.reports.fonts import FACES, LIBERATION, TWICE, Face, chosen
from tests.reports.invented import LONG_NAMES, invented_view
from tests.reports.test_page import until

FAULTS = (Path(__file__).parent / "layout_faults.js").read_text(encoding="utf-8")
ALL_OF_IT = f"() => ({FAULTS})('.picture > svg, .chart svg', true)"
JOINT = f"() => ({FAULTS})('#chart-elo_latency > svg', false)"
BEYOND = "boxes => boxes.map((box) => box.scrollWidth - box.clientWidth)"
DRAW = "() => dispatchEvent(new Event('beforeprint'))"
"""Paper has every chart and no fold: the quickest way to see all that a page can show."""
EVERY_SWITCH = f"""async () => {{
  const see = {FAULTS}, found = [];
  const form = document.querySelector("form[data-joint]"), drawing = document.getElementById("chart-elo_latency");
  const choose = (select, value) => {{
    if (select.value === value) return null;
    const anew = new Promise((done) => {{
      new MutationObserver((_, it) => {{ it.disconnect(); done(); }}).observe(drawing, {{ childList: true }});
    }});
    select.value = value;
    select.dispatchEvent(new Event("input", {{ bubbles: true }}));
    return anew;
  }};
  for (const metric of form.metric.options) for (const percentile of form.percentile.options)
    for (const subset of form.subset.options) {{
      await choose(form.metric, metric.value);
      await choose(form.percentile, percentile.value);
      await choose(form.subset, subset.value);
      found.push(see("#chart-elo_latency > svg", false));
    }}
  return found;
}}"""
ELO = {"DejaVu Sans": 1_522, "Like Noto Sans": 1_419, "Like Liberation Sans": 1_445, "Twice as Wide": 3_044}
"""How wide that word is in thousandths of an em."""


def crowded(view: PageView) -> PageView:
    """All agents within a few milliseconds and Elo points of each other."""
    agents = []
    for k, agent in enumerate(view.agents):
        part = agent.whole
        near = part.latency("ttfa").model_copy(update={"p50": 600 + k % 5, "p50_interval": (560, 640)})
        rating = replace(part.rating, elo=Estimate(1_500 + k % 4, 1_480, 1_520))
        slices = {**agent.slices, "all": replace(part, cell=part.cell.model_copy(update={"ttfa_ms": near}), rating=rating)}
        agents.append(replace(agent, slices=slices))
    return replace(view, agents=tuple(agents))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Addresses: a page with all that one can show, and twenty agents, with long names, apart and at one place."""
    folder = tmp_path_factory.mktemp("pages")
    twenty = invented_view(agents=20, contexts=4)
    views = {
        "whole": invented_view(agents=4, contexts=9),
        "long": invented_view(agents=20, contexts=8, names=LONG_NAMES),
        "apart": twenty,
        "crowded": crowded(twenty),
    }
    for name, view in views.items():
        (folder / f"{name}.html").write_text(render(view), encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in views}


LIKE_ANOTHER = [pytest.mark.long]
"""Liberation's lines are lower than Noto's and its words narrower than DejaVu's: what holds in those two, holds in it."""


@pytest.fixture(
    scope="module",
    params=[pytest.param(face, id=face.family, marks=LIKE_ANOTHER if face is LIBERATION else []) for face in FACES],
)
def reader(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser with one of the fonts and no other."""
    face: Face = request.param
    with running(chosen(face, tmp_path_factory.mktemp("font"))) as browser:
        yield browser


@pytest.mark.parametrize(("shown", "width"), [("whole", 360), ("whole", 1_280), ("long", 390)])
def test_all_of_a_page_is_readable(
    reader: Any, pages: dict[str, str], shown: str, width: int, request: pytest.FixtureRequest
) -> None:
    page = reader.new_page(viewport={"width": width, "height": 900})
    page.goto(pages[shown])
    page.locator("#c-1 > summary").click()
    page.locator("#c-1 .turn").first.wait_for()
    page.evaluate(DRAW)
    page.wait_for_selector(".chart[data-ready]", state="attached")
    until(lambda: page.locator(".chart:not([data-ready])").count() == 0)
    found = page.evaluate(ALL_OF_IT)
    beyond = page.locator(".scroll:has(> .chart)").evaluate_all(BEYOND)
    page.set_viewport_size({"width": 768, "height": 900})
    between = page.evaluate("document.documentElement.scrollWidth")
    page.close()
    assert found["seen"] > 150
    assert found["lines"] > 300
    assert not found["faults"]
    assert found["width"] <= width
    assert len(beyond) > 8
    assert max(beyond) <= 1 or request.node.callspec.params["reader"] is TWICE, "no chart has to be moved sideways to see it"
    assert between <= 768


@pytest.mark.parametrize("size", [(1_280, 800), (360, 800)], ids=["wide", "phone"])
def test_twenty_agents_can_be_told_apart_whatever_is_switched_on(
    reader: Any, pages: dict[str, str], size: tuple[int, int]
) -> None:
    page = reader.new_page(viewport={"width": size[0], "height": size[1]})
    page.goto(pages["crowded"])
    found = [page.evaluate(JOINT)]
    page.goto(pages["apart"])
    found += page.evaluate(EVERY_SWITCH)
    page.close()
    assert len(found) == 1 + 6 * 2 * 3
    assert all(one["seen"] >= 20 + 4 for one in found)
    assert not [fault for one in found for fault in one["faults"]]


def test_the_browser_has_that_font_alone(reader: Any, request: pytest.FixtureRequest) -> None:
    """The stand-ins are what the browser uses, under every name that a page asks for."""
    page = reader.new_page()
    widths = page.evaluate(
        "() => { const pen = document.createElement('canvas').getContext('2d'); return ['system-ui', 'sans-serif', 'monospace']"
        ".map((family) => { pen.font = `1000px ${family}`; return Math.round(pen.measureText('Elo').width); }); }"
    )
    page.close()
    family = request.node.callspec.params["reader"].family
    assert widths[0] == widths[1] == pytest.approx(ELO[family], abs=3)
    assert (widths[2] == widths[0]) == (family != "DejaVu Sans")  # It has a monospaced one beside it.
