"""The drawing code of the pages, Vega, Vega-Lite and Vega-Embed as one script, which ships as a file.

It is what vl-convert bundles, the very engine that draws PNG and SVG, so that a page and its pictures cannot differ; but
the engine takes 84 MB and pages need this megabyte alone. `benchmarks/vega_bundle.py` makes the file again, and a test
holds it against what vl-convert makes.
"""

from functools import cache
from importlib.resources import files
from typing import Final

BUNDLE: Final = "vega-bundle.js"
LICENCES: Final = "vega-bundle-licences.txt"


@cache
def vega_script() -> str:
    """The script, which a page runs when a chart is first wanted; it defines `window.vegaEmbed`.

    A function of its own, so that it can be run at once and to its end, which printing needs and a module cannot.
    """
    return files("harness.reports").joinpath("page", BUNDLE).read_text(encoding="utf-8")
