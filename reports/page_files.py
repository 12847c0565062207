"""The files that pages are made of, and the templates among them. All text that a template is given is escaped."""

from importlib.resources import files

import jinja2


def environment() -> jinja2.Environment:
    """The templates of `page/`."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("harness.reports", "page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page_file(name: str) -> str:
    """The text of one file of `page/`."""
    return files("harness.reports").joinpath("page", *name.split("/")).read_text(encoding="utf-8")
