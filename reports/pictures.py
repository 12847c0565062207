"""The page's charts as PNG and SVG, from the very same specifications, with the conditions written into each picture."""

import copy
import textwrap
from collections.abc import Iterable
from pathlib import Path

from reports.charts.chart import Chart
from reports.charts.theme import Spec, config

WIDTH = 900
"""Wide enough for twenty names, and a slide at twice the density."""
SCALE = 2.0
_LINE = 140


def picture_spec(chart: Chart, words: str) -> Spec:
    """The chart's specification, at a fixed width, on white, with its title and the conditions under it."""
    spec = copy.deepcopy(chart.spec)
    if spec.get("width") == "container":
        spec["width"] = WIDTH
    below = spec.pop("title", None)
    spec["title"] = {
        "text": chart.title,
        "subtitle": textwrap.wrap(words, _LINE),
        "subtitleFontSize": 10.5,
        "offset": 16,
    }
    if below is not None:
        spec = {"$schema": spec.pop("$schema"), "title": spec.pop("title"), "params": spec.pop("params", []), "vconcat": [
            {**spec, "title": below}
        ]}  # fmt: skip
    spec["config"] = {**config(dark=False), "background": "white"}
    return spec


def write_pictures(charts: Iterable[Chart], words: str, folder: Path) -> tuple[Path, ...]:
    """Write `NAME.png` and `NAME.svg` for every chart."""
    import vl_convert

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for chart in charts:
        spec = picture_spec(chart, words)
        png, svg = folder / f"{chart.name}.png", folder / f"{chart.name}.svg"
        png.write_bytes(vl_convert.vegalite_to_png(spec, scale=SCALE))
        svg.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
        written += [png, svg]
    return tuple(written)
