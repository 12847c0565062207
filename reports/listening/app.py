"""The listening test as a web application: a page, a step, a sound, an answer.

Every request is answered to the rater in its cookie and to no other. The cookie is out of reach of scripts and is not
sent from other sites; a request that changes anything must be JSON from this same site. A link is checked again at
every request, so that a revoked one stops working immediately. Answers contain no name of a file or system,
and no header contains the date of a file.
"""

import json
import secrets
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from harness.reports.listening.answers import Link, Rater, RaterRole, VoteStore
from harness.reports.listening.collect import Collection
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.door import LOCALHOST, Door
from harness.reports.listening.guard import WINDOW_S, Ceiling, from_here
from harness.reports.listening.material import Material
from harness.reports.listening.plan import deal
from harness.reports.listening.session import HEARING_SHARE, Refused, Sessions

COOKIE = "listener"
COOKIE_S = 60 * 60 * 24 * 60
BEGINS_PER_MINUTE = 20
"""Most sessions begun per minute from one address: enough for a room of raters behind one router, too few for a program."""
LARGEST_ANSWER = 400_000
LARGEST_RECORDING = 12_000_000
"""Most bytes of a recorded reply: a minute of 24 kHz PCM is 3 MB."""
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
_RAW_HEADERS = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
_ASSETS = {
    "listen.js": "text/javascript",
    "collect.js": "text/javascript",
    "asking.js": "text/javascript",
    "microphone.js": "text/javascript",
    "el.js": "text/javascript",
    "listen.css": "text/css",
}

_NOT_INVITED = "Please open the link that you were sent. If you copied it, check that it is whole."
_ENDED = {
    "expired": "This link has expired. What you have answered is kept. To go on, please ask whoever sent it for a new one.",
    "revoked": "This link was withdrawn. What you have answered is kept. To go on, please ask whoever sent it.",
}
_TOO_MANY = "Many people are beginning from where you are just now. Please try again in a minute."
_ELSEWHERE = "This was sent from another site, and is not taken. Please open the link that you were sent."

Handler = Callable[[Request], Awaitable[Response]]
Body = dict[str, Any]
Answered = Callable[[Rater, Body, Mapping[str, str]], Response]
"""(rater, body, parameters of the address) → the answer; runs in a thread, in one step."""


