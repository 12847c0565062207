"""The joint chart: names that keep off each other, marks that are an agent's own, and an axis that says what it is."""

from dataclasses import replace
from itertools import combinations
from xml.etree.ElementTree import fromstring

import pytest

from harness.ranking.board import QualityState
from harness.reports.answers import answers
from harness.reports.charts.elo_latency_chart import PHONE, SIZES, WIDE, Size, colour_and_shape, draw
from harness.reports.charts.elo_latency_points import Choice, choices, default_choice, frontier, points
from harness.reports.charts.labels import Box, place, shortened, text_width
from harness.reports.charts.scale import LogScale
from harness.reports.verdict import verdicts
from harness.reports.view import Estimate, PageView, RatingView, SliceView
from harness.timing.quantiles import Quantiles
from tests.present import present
from tests.reports.invented import in_state, invented_view, quantiles


@pytest.fixture(scope="module")
def view() -> PageView:
    return invented_view(agents=20, contexts=9)


def test_colour_and_shape_together_are_an_agents_own() -> None:
    assert len({colour_and_shape(k) for k in range(64)}) == 64


def test_the_axis_says_that_it_is_logarithmic_and_has_ticks_around_every_point(view: PageView) -> None:
    for size in SIZES:
        drawing = draw(view, default_choice(view), size)
        assert "logarithmic axis" in drawing
        assert drawing.count('class="tick"') >= 4


@pytest.mark.parametrize("span", [(300.0, 450.0), (280.0, 1_300.0), (90.0, 16_000.0)])
def test_ticks_stand_apart_whatever_the_range_and_the_room(span: tuple[float, float]) -> None:
    for width in (250.0, 640.0):
        scale = LogScale(*span, 40.0, 40.0 + width)
        ticks = scale.ticks(12.0)
        assert len(ticks) >= 2
        places = [scale.at(value) for value, _ in ticks]
        widths = [text_width(label, 12.0) for _, label in ticks]
        assert all(b - a > (v + w) / 2 for a, b, v, w in zip(places, places[1:], widths, widths[1:], strict=False))


def test_every_choice_that_has_points_has_a_drawing_and_names_are_text(view: PageView) -> None:
    hostile = replace(view, agents=(replace(view.agents[0], name="<script>alert(1)</script>"), *view.agents[1:]))
    for choice in choices(hostile)[:3]:
        drawing = draw(hostile, choice, PHONE)
        assert "&lt;script&gt;" in drawing
        assert "<script>" not in drawing
    assert not draw(view, Choice("no such line", "ttfa", "p50", "all"), WIDE)


def test_the_frontier_climbs_with_latency(view: PageView) -> None:
    corners = frontier(points(view, default_choice(view)))
    assert [p.latency.value for p in corners] == sorted(p.latency.value or 0 for p in corners)
    assert [p.elo.value for p in corners] == sorted(p.elo.value or 0 for p in corners)


def test_names_keep_off_points_and_taken_places() -> None:
    room, taken = Box(0, 0, 400, 300), [Box(100, 0, 400, 150)]
    spots = [(100.0 + k, 160.0 + k % 3) for k in range(12)]
    found = place(spots, [(80.0, 15.0)] * 12, room, taken, 12.0)
    boxes = [box for box in found if box is not None]
    assert len(boxes) == 12
    assert not any(a.meets(b) for a, b in combinations([*boxes, *taken], 2))


def test_a_long_name_keeps_its_beginning_and_its_end() -> None:
    short = shortened("a-very-long-agent-name-with-seed-17", 12.0, 120.0)
    assert short.startswith("a-v")
    assert short.endswith("17")
    assert text_width(short, 12.0) <= 120.0


