"""A server of invited people's pages over a real socket, in a thread of the test's own process."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import uvicorn
from starlette.applications import Starlette

from harness.reports.invited.address import Address, address_of, opened
from harness.reports.invited.server import server_of


@contextmanager
def serving(
    app: Callable[[Address], Starlette], *, name: str | None = None, **options: Any
) -> Iterator[tuple[str, Address, uvicorn.Server]]:
    """(the address to ask, as the server knows it, the server). `name`: another than this machine's own, so that a browser
    treats its pages as it treats any site's; `options`: of the address."""
    with opened(address_of(**{"host": "127.0.0.1", "port": 0, **options})) as (bound, here):
        if name is not None:
            here = replace(here, url=f"{here.scheme}://{name}:{here.port}")
        server, gate = server_of(app(here), bound, here)
        server.config.timeout_graceful_shutdown = 1
        thread = threading.Thread(target=server.run, kwargs={"sockets": [gate]}, daemon=True)
        thread.start()
        end = time.monotonic() + 20
        while not server.started:
            assert time.monotonic() < end
            time.sleep(0.01)
        try:
            yield here.origin if name else f"http{'s' * bool(here.certificate)}://127.0.0.1:{here.port}", here, server
        finally:
            server.should_exit = True
            thread.join(timeout=10)
