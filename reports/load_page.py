"""The page of a load test: what it found in sentences, the curves, every step as a row, and the slowest turns in stages.

One file that opens from disk without network, like the other reports. Names of agents and contexts and the details of failures
are hostile text, which the template escapes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from markupsafe import Markup

from harness.files import write_whole
from harness.load.ceiling import LoadResult
from harness.load.limits import limit_of
from harness.reports import isolated_words, load_servers
from harness.reports import load_words as words
from harness.reports.charts.load import charts
from harness.reports.charts.theme import STAGE_COLOURS, STAGE_LABELS, on_page
from harness.reports.embedding import content_policy, safe_json, script_text, vega_script
from harness.reports.page_files import environment, page_file
from harness.store.load_files import LoadMade, LoadTurn
from harness.wording import counted, milliseconds

SLOWEST: Final = 12
"""Turns shown with their stages: enough to see which stage they share."""
_COLOURS: Final = dict(zip(STAGE_LABELS, STAGE_COLOURS, strict=True))


@dataclass(frozen=True, slots=True)
class StageShown:
    """One stage of a slow turn: its label, its length, and its place in the bar in percent."""

    label: str
    length: str
    left: float
    width: float
    colour: str


@dataclass(frozen=True, slots=True)
class SlowTurn:
    """A turn with a long wait, and its stages where the agent reports them."""

    session: str
    context: str
    offered: str
    wait: str
    stages: tuple[StageShown, ...]


def slowest(turns: Sequence[LoadTurn]) -> list[SlowTurn]:
    """The turns with the longest TTFA among those of the steps that count and were answered."""
    whole = [turn for turn in turns if turn.computing is None and turn.counted and turn.discarded is None]
    heard = [(turn.ttfa_ms, turn) for turn in whole if turn.ttfa_ms is not None]
    return [_shown(turn, ttfa_ms) for ttfa_ms, turn in sorted(heard, key=lambda one: -one[0])[:SLOWEST]]


def _shown(turn: LoadTurn, ttfa_ms: float) -> SlowTurn:
    stages = tuple(
        StageShown(
            STAGE_LABELS.get(name, name), milliseconds(length_ms),
            max(0.0, 100 * start_ms / ttfa_ms), max(0.0, 100 * length_ms / ttfa_ms), _COLOURS.get(name, ""),
        )
        for name, (start_ms, length_ms) in turn.stages.items()
    )  # fmt: skip
    offered = f"{turn.rate:g} calls/s" if turn.rate is not None else f"{turn.callers} at once"
    return SlowTurn(turn.session, turn.context, offered, milliseconds(ttfa_ms), stages)


@dataclass(frozen=True, slots=True)
class IsolatedShown:
    """Who slows whom: the sentences, and the matrix with its heads."""

    sentences: tuple[str, ...]
    heads: tuple[str, ...]
    rows: tuple[isolated_words.Row, ...]


def _isolated(result: LoadResult) -> IsolatedShown | None:
    found = result.isolated
    if found is None:
        return None
    said = isolated_words.sentences(found, is_open=result.arrivals is not None)
    return IsolatedShown(tuple(said), isolated_words.heads(), isolated_words.rows(found))


def write_load_page(made: LoadMade, result: LoadResult, turns: Sequence[LoadTurn], page: Path) -> None:
    """Write the page, at once or not at all."""
    page.parent.mkdir(parents=True, exist_ok=True)
    write_whole(page, render_load(made, result, turns))


def render_load(made: LoadMade, result: LoadResult, turns: Sequence[LoadTurn]) -> str:
    """The page as HTML."""
    drawn = charts(result)
    data = safe_json({"config": on_page(), "charts": {chart.name: chart.spec for chart in drawn}})
    agents = {place for place, step in enumerate(result.steps) if step.says_of_agent}
    scripts = [script_text(vega_script()), script_text(page_file("script/theme.js")), script_text(page_file("script/load.js"))]
    return (
        environment()
        .get_template("load.html.jinja")
        .render(
            made=made,
            result=result,
            charts=drawn,
            rows=[
                (words.offered(step), words.figures(step), limit_of(step, result.budget_ms), step.says_of_agent)
                for step in result.steps
            ],
            sentences=list(words.sentences(result)),
            cautions=words.cautions(made),
            servers=load_servers,
            head=words.offered_head(result),
            heads=words.HEADS,
            isolated=_isolated(result),
            # Of a step above the caller's own ceiling the waits are not the agent's.
            slowest=slowest([turn for turn in turns if turn.step in agents]),
            data=Markup(data),
            style=Markup(page_file("report.css") + page_file("load.css")),
            scripts=[Markup(script) for script in scripts],
            # Data are no script: their type is not one, and the policy allows scripts by their hash alone.
            policy=content_policy(scripts),
            counted=counted,
        )
    )