def test_a_judges_opinion_is_hollow_and_grey_and_has_no_frontier(view: PageView) -> None:
    titles: dict[QualityState, str] = {
        "people": "Elo by people",
        "borne_out": "Elo by a judge, borne out",
        "opinion": "a judge's opinion",
    }
    for state, title in titles.items():
        drawn = str(draw(in_state(view, state), default_choice(view), WIDE))
        hollow = drawn.count('class="point opinion"')
        assert hollow == (len(view.agents) if state == "opinion" else 0)
        assert drawn.count('fill="var(--card)"') == hollow
        assert ('class="frontier"' in drawn) == (state != "opinion")
        assert title in drawn.replace("&#39;", "'")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: size.name)
def test_every_reference_is_named_and_no_rule_runs_through_a_word(size: Size) -> None:
    view = invented_view(agents=3, contexts=9)
    drawn = fromstring(draw(view, default_choice(view), size))
    rules = [float(line.attrib["y1"]) for line in drawn.iterfind("{*}line[@stroke-width='1.2']")]
    words = [text for text in drawn.iterfind("{*}text") if text.attrib["fill"] == "var(--limit)"]
    assert len(rules) == len(words) == 2
    for text in words:
        baseline, letters = float(text.attrib["y"]), float(text.attrib["font-size"])
        assert not [y for y in rules if baseline - letters < y < baseline + 0.3 * letters]
    named = [text for text in drawn.iterfind("{*}text") if "reference" in text.attrib.get("class", "")]
    assert len(named) == len(view.references)
    assert all(text.attrib["paint-order"] == "stroke" for text in (*words, *named))


def with_median(view: PageView, number: int, p50: Quantiles) -> PageView:
    """The view with another median TTFA of one agent."""
    agent = view.agents[number]
    part = replace(agent.whole, cell=agent.whole.cell.model_copy(update={"ttfa_ms": p50}))
    changed = replace(agent, slices={**agent.slices, "all": part})
    return replace(view, agents=(*view.agents[:number], changed, *view.agents[number + 1 :]))


def test_an_interval_without_an_end_is_drawn_open_as_the_table_has_it() -> None:
    view = invented_view(agents=2, contexts=9)
    closed = fromstring(draw(view, default_choice(view), WIDE))
    assert closed.findall("{*}path[@class='open']") == []
    half_open = with_median(view, 0, Quantiles(p50=616, p50_at_least=547, n=9))
    assert present(answers(verdicts(half_open)).rows[0].cells[0].bar).interval is not None
    drawn = fromstring(draw(half_open, default_choice(view), WIDE))
    (head,) = drawn.findall("{*}path[@class='open']")
    edge = float(head.attrib["d"].split("L")[1].split()[0])
    rules = [line for line in drawn.iterfind("{*}line[@stroke-width='2']") if float(line.attrib["x2"]) == edge]
    assert len(rules) == 1
    assert float(rules[0].attrib["x1"]) < edge - 50
    assert "≥ 547 ms" in "".join(drawn.itertext())


def test_an_agent_that_the_table_has_and_the_chart_cannot_is_named_under_it() -> None:
    view = invented_view(agents=3, contexts=9)
    silent = with_median(view, 1, quantiles(Estimate()))
    drawn = str(draw(silent, default_choice(view), WIDE))
    assert drawn.count('class="point"') == 2
    assert f"Not drawn: {view.agents[1].name} (&gt; 15 s)" in drawn
    assert "Not drawn" not in str(draw(view, default_choice(view), WIDE))


def test_where_nobody_rated_the_chart_is_of_latency_alone(view: PageView) -> None:
    def unrated(part: SliceView) -> SliceView:
        return replace(part, rating=RatingView(), cell=part.cell.model_copy(update={"quality_state": "none"}))

    agents = tuple(replace(a, slices={name: unrated(part) for name, part in a.slices.items()}) for a in view.agents)
    alone = replace(view, agents=agents, references=())
    found = points(alone, default_choice(alone))
    assert [p.latency.value for p in found] == sorted(present(p.latency.value) for p in found)
    assert frontier(found) == ()
    drawn = str(draw(alone, default_choice(alone), WIDE))
    assert "Latency alone" in drawn
    assert drawn.count('class="point"') == len(found) == len(view.agents)
    assert "Elo" not in drawn
