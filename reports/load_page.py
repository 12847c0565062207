"""The page of a load test: what it found in sentences, the curves, every step as a row, and the slowest turns in stages.

It is the report of a run that has no sound and too many calls to show each: it reads the same rows, one step at a time, and
is one file that opens from disk without network, like the other reports. Names of agents and contexts and the details of
failures are hostile text, which the template escapes.
"""

import json
from collections.abc import Iterator
from heapq import nlargest
from pathlib import Path
from typing import Final, NamedTuple

from markupsafe import Markup

from harness.figures import server_waits
from harness.files import write_whole
from harness.load.result import LoadResult, made_of, without_nan
from harness.reports import load_words as words
from harness.reports.charts.load import charts
from harness.reports.charts.theme import STAGE_COLOURS, STAGE_LABELS, on_page
from harness.reports.page_files import content_policy, environment, page_file, safe_json, script_text, vega_script
from harness.store.load_part import LoadPart
from harness.store.run_store import RunStore
from harness.store.session import Session
from harness.tables.csv_text import csv_text
from harness.timeline import NS_PER_MS
from harness.timing.figures import TurnTiming
from harness.wording import counted, milliseconds

SLOWEST: Final = 12
"""Turns shown with their stages: enough to see which stage they share."""
_COLUMNS: Final = (
    "step", "computing", "session", "context", "turn", "due_ns", "begun_ns", "unix_ahead_ns", "begin_ns", "spoken_end_ns",
    "end_ns", "discarded", "failure", "detail",
)  # fmt: skip
_FIGURES: Final = ("ttfa_ms", "answer_ms", "signed_ms", "ttft_ms", "no_reply", "cut_in", "underruns", "stages_from")
_COLOURS: Final = dict(zip(STAGE_LABELS, STAGE_COLOURS, strict=True))


class StageShown(NamedTuple):
    """One stage of a slow turn: its label, its length, and its place in the bar in percent."""

    label: str
    length: str
    left: float
    width: float
    colour: str


class SlowTurn(NamedTuple):
    """A turn with a long wait, and its stages where the agent reports them."""

    ttfa_ms: float
    session: str
    context: str
    offered: str
    wait: str
    stages: tuple[StageShown, ...]


def slowest(store: RunStore) -> list[SlowTurn]:
    """The turns with the longest TTFA among those of the steps that count and were answered."""
    return nlargest(SLOWEST, _heard(store), key=lambda turn: turn.ttfa_ms)


def _heard(store: RunStore) -> Iterator[SlowTurn]:
    part = store.manifest.load
    # Of a step above the caller's own ceiling the waits are not the agent's.
    for step in part.steps if part is not None else ():
        for call in store.calls_of(step.name) if step.says_of_agent else ():
            for turn in call.turn_timings:
                if turn.discarded is None and turn.ttfa_ms is not None:
                    wait, stages = milliseconds(turn.ttfa_ms), tuple(_stages(turn, turn.ttfa_ms))
                    yield SlowTurn(turn.ttfa_ms, call.id, call.key.context_id, step.name, wait, stages)


def _stages(turn: TurnTiming, ttfa_ms: float) -> Iterator[StageShown]:
    for stage in turn.waterfall.stages if turn.waterfall is not None else ():
        left, width = (max(0.0, 100 * ms / ttfa_ms) for ms in (stage.start_ms, stage.duration_ms))
        label, colour = STAGE_LABELS.get(stage.name, stage.name), _COLOURS.get(stage.name, "")
        yield StageShown(label, milliseconds(stage.duration_ms), left, width, colour)


def write_load(store: RunStore, result: LoadResult, page: Path | None = None) -> tuple[str, Path]:
    """Write the figures and the page of a stored load test into its folder, or the page to a file or folder that is named;
    returns the text of the figures, and the page."""
    page = page or store.folder
    page = page if page.suffix == ".html" else page / "report.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    manifest = store.manifest
    said = [caution.model_dump() for caution in words.cautions(manifest)]
    whole = {**result.to_json(), "made": made_of(manifest), "cautions": said, "page": str(page)}
    text = json.dumps(without_nan(whole), indent=2)
    write_whole(store.folder / "summary.json", text + "\n")
    write_whole(page, render_load(store, result))
    return text, page


def write_turns(store: RunStore, path: Path) -> None:
    """Write every turn of every step and play as a row of a CSV file, with its instants on the monotonic clock."""
    part = store.manifest.load or LoadPart()
    rows = (
        [
            step.name, ",".join(step.computing or ()), call.id, call.key.context_id, number, call.due_ns, call.begun_ns,
            step.unix_ahead_ns, *(_at_ns(call, ms) for ms in (turn.begin_ms, turn.spoken_end_ms, _reply_end_ms(turn))),
            turn.discarded, call.failure_kind, call.failure_detail,
            *(getattr(turn, name) for name in _FIGURES), json.dumps(dict(turn.own_ms)) if turn.own_ms else None,
        ]
        for step in part.records
        for call in store.calls_of(step.name)
        for number, turn in enumerate(call.turn_timings)
    )  # fmt: skip
    write_whole(path, csv_text([*_COLUMNS, *_FIGURES, "own_ms"], rows))


def _at_ns(call: Session, after_ms: float | None) -> int | None:
    return None if after_ms is None else (call.started_ns or 0) + round(after_ms * NS_PER_MS)


def _reply_end_ms(turn: TurnTiming) -> float:
    return turn.spoken_end_ms + max(turn.reply_end_ms or 0.0, 0.0)


def render_load(store: RunStore, result: LoadResult) -> str:
    """The page as HTML."""
    drawn = charts(result)
    data = safe_json({"config": on_page(), "charts": {chart.name: chart.spec for chart in drawn}})
    scripts = [script_text(vega_script()), script_text(page_file("script/theme.js")), script_text(page_file("script/load.js"))]
    served = words.served(result)
    return (
        environment()
        .get_template("load.html.jinja")
        .render(
            made=store.manifest,
            agent=store.manifest.played[0].name,
            result=result,
            charts=drawn,
            rows=[
                (words.offered(one), words.figures(one), one.over(result.part.budget_ms), one.record.says_of_agent)
                for one in result.steps
            ],
            sentences=list(words.sentences(result)),
            cautions=words.cautions(store.manifest),
            servers=server_waits,
            served=server_waits.waits_rows(served),
            served_notes=server_waits.waits_notes(served, words.STRETCHES),
            head=words.offered_head(result),
            heads=words.HEADS,
            slowest=slowest(store),
            data=Markup(data),
            style=Markup(page_file("report.css") + page_file("load.css")),
            scripts=[Markup(script) for script in scripts],
            # Data are no script: their type is not one, and the policy allows scripts by their hash alone.
            policy=content_policy(scripts),
            counted=counted,
        )
    )
