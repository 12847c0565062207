"""The errors of a tool as one picture: every turn a tick, every behaviour a row, every figure a column.

Errors span from under a millisecond to seconds, and on both sides of zero, so the axis is linear close to zero and logarithmic
beyond. What is missing or invented has no error to draw, and is a number at the row's end.
"""

from pathlib import Path
from typing import Any, Final

import altair as alt

from harness.known.score import ALL, Errors, Score
from harness.reports.charts.chart import Chart
from harness.reports.charts.theme import to_spec
from harness.reports.pictures import write_picture

_LINEAR_MS: Final = 5.0
"""About the error of the truth itself."""
_TICKS_MS: Final = [-5_000, -1_000, -100, -20, -5, 0, 5, 20, 100, 1_000, 5_000]
_ENDS_MS: Final = 10_000.0
_ROW_PX, _COLUMN_PX = 18, 300


def chart(found: Score, title: str) -> Chart:
    """The picture of one score."""
    rows = [row for row in found.rows if row.behaviour != ALL]
    names = list(dict.fromkeys(row.behaviour for row in rows))
    by_figure = {figure: [row for row in rows if row.figure == figure] for figure in dict.fromkeys(row.figure for row in rows)}
    columns = [_column(figure, mine, names, labels=not k) for k, (figure, mine) in enumerate(by_figure.items())]
    return Chart("known_errors", title, "", to_spec(alt.hconcat(*columns)))


def _column(figure: str, rows: list[Errors], names: list[str], *, labels: bool) -> Any:
    ticks, said = [], []
    for row in rows:
        of_row = {"behaviour": row.behaviour, "condition": row.condition}
        ticks += [of_row | {"ms": max(-_ENDS_MS, min(_ENDS_MS, ms))} for ms in row.errors_ms]
    for name in names:
        mine = [row for row in rows if row.behaviour == name]
        counts = {"missing": sum(row.missing for row in mine), "invented": sum(row.invented for row in mine)}
        said.append({"behaviour": name, "words": ", ".join(f"{count} {word}" for word, count in counts.items() if count)})
    scale = alt.Scale(type="symlog", constant=_LINEAR_MS, domain=[-_ENDS_MS, _ENDS_MS])
    axis = alt.Axis(values=_TICKS_MS, format=",d", labelOverlap=True)
    x = alt.X("ms:Q", title=f"{figure}: theirs minus true, ms", scale=scale, axis=axis)
    y = alt.Y("behaviour:N", sort=names, title=None, scale=alt.Scale(domain=names), axis=alt.Axis(labels=labels))
    legend = alt.Legend() if any(row.condition != ALL for row in rows) else None
    colour = alt.Color("condition:N", title=None, legend=legend)
    marks = alt.Chart(alt.InlineData(values=ticks)).mark_tick(thickness=1.5, opacity=0.7).encode(x=x, y=y, color=colour)
    zero = alt.Chart(alt.InlineData(values=[{"ms": 0}])).mark_rule(opacity=0.6).encode(x=x)
    text = alt.Chart(alt.InlineData(values=said)).mark_text(align="right", dx=-4, fontSize=10)
    ends = text.encode(y=y, text="words:N", x=alt.value(_COLUMN_PX))
    return (zero + marks + ends).properties(width=_COLUMN_PX, height=_ROW_PX * len(names))


def draw(found: Score, title: str, picture: Path) -> None:
    """Write the picture as PNG or SVG, by the ending of its name.

    Raises:
        UserError: it cannot be written.
    """
    write_picture(chart(found, title), " ".join(found.notes), picture)
