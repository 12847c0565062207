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
    if why := why_not_opened(page.resolve().as_uri()):
        print(f"--open: {why}; open {page} in a browser", file=sys.stderr)


def why_not_opened(address: str) -> str:
    """Open an address in the browser; the reason why that is not possible here, and empty if it is open."""
    # Without a display the browser would be one of text, which takes over the terminal.
    if not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")):
        return "there is no display here"
    try:
        opened = webbrowser.open(address)
    except (webbrowser.Error, OSError) as error:
        return f"no browser could be started ({error})"
    return "" if opened else "no browser was found"
