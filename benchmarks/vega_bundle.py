"""Make the drawing code that ships with the pages again: `python benchmarks/vega_bundle.py`, after another vl-convert came.

The licences beside it name whose code the bundle holds; look whether they still do when its versions change.
"""

from pathlib import Path

import vl_convert

from harness.reports.page_files import BUNDLE, script_text

PLACE = Path(__file__).parents[1] / "reports" / "page" / BUNDLE


def bundle() -> str:
    """What vl-convert bundles, as one function that leaves `window.vegaEmbed` behind, safe inside a script element."""
    return script_text(f'(() => {{"use strict";{vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")}\n}})();')


if __name__ == "__main__":
    PLACE.write_text(bundle(), encoding="utf-8")
    print(f"{PLACE.name}: {PLACE.stat().st_size:,} bytes")
