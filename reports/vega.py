"""The drawing code of the pages: Vega, Vega-Lite and Vega-Embed as one script in a shipped file.

It is the bundle of vl-convert, the engine that draws PNG and SVG, so that a page and its pictures cannot differ; but
the engine takes 84 MB and pages need only this megabyte. `benchmarks/vega_bundle.py` makes the file again, and a test
compares it with the output of vl-convert.
"""

from functools import cache
from importlib.resources import files
from typing import Final

BUNDLE: Final = "vega-bundle.js"
LICENCES: Final = "vega-bundle-licences.txt"


@cache
def vega_script() -> str:
    """The script, which a page runs when a chart is first needed; it defines `window.vegaEmbed`.

    It is a function, so that it can run immediately and completely, which printing needs and a module cannot.
    """
    return files("harness.reports").joinpath("page", BUNDLE).read_text(encoding="utf-8")
