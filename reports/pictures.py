"""The page's charts as PNG and SVG, from the same specifications and drawings, with the conditions in each picture."""

import copy
import textwrap
from collections.abc import Iterable
from pathlib import Path

from markupsafe import Markup

from harness.errors import UserError
from harness.extras import require_pictures
from harness.files import write_whole
from harness.reports.charts import elo_latency_chart, elo_latency_points
from harness.reports.charts.chart import Chart
from harness.reports.charts.labels import LINE_EM
from harness.reports.charts.theme import LIGHT_INK, Spec, on_paper
from harness.reports.conditions import conditions
from harness.reports.view import PageView

WIDTH = 900
"""Size of pictures: wide enough for twenty names, and for a slide at double density."""
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
    spec["config"] = on_paper()
    return spec


def write_picture(chart: Chart, words: str, picture: Path) -> None:
    """Write the picture of `--picture` as PNG or SVG, by the ending of its name.

    Raises:
        UserError: it cannot be written.
    """
    import vl_convert

    spec = picture_spec(chart, words)
    svg = picture.suffix == ".svg"
    try:
        write_whole(picture, vl_convert.vegalite_to_svg(spec) if svg else vl_convert.vegalite_to_png(spec, scale=SCALE))
    except OSError as error:
        raise UserError(
            f"--picture {picture}: cannot be written ({error.strerror}); name a file in a folder that exists"
        ) from error


def write_pictures(charts: Iterable[Chart], words: str, folder: Path) -> tuple[Path, ...]:
    """Write `NAME.png` and `NAME.svg` for every chart.

    Raises:
        UserError: the extra that draws is not installed.
    """
    require_pictures("a picture")
    import vl_convert

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for chart in charts:
        spec = picture_spec(chart, words)
        png, svg = folder / f"{chart.name}.png", folder / f"{chart.name}.svg"
        write_whole(png, vl_convert.vegalite_to_png(spec, scale=SCALE))
        write_whole(svg, vl_convert.vegalite_to_svg(spec))
        written += [png, svg]
    return tuple(written)


def write_elo_latency_chart(view: PageView, folder: Path) -> tuple[Path, ...]:
    """Write `elo_latency.png` and `elo_latency.svg`; nothing if no agent has both a rating and a latency.

    Raises:
        UserError: the extra that draws is not installed.
    """
    require_pictures("a picture")
    import vl_convert

    size = elo_latency_chart.PICTURE
    drawing = elo_latency_chart.draw(view, elo_latency_points.default_choice(view), size, elo_latency_chart.on_paper)
    if not drawing:
        return ()
    folder.mkdir(parents=True, exist_ok=True)
    words, step = textwrap.wrap(conditions(view), _LINE), 10.5 * LINE_EM
    lines = Markup("").join(
        Markup('<text x="10" y="{:.1f}" font-size="10.5" fill="{}">{}</text>').format(44 + step * k, LIGHT_INK["quiet"], line)
        for k, line in enumerate(words)
    )
    top = 44 + step * len(words)
    whole = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" font-family="{font}">'
        '<rect width="{w}" height="{h}" fill="white"/><text x="10" y="24" font-size="14" font-weight="600" fill="{ink}">{title}'
        '</text>{lines}<g transform="translate(10 {top})">{drawing}</g></svg>'
    ).format(
        w=size.width + 20, h=size.height + top + 10, font="system-ui, DejaVu Sans, sans-serif", ink=LIGHT_INK["ink"],
        title="Quality against latency", lines=lines, top=top, drawing=drawing,
    )  # fmt: skip
    png, svg = folder / "elo_latency.png", folder / "elo_latency.svg"
    write_whole(png, vl_convert.svg_to_png(str(whole), scale=SCALE))
    write_whole(svg, str(whole))
    return png, svg
