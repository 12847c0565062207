"""The common style of all charts: colours that colour-blind readers can distinguish, light and dark, and quiet axes.

Colour never has a meaning alone: agents also differ by shape and have a name beside their point. The categorical
colours are those of Okabe and Ito (2008), darkened or lightened until each has 3:1 contrast against the page;
their yellow and black fail on one of the two backgrounds and are left out.
"""

from collections.abc import Sequence
from typing import Any

import altair as alt

from harness.reports.charts.labels import LINE_EM, text_width

LIGHT_CATEGORY = ("#0064a8", "#c2410c", "#00805f", "#a8487f", "#7a5c00", "#2f7fb5", "#6b4fbb", "#55606b")

STAGE_LABELS: dict[str, str] = {
    "endpointing": "endpointing",
    "asr": "speech recognition",
    "turn_score": "end-of-turn score",
    "turn_decision": "turn decision",
    "llm": "language model",
    "first_clause": "first clause",
    "tts": "speech synthesis",
    "transport": "transport",
    "network": "network",
    "unexplained": "unexplained",
}
STAGE_COLOURS = ("#8793a1", "#3d8fd1", "#2f5f8a", "#6fb7c9", "#d9892b", "#d9b84a", "#2aa57a", "#a78bd0", "#c77b58", "#d1495b")
"""One colour per stage, in the order of `STAGE_LABELS`; the same in both themes, since stages are labelled areas."""

PART_LABELS: dict[str, str] = {
    "queue": "queue",
    "prefill": "prefill",
    "first_decode": "first decode",
    "compute": "computing",
    "idle": "idle",
    "unexplained": "unexplained",
}
"""The parts of a wait for a model server."""
PART_COLOURS = ("#8793a1", "#d9892b", "#d9b84a", "#d9892b", "#6fb7c9", "#d1495b")

IN_SUBSET = "datum.subset == subset"
"""Filter for rows that exist for every subset by name; the page's switch of conversations sets the parameter."""
TURN_IN_SUBSET = "subset == 'all' || datum.subset == subset"
"""The same for rows that are single turns."""

LIGHT_INK = {"ink": "#1c2329", "quiet": "#55606b", "line": "#dfe3e7", "card": "#ffffff", "limit": "#c2410c"}
"""The other colours of the light theme, by their names on the page."""

LIMIT = "limit"
"""Style of the line and the label of a budget, which have the colour of the theme."""

LABEL_PX, LEGEND_LIMIT_PX = 12, 260

Spec = dict[str, Any]
"""A Vega-Lite specification."""

LATENCY_TICKS = [50, 100, 200, 300, 500, 1_000, 2_000, 5_000, 10_000, 15_000]
LATENCY_LABEL = "datum.value >= 1000 ? format(datum.value / 1000, '~g') + ' s' : format(datum.value, '~g') + ' ms'"


def latency_axis(title: str | None) -> alt.Axis:
    """An axis with ticks at common latencies, on any scale."""
    return alt.Axis(title=title, values=LATENCY_TICKS, labelExpr=LATENCY_LABEL, labelPadding=6, grid=True)


def legend(labels: Sequence[str], room_px: float = 600.0) -> alt.Legend:
    """A legend below the chart, with as many columns as fit on a phone, at most four."""
    widest = max((min(text_width(label, LABEL_PX), LEGEND_LIMIT_PX) for label in labels), default=0.0)
    return alt.Legend(orient="bottom", title=None, columns=int(min(4, max(1, room_px // (widest + 30)))))


def config(ink: str, quiet: str, line: str, limit: str, category: Sequence[str]) -> Spec:
    """The Vega-Lite configuration; the specifications themselves have no background and no text colour."""
    font = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif'
    return {
        "background": "transparent",
        "font": font,
        # Thousands as in every sentence beside a chart: 2,510.
        "numberFormat": ",",
        "view": {"stroke": None},
        "axis": {
            "labelColor": quiet,
            "titleColor": ink,
            "titleFontWeight": 500,
            "titlePadding": 10,
            "gridColor": line,
            "domainColor": quiet,
            "tickColor": line,
            "labelFontSize": LABEL_PX,
            "titleFontSize": 12.5,
            "titleLineHeight": 12.5 * LINE_EM,
            "labelLimit": 220,
        },
        "legend": {
            "labelColor": ink,
            "titleColor": quiet,
            "labelFontSize": LABEL_PX,
            "titleFontSize": 12,
            "labelLimit": LEGEND_LIMIT_PX,
            "rowPadding": LABEL_PX * (LINE_EM - 1),
        },
        "title": {"color": ink, "subtitleColor": quiet, "anchor": "start", "fontSize": 14},
        "text": {"color": ink, "fontSize": 12},
        "rule": {"color": quiet},
        "header": {"labelColor": ink, "titleColor": quiet},
        "style": {LIMIT: {"color": limit}},
        "range": {"category": list(category)},
    }


def on_page() -> Spec:
    """The configuration for the page: colours are its variables, so that another theme or printing needs no new drawing."""
    categories = [f"var(--c{k})" for k in range(len(LIGHT_CATEGORY))]
    return config("var(--ink)", "var(--quiet)", "var(--line)", "var(--limit)", categories)


def on_paper() -> Spec:
    """The configuration for pictures: the light theme on white."""
    ink, quiet, line, limit = (LIGHT_INK[name] for name in ("ink", "quiet", "line", "limit"))
    return config(ink, quiet, line, limit, LIGHT_CATEGORY) | {"background": "white"}


def subset_spec(layers: Any, height: float | alt.Step) -> Spec:
    """A chart of rows of all subsets, as wide as the page; its switch is a parameter, and a picture shows all conversations."""
    chosen = alt.param(name="subset", value="all")
    return to_spec(layers.add_params(chosen).properties(width="container", height=height))


def of_subset(rows: list[dict[str, Any]], which: str = IN_SUBSET) -> alt.Chart:
    """The marks of these rows, limited to the subset that the page shows."""
    return alt.Chart(alt.InlineData(values=rows)).transform_filter(which)


def to_spec(chart: Any) -> Spec:
    """The plain dictionary of an Altair chart, with its data in place instead of under hashed names."""
    with alt.data_transformers.enable("default", consolidate_datasets=False, max_rows=None):
        spec: Spec = chart.to_dict()
    spec.pop("config", None)
    return spec