class ListeningApp:
    """The routes of one test. On a public server only holders of a link are admitted."""

    def __init__(
        self,
        votes: VoteStore,
        material: Material,
        design: ListeningDesign,
        door: Door | None = None,
        *,
        hearing_share: float = HEARING_SHARE,
        begins_per_minute: int = BEGINS_PER_MINUTE,
    ) -> None:
        """Make the routes. `door`: None for this machine only. `hearing_share` (share of a step's sound that must have played)
        and `begins_per_minute` (sessions from one address) differ only to measure the server.
        """
        self._votes = votes
        self._material = material
        self._design = design
        self._door = door or Door(LOCALHOST)
        # A cookie of this name can only be set over TLS, and only by this host.
        self._cookie = f"__Host-{COOKIE}" if self._door.secure else COOKIE
        self._ceiling = Ceiling(begins_per_minute)
        self._sessions = Sessions(votes, material, design, hearing_share)
        self._collection = Collection(votes, material)
        self._dealing = threading.Lock()
        self._pages = {name: _page(name) for name in ("listen.html", "collect.html", "closed.html", "entering.html", *_ASSETS)}

    def asgi(self) -> Starlette:
        """The application to serve."""
        return Starlette(
            routes=[
                Route("/", self._front),
                Route("/invitation/{token}", self._front),
                Route("/collect/invitation/{token}", self._collect_page),
                Route("/entering/", self._entering),
                Route("/entering/collect", self._entering),
                Route("/asset/{name}", self._asset),
                Route("/begin", self._begin, methods=["POST"]),
                Route("/step", self._step),
                Route("/answer", self._for_rater(self._answer), methods=["POST"]),
                Route("/leave", self._for_rater(self._leave), methods=["POST"]),
                Route("/sound/{key}", self._for_rater(self._sound)),
                Route("/collect", self._collect_page),
                Route("/collect/next", self._for_contributor(self._collect_next)),
                Route("/collect/sound/{context}", self._for_contributor(self._collect_sound)),
                Route("/collect/reply", self._for_contributor(self._collect_reply, LARGEST_RECORDING), methods=["POST"]),
            ],
            middleware=[
                Middleware(_Headers),
                Middleware(TrustedHostMiddleware, allowed_hosts=self._door.hosts, www_redirect=False),
            ],
        )

    # Entering

    async def _front(self, request: Request) -> Response:
        return await self._enter(request, "listen.html", "/")

    async def _collect_page(self, request: Request) -> Response:
        return await self._enter(request, "collect.html", "/collect")

    async def _enter(self, request: Request, page: str, path: str) -> Response:
        """The page; a token in the address is moved into the cookie, so that it is not visible."""
        if token := request.path_params.get("token"):
            link = await run_in_threadpool(self._votes.invited_as, token)
            if _why_shut(link) is None:
                # A link in web mail is opened from another site, and then the cookie is not sent; so a page of this site
                # comes first.
                response: Response = RedirectResponse(f"/entering{path}", status_code=303)
                self._remember(response, token)
                return response
            if self._door.public:
                return self._closed(link)
        if not self._door.public:
            return HTMLResponse(self._pages[page])
        secret = request.cookies.get(self._cookie, "")
        link = await run_in_threadpool(self._votes.invited_as, secret) if secret else None
        return HTMLResponse(self._pages[page]) if _why_shut(link) is None else self._closed(link)

    async def _entering(self, request: Request) -> Response:
        return HTMLResponse(self._pages["entering.html"].replace("{path}", request.url.path.removeprefix("/entering")))

    def _closed(self, link: Link | None) -> Response:
        return HTMLResponse(self._pages["closed.html"].replace("{why}", _why_shut(link) or ""), status_code=403)

    def _remember(self, response: Response, secret: str) -> None:
        # The cookie may outlive its link and is useless then, but the page can give the reason.
        response.set_cookie(
            self._cookie, secret, max_age=COOKIE_S, path="/", httponly=True, samesite="strict", secure=self._door.secure
        )

    async def _begin(self, request: Request) -> Response:
        """Agree and begin; a returning rater continues at the same step."""
        if not self._from_here(request):
            return _refuse(_ELSEWHERE, 403)
        body = await _json(request)
        if body is None or body.get("consent") is not True:
            return _refuse("Please read the page and agree first.", 400)
        secret = request.cookies.get(self._cookie) or ""
        address = request.client.host if request.client else ""
        return await run_in_threadpool(self._begun, secret, address, body.get("purpose") == "collect")

    def _begun(self, secret: str, address: str, collects: bool) -> Response:
        link = self._votes.invited_as(secret) if secret else None
        if self._door.public and (why := _why_shut(link)):
            return _refuse(why, 403)
        if link is None and (not secret or self._votes.rater(secret) is None):
            # A secret that was not made here could be chosen by anybody.
            secret = secrets.token_urlsafe(24)
        if self._votes.rater(secret) is None and not self._ceiling.admits(address, time.monotonic()):
            refused = _refuse(_TOO_MANY, 429)
            refused.headers["retry-after"] = str(round(WINDOW_S))
            return refused
        self._start(secret, link.role if link else "contributor", collects)
        response = JSONResponse({})
        self._remember(response, secret)
        return response

    def _from_here(self, request: Request) -> bool:
        return from_here(request.headers, request.url.scheme, self._door.url)

    def _start(self, secret: str, role: RaterRole, collects: bool) -> Rater:
        known = self._votes.rater(secret)
        if known is not None:
            return known
        # Two raters who begin at once must not get the same least-judged items.
        with self._dealing:
            seed = secrets.randbits(32)
            plan = () if collects else deal(self._material.conversations, self._design, self._votes.coverage(), seed)
            return self._votes.begin(secret, role, self._design.model_dump_json(), plan)

    # The test

    async def _step(self, request: Request) -> Response:
        rater = await self._rater(request)
        if rater is None:
            return JSONResponse({"kind": "welcome"})
        known = rater
        return await run_in_threadpool(self._unless_shut, request, lambda: JSONResponse(self._sessions.step(known)))

    def _answer(self, rater: Rater, body: Body, _: Mapping[str, str]) -> Response:
        answer = body.get("answer")
        if not isinstance(answer, dict):
            return _refuse("That answer cannot be read.", 400)
        try:
            self._sessions.take(rater, body.get("position"), answer)
        except Refused as refused:
            return _refuse(str(refused), 409)
        return JSONResponse(self._sessions.step(rater))

    def _leave(self, rater: Rater, _: Body, __: Mapping[str, str]) -> Response:
        self._votes.leave(rater)
        return JSONResponse({})

    def _sound(self, rater: Rater, _: Body, asked: Mapping[str, str]) -> Response:
        return _flac(self._sessions.sound(rater, asked["key"]))

    # People's own replies

    def _collect_next(self, rater: Rater, _: Body, __: Mapping[str, str]) -> Response:
        return JSONResponse(self._collection.next_for(rater))

    def _collect_sound(self, rater: Rater, _: Body, asked: Mapping[str, str]) -> Response:
        return _flac(self._collection.sound(rater, asked["context"]))

    def _collect_reply(self, rater: Rater, body: Body, _: Mapping[str, str]) -> Response:
        try:
            self._collection.take(rater, body)
        except Refused as refused:
            return _refuse(str(refused), 409)
        return JSONResponse(self._collection.next_for(rater))

    # Who asks

    async def _rater(self, request: Request) -> Rater | None:
        secret = request.cookies.get(self._cookie, "")
        if not secret:
            return None
        return self._votes.remembered(secret) or await run_in_threadpool(self._votes.rater, secret)

    def _unless_shut(self, request: Request, answered: Callable[[], Response]) -> Response:
        """The answer, if the link of the requester still works."""
        link = self._votes.invited_as(request.cookies.get(self._cookie, "")) if self._door.public else None
        why = _why_shut(link) if self._door.public else None
        return answered() if why is None else _refuse(why, 403)

    def _for_rater(self, answered: Answered, largest: int = LARGEST_ANSWER) -> Handler:
        """A handler only for raters who have begun; a posted body must be JSON of at most `largest` bytes."""

        async def guarded(request: Request) -> Response:
            if request.method == "POST" and not self._from_here(request):
                return _refuse(_ELSEWHERE, 403)
            rater = await self._rater(request)
            if rater is None:
                return _refuse("Please begin on the first page.", 401)
            body = await _json(request, largest) if request.method == "POST" else {}
            if body is None:
                return _refuse("That cannot be read, or is too long.", 400)
            return await run_in_threadpool(self._unless_shut, request, lambda: answered(rater, body, request.path_params))

        return guarded

    def _for_contributor(self, answered: Answered, largest: int = LARGEST_ANSWER) -> Handler:
        def guarded(rater: Rater, body: Body, asked: Mapping[str, str]) -> Response:
            if rater.role != "contributor":
                return _refuse("Your invitation is for listening only.", 403)
            return answered(rater, body, asked)

        return self._for_rater(guarded, largest)

    async def _asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _ASSETS:
            return _refuse("There is no such file.", 404)
        return Response(self._pages[name], media_type=_ASSETS[name])


