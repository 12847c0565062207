"""The server of `harness view`: a run's report to a browser of this machine, and until it is written the run's progress.

It answers on the loopback address alone and to its own names alone, so that no web site can be pointed at it, and it writes
nothing. The sounds are served from the run's folder `report-audio` and from nowhere else.
"""

import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Final

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from harness.errors import UserError
from harness.reports.invited.address import LOCALHOST, Address, cannot_open, opened
from harness.reports.invited.entry import WithHeaders
from harness.reports.invited.server import run_until_stopped
from harness.reports.live.progress import RunNow, Watched
from harness.reports.page_files import content_policy, environment, page_file, script_text

PORT: Final = 8_178
"""One beside that of the listening test, so that a run can be watched while people listen to another."""
_HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def application(run: Watched) -> Starlette:
    """The pages of one run. All of it is read in the server's own thread, because a store belongs to one."""

    async def page(_: Request) -> Response:
        found = run.now()
        return FileResponse(run.page) if found.state == "reported" else _live(found, run)

    async def progress(_: Request) -> Response:
        return JSONResponse({"schema": 1, **asdict(run.now())})

    async def earlier(_: Request) -> Response:
        there = run.page.is_file()
        return FileResponse(run.page) if there else Response("There is no report yet.", 404)

    sounds = StaticFiles(directory=run.folder / "report-audio", check_dir=False)
    return Starlette(
        routes=[Route("/", page), Route("/progress", progress), Route("/report", earlier), Mount("/report-audio", sounds)],
        middleware=[
            Middleware(WithHeaders, headers=_HEADERS),
            Middleware(TrustedHostMiddleware, allowed_hosts=["localhost", LOCALHOST], www_redirect=False),
        ],
    )


def serve(folder: Path, port: int | None, announce: Callable[[str], None], show: Callable[[str], object]) -> None:
    """Serve a run's page until Ctrl-C. `port`: None for the usual one, or any other where that is in use.

    Args:
        announce: prints a sentence.
        show: is given the page's address once it can be opened.

    Raises:
        UserError: the folder holds no run, or the port is in use.
    """
    run = Watched(folder)
    # Whoever watches must not take the processor from an agent that is being timed.
    os.nice(10)
    try:
        _serve(run, port if port is not None else PORT, announce, show)
    except UserError:
        if port is not None:
            raise
        _serve(run, 0, announce, show)


def _serve(run: Watched, port: int, announce: Callable[[str], None], show: Callable[[str], object]) -> None:
    with opened(Address(LOCALHOST, port)) as (bound, here):
        try:
            bound.listen()
        except OSError as error:
            raise cannot_open(here, error) from error
        url = f"http://{LOCALHOST}:{here.port}/"
        announce(f"{run.folder} at {url} until Ctrl-C. {run.now().sentence}".rstrip())
        show(url)
        run_until_stopped(bound, here, application(run))


def _live(found: RunNow, run: Watched) -> Response:
    script = script_text("\n".join(page_file(f"script/{name}") for name in ("el.js", "live.js")))
    policy = f"{content_policy([script])}; connect-src 'self'"
    html = environment().get_template("live.html.jinja").render(
        run=run.folder.resolve().name, found=found, style=Markup(page_file("report.css")), script=Markup(script),
        policy=policy, earlier=run.page.is_file(),
    )  # fmt: skip
    return HTMLResponse(html)
