"""The way into a page by invitation, and the checks of every request, the same for all pages that people open.

A token in an address would be visible over a shoulder and in a history, so it is moved into a cookie that scripts cannot read
and other sites cannot send. A link is checked again at every request, so that a revoked one stops working immediately. A posted
body must be JSON from a page of this server. No header states the date of a file.
"""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final
from weakref import WeakValueDictionary

from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.types import ASGIApp, ExceptionHandler, Message, Receive, Scope, Send

from harness.foreign_files import FileFault, read_json
from harness.reports.invited.address import Address
from harness.reports.invited.guard import from_here
from harness.reports.invited.links import Link, Links
from harness.reports.invited.page import rendered
from harness.store.disk import storage_fault
from harness.study.study import Study

COOKIE_S = 60 * 60 * 24 * 60
LARGEST_ANSWER = 400_000
BLOCK_BYTES = 64 * 1_024
MOST_AT_ONCE = 8
"""Requests of one person that are answered at once."""
MOST_VALUES = 200_000
"""Most values in a body: each takes some hundred bytes in memory, for as few as two on the way. A reason of 100 kB has less."""
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; media-src blob:; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "permissions-policy": "microphone=(self)",
}
DISK_FULL_STATUS: Final = 507
"""A status of its own: a page takes it for an end, and not for a lost connection that is worth another try."""
REPORTS: Final = files("harness.reports")
PAGES: Final = REPORTS.joinpath("invited", "pages")

Body = dict[str, Any]


class Entry:
    """The entrance of one server. On a public one only holders of a link are admitted."""

    def __init__(self, address: Address, links: Links, cookie: str, study: Study) -> None:
        self.address = address
        self._study = study
        self._links = links
        # A cookie of this name can only be set over TLS, and only by this host.
        self._cookie = f"__Host-{cookie}" if address.secure else cookie

    async def page(self, request: Request, html: str, path: str) -> Response:
        """The page at this path; a token in the address is moved into the cookie first."""
        if token := request.path_params.get("token"):
            link = await run_in_threadpool(self._links.invited_as, token)
            if self._why_closed(link) is None:
                # A link in web mail is opened from another site, and then the cookie is not sent; so a page of this site
                # comes first.
                response: Response = RedirectResponse(f"/entering{path}", status_code=303)
                self.remember(response, token)
                return response
            if self.address.public:
                return self._shut(link)
        if not self.address.public:
            return HTMLResponse(html)
        secret = self.secret(request)
        link = await run_in_threadpool(self._links.invited_as, secret) if secret else None
        return HTMLResponse(html) if self._why_closed(link) is None else self._shut(link)

    async def entering(self, request: Request) -> Response:
        """The page that leads on from an invitation."""
        page = rendered(page_text(PAGES, "entering.html"), self._study, path=request.url.path.removeprefix("/entering"))
        return HTMLResponse(page)

    def _shut(self, link: Link | None) -> Response:
        page = rendered(page_text(PAGES, "closed.html"), self._study, why=self._why_closed(link) or "")
        return HTMLResponse(page, status_code=403)

    def secret(self, request: Request) -> str:
        """The secret in the requester's cookie; empty without one."""
        return request.cookies.get(self._cookie, "")

    def remember(self, response: Response, secret: str) -> None:
        """Set the cookie. It may outlive its link and is useless then, but the page can give the reason."""
        response.set_cookie(
            self._cookie, secret, max_age=COOKIE_S, path="/", httponly=True, samesite="strict", secure=self.address.secure
        )

    def admitted(self, secret: str) -> Link | Response | None:
        """The link of a secret, None for somebody on this machine without one, or the refusal."""
        link = self._links.invited_as(secret) if secret else None
        if self.address.public and (why := self._why_closed(link)):
            return refuse(why, 403)
        return link

    def why_closed(self, request: Request) -> str | None:
        """The reason why the requester's link does not work, in words for its holder; None while it works."""
        return self._why_closed(self._links.invited_as(self.secret(request))) if self.address.public else None

    def _why_closed(self, link: Link | None) -> str | None:
        """The reason why a link does not work, in words for its holder; None while it works."""
        ended = "not_invited" if link is None else link.ended(time.time())
        return self._study.texts(f"invited.ended.{ended}") if ended else None

    def from_here(self, request: Request) -> bool:
        """True if a request that changes something comes from a page of this server."""
        return from_here(request.headers, request.url.scheme, self.address.url)

    def exception_handlers(self) -> Mapping[Any, ExceptionHandler]:
        """The answers to what can go wrong in any request: a disk without room, and a client who went before the end."""
        return {sqlite3.Error: self._storage, OSError: self._storage, ClientDisconnect: _nobody}

    def _storage(self, _: Request, error: Exception) -> Response:
        if storage_fault(error) is None:
            raise error
        logging.getLogger(__name__).error("the disk takes nothing (%s)", error)
        return refuse(self._study.texts("invited.disk_full"), DISK_FULL_STATUS)

    def middleware(self) -> list[Middleware]:
        """The common headers of every answer, and the check of the server's own names."""
        return [
            Middleware(WithHeaders, headers=_HEADERS),
            Middleware(_InTurn, cookie=self._cookie),
            Middleware(TrustedHostMiddleware, allowed_hosts=self.address.hosts, www_redirect=False),
        ]


