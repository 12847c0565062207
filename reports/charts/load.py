"""The chart of a load test: TTFA and pacing error against the number of callers, one above the other.

Two panels share one axis to show which failed first: the agent (TTFA rises while frames leave on time) or the
machine (frames leave late, and TTFA then says nothing about the agent). The bound of pacing is drawn.
"""

from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.extras import require_pictures
from harness.load.ceiling import LoadResult
from harness.reports.embedding import safe_json, vega_script
from harness.timing.pacing import MAX_P99_ERROR_MS

SUFFIXES = (".svg", ".png", ".html")


def chart(result: LoadResult) -> Any:
    """An altair chart of all steps that could be measured."""
    import altair as alt

    latency = [
        {"callers": s.callers, "percentile": name, "ms": value}
        for s in result.steps
        for name, value in (("p50", s.ttfa_ms.p50), ("p95", s.ttfa_ms.p95))
        if value is not None
    ]
    paced = [
        {"callers": s.callers, "ms": s.pacing_p99_error_ms, "within": "no" if s.out_of_bounds else "yes"}
        for s in result.steps
        if s.failed < s.sessions
    ]
    callers = alt.X("callers:Q", title="callers at once", scale=alt.Scale(type="log", nice=False))
    upper = (
        alt.Chart(_rows(latency), title="TTFA", width=480, height=200)
        .mark_line(point=True)
        .encode(callers, alt.Y("ms:Q", title="ms"), alt.StrokeDash("percentile:N", title=None))
    )
    lower = (
        alt.Chart(_rows(paced), title="pacing error, p99", width=480, height=120)
        .mark_line(point=True)
        .encode(callers, alt.Y("ms:Q", title="ms"), alt.Shape("within:N", title="within bounds"))
    )
    bound = alt.Chart(_rows([{"ms": MAX_P99_ERROR_MS}])).mark_rule(strokeDash=[4, 3]).encode(y="ms:Q")
    return upper & (lower + bound)


def write_chart(result: LoadResult, path: Path) -> None:
    """Write the chart as SVG, PNG or a page, by the file's ending.

    Raises:
        UserError: another ending, or a picture without the extra that draws.
    """
    if path.suffix not in SUFFIXES:
        raise UserError(f"{path}: a load chart is written as {', '.join(SUFFIXES)}")
    if path.suffix != ".html":
        require_pictures(f"a load chart as {path.suffix}")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".html":
        path.write_text(_page(safe_json(chart(result).to_dict())), encoding="utf-8")
    else:
        chart(result).save(str(path))


def _page(spec: str) -> str:
    """A page with one chart, including its drawing code, so that it works without network."""
    draw = f'vegaEmbed("#chart", {spec}, {{ast: true}});'
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Load</title><body><div id="chart"></div>'
        f"<script>{vega_script()}</script><script>{draw}</script></body></html>\n"
    )


def _rows(values: list[dict[str, Any]]) -> Any:
    import altair as alt

    return alt.Data(values=values)  # type: ignore[no-untyped-call]
