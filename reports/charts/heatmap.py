"""The leaderboard as a heatmap: win rate on each axis, over all, and Elo, one row per system, best first.

Colour is the share of comparisons won, and 50 % is the neutral middle, so that a whole row of one hue (a halo: judges who
like a reply like everything about it) is obvious. Elo is coloured by the win rate that it implies against the average
system, on the same scale.
"""

import altair as alt

from harness.reports.charts.chart import Chart, Table
from harness.reports.charts.theme import of_subset, subset_spec
from harness.reports.view import AXIS_NAMES, SUBSETS, PageView, RatingView, Subset
from harness.reports.wording import elo, system_name
from harness.wording import UNKNOWN_TEXT, share

_RANGE = ["#e8964a", "#f6d3ae", "#f3f2ef", "#bcd9ee", "#62a6d8"]
"""Orange to blue, which colour-blind readers can distinguish; light enough for dark figures on top."""


def chart(view: PageView) -> Chart | None:
    """The chart; None if nothing is rated."""
    rated = _rated(view, "all")
    if not rated:
        return None
    axes = tuple(AXIS_NAMES) if any(rating.axes for _, rating in rated) else ()
    columns = (*axes, "Win rate", "Elo")
    values = [
        {"system": name, "column": column, "share": won, "text": text, "subset": subset, "elo": rating.elo.value}
        for subset in SUBSETS
        for name, rating in _rated(view, subset)
        for column, won, text in _cells(rating, axes)
        if won is not None
    ]
    base = of_subset(values).encode(
        x=alt.X(
            "column:N",
            sort=list(columns),
            axis=alt.Axis(title=None, orient="top", labelAngle=0, domain=False, ticks=False),
        ),
        y=alt.Y(
            "system:N",
            sort=alt.EncodingSortField("elo", op="max", order="descending"),
            axis=alt.Axis(title=None, domain=False, ticks=False),
        ),
    )
    cells = base.mark_rect(cornerRadius=3).encode(
        color=alt.Color(
            "share:Q",
            scale=alt.Scale(domain=[0, 0.25, 0.5, 0.75, 1], range=_RANGE, interpolate="rgb"),
            legend=alt.Legend(title="Won", format="%", orient="bottom", direction="horizontal", gradientLength=180),
        ),
        tooltip=[alt.Tooltip("system:N"), alt.Tooltip("column:N"), alt.Tooltip("share:Q", format=".0%", title="won")],
    )
    figures = base.mark_text(color="#1c2329", fontSize=12).encode(text="text:N")
    spec = subset_spec(cells + figures, alt.Step(28))
    table = tuple(
        (name, *(text if won is not None else UNKNOWN_TEXT for _, won, text in _cells(rating, axes))) for name, rating in rated
    )
    names = ", ".join(f"{axis}: {AXIS_NAMES[axis].lower()}" for axis in axes)
    of_axes = f" {names}. An axis column is what the paper calls a percentile; empty: never marked." if axes else ""
    return Chart(
        name="leaderboard",
        title="Leaderboard by axis" if axes else "Leaderboard",
        caption=f"Share of comparisons won.{of_axes}",
        spec=spec,
        table=Table(("System", *columns), table),
    )


def _rated(view: PageView, subset: Subset) -> list[tuple[str, RatingView]]:
    """The systems that are rated on these conversations, best first."""
    found = [(agent.name, agent.slices[subset].rating) for agent in view.agents]
    found += [(system_name(r.system), r.ratings[subset]) for r in view.references if subset in r.ratings]
    return sorted((row for row in found if row[1].elo.value is not None), key=lambda row: -(row[1].elo.value or 0.0))


def _cells(rating: RatingView, axes: tuple[str, ...]) -> list[tuple[str, float | None, str]]:
    cells: list[tuple[str, float | None, str]] = [(axis, rating.axes.get(axis), share(rating.axes.get(axis))) for axis in axes]
    cells.append(("Win rate", rating.win_rate, share(rating.win_rate)))
    implied = None if rating.elo.value is None else 1 / (1 + 10 ** ((1_500 - rating.elo.value) / 400))
    cells.append(("Elo", implied, elo(rating.elo.value)))
    return cells