class _InTurn:
    """A wrapper that answers a few requests of one person at a time, to the last byte; more of them wait, unread.

    A browser sends six at once. So nobody fills the memory with bodies and answers, or takes the server's threads from others.
    """

    def __init__(self, app: ASGIApp, cookie: str) -> None:
        self._app = app
        self._cookie = cookie
        self._places: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        who = Request(scope).cookies.get(self._cookie) if scope["type"] == "http" else None
        if who is None:
            await self._app(scope, receive, send)
            return
        place = self._places.get(who)
        if place is None:
            place = self._places[who] = asyncio.Semaphore(MOST_AT_ONCE)
        async with place:
            await self._app(scope, receive, send)


def _nobody(_: Request, __: Exception) -> Response:
    return Response(status_code=400)


class WithHeaders:
    """A wrapper that adds the same headers to every answer."""

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]) -> None:
        self._app = app
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers]
            await send(message)

        await self._app(scope, receive, with_headers)


async def json_body(request: Request, largest: int = LARGEST_ANSWER) -> Body | None:
    """The body of a request from this site; None for anything else. Other sites cannot send this content type unasked."""
    if request.headers.get("content-type", "").split(";")[0] != "application/json":
        return None
    body = await bytes_of(request, largest)
    if body is None or body.count(b",") + body.count(b"[") + body.count(b"{") > MOST_VALUES:
        return None
    try:
        found = read_json(body)
    except FileFault:
        return None
    return _whole_characters(found) if isinstance(found, dict) else None


def sent_from(path: Path, media_type: str) -> Response:
    """A file, read block by block while it is sent; its date is nobody's business."""
    return StreamingResponse(_blocks(path), media_type=media_type, headers={"content-length": str(path.stat().st_size)})


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            yield block


async def bytes_of(request: Request, largest: int) -> bytes | None:
    """The body of a request; None if it is larger."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > largest:
            return None
    return bytes(body)


def _whole_characters(value: Any) -> Any:
    """The value with a mark for each half of a character: JSON can contain one, but nothing can store it."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_whole_characters(name): _whole_characters(inner) for name, inner in value.items()}
    return [_whole_characters(inner) for inner in value] if isinstance(value, list) else value


def refuse(words: str, status: int) -> JSONResponse:
    """An answer that says why not."""
    return JSONResponse({"error": words}, status_code=status)


def page_text(folder: Traversable, name: str) -> str:
    """The text of a page, script or style."""
    return folder.joinpath(name).read_text(encoding="utf-8")
