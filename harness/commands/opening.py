"""A page opened in the browser of whoever runs a command, for `--open`."""

import os
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

Open = Annotated[bool, typer.Option("--open", help="Open the page in the browser when it is written.")]


def open_page(page: Path) -> None:
    """Open a page, or say in one sentence on standard error why that is not possible here; it fails nothing."""
    if why := _why_not(page):
        print(why, file=sys.stderr)


def _why_not(page: Path) -> str:
    # Without a display the browser would be one of text, which takes over the terminal.
    if not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")):
        return f"--open: there is no display here; open {page} in a browser"
    try:
        opened = webbrowser.open(page.resolve().as_uri())
    except (webbrowser.Error, OSError) as error:
        return f"--open: no browser could be started ({error}); open {page} in one"
    return "" if opened else f"--open: no browser was found; open {page} in one"
