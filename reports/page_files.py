"""The files that pages are made of, and data put into them such that it can never become markup or script.

Transcripts, names and reasons of agents, judges and raters are hostile. Three rules keep it text. What the server
writes goes through jinja2's autoescape. Data for a script are JSON with every character escaped that could end a script element
or a line, or gzip in base64, whose alphabet cannot spell markup. And the page's policy allows only the scripts whose hash it
names, no inline handlers, no evaluation of strings, and no network.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Final

import jinja2

from harness.wording import day, when


def environment() -> jinja2.Environment:
    """The templates of `page/`."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("harness.reports", "page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"when": when, "day": day}
    return made


def page_file(name: str) -> str:
    """The text of one file of `page/`."""
    return files("harness.reports").joinpath("page", *name.split("/")).read_text(encoding="utf-8")


_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&'\u2028\u2029"}

BUNDLE: Final = "vega-bundle.js"
LICENCES: Final = "vega-bundle-licences.txt"


def safe_json(value: object) -> str:
    """JSON that is safe inside a script element: without `<`, `>`, `&`, quote of an attribute, or line separator.

    Raises:
        ValueError: a number is not finite.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)


def packed(value: object) -> str:
    """Gzipped JSON in base64. The same value always gives the same text."""
    raw = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")
    return base64.b64encode(gzip.compress(raw, compresslevel=6, mtime=0)).decode("ascii")


def script_text(source: str) -> str:
    """A trusted script, made safe for a script element."""
    return source.replace("</script", "<\\/script").replace("<!--", "<\\!--")


@cache
def vega_script() -> str:
    """The drawing code of the pages, Vega, Vega-Lite and Vega-Embed, which a page runs when a chart is first needed; it defines
    `window.vegaEmbed`.

    It is the bundle of vl-convert, the engine that draws PNG and SVG, so that a page and its pictures cannot differ; but the
    engine takes 84 MB and pages need only this megabyte. `benchmarks/vega_bundle.py` makes the file again, and a test compares
    it with the output of vl-convert.

    It is a function, so that it can run immediately and completely, which printing needs and a module cannot.
    """
    return files("harness.reports").joinpath("page", BUNDLE).read_text(encoding="utf-8")


def content_policy(scripts: Sequence[str]) -> str:
    """The page's content security policy: these scripts, its own styles, audio beside it, and nothing else."""
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "media-src 'self' file: data: blob:; base-uri 'none'; form-action 'none'"
    )