class _Headers:
    """A wrapper that adds the common headers to every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_RAW_HEADERS]
            await send(message)

        await self._app(scope, receive, with_headers)


async def _json(request: Request, largest: int = LARGEST_ANSWER) -> Body | None:
    """The body of a request from this site; None for anything else. Other sites cannot send this content type unasked."""
    if request.headers.get("content-type", "").split(";")[0] != "application/json":
        return None
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > largest:
            return None
    try:
        found = json.loads(bytes(body))
    except (ValueError, RecursionError):
        return None
    return _whole_characters(found) if isinstance(found, dict) else None


def _whole_characters(value: Any) -> Any:
    """The value with a mark for each half of a character: JSON can contain one, but nothing can store it."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_whole_characters(name): _whole_characters(inner) for name, inner in value.items()}
    return [_whole_characters(inner) for inner in value] if isinstance(value, list) else value


def _flac(path: Path | None) -> Response:
    if path is None:
        return _refuse("There is no such sound now.", 404)
    return Response(path.read_bytes(), media_type="audio/flac")


def _why_shut(link: Link | None) -> str | None:
    """The reason why a link does not work, in words for its holder; None while it works."""
    ended = None if link is None else link.ended(time.time())
    return _NOT_INVITED if link is None else _ENDED[ended] if ended else None


def _refuse(words: str, status: int) -> Response:
    return JSONResponse({"error": words}, status_code=status)


def _page(name: str) -> str:
    folder = ("page", "script") if name == "el.js" else ("listening", "pages")
    return files("harness.reports").joinpath(*folder, name).read_text(encoding="utf-8")
