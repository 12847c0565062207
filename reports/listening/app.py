"""The listening test as a web application: a page, a step, a sound, an answer.

Every request is answered to the rater in its cookie and to no other. The cookie is out of reach of scripts and is not
sent from other sites; a request that changes anything must be JSON from this very site. Answers carry no name of a file
or system, and no header tells when a file was made.
"""

import json
import secrets
import threading
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reports.listening.answers import Rater, RaterRole, VoteStore
from reports.listening.collect import Collection
from reports.listening.design import ListeningDesign
from reports.listening.material import Material
from reports.listening.plan import deal
from reports.listening.session import HEARING_SHARE, Refused, Sessions

COOKIE = "listener"
COOKIE_S = 60 * 60 * 24 * 60
LARGEST_ANSWER = 400_000
LARGEST_RECORDING = 12_000_000
"""A minute of 24 kHz PCM is 3 MB."""
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
    "el.js": "text/javascript",
    "listen.css": "text/css",
}

Handler = Callable[[Request], Awaitable[Response]]
Body = dict[str, Any]
Answered = Callable[[Rater, Body, Mapping[str, str]], Response]
"""(who asks, what was sent, what the address says) → the answer; runs in a thread, and in one hop."""


class ListeningApp:
    """The routes of one test. `public`: only holders of a token are let in."""

    def __init__(
        self,
        votes: VoteStore,
        material: Material,
        design: ListeningDesign,
        *,
        public: bool = False,
        secure: bool = False,
        hearing_share: float = HEARING_SHARE,
    ) -> None:
        """`hearing_share`: how much of a step's sound must have had time to play; lowered only to measure the server."""
        self._votes = votes
        self._material = material
        self._design = design
        self._public = public
        self._secure = secure
        self._sessions = Sessions(votes, material, design, hearing_share)
        self._collection = Collection(votes, material)
        self._dealing = threading.Lock()
        self._pages = {name: _page(name) for name in ("listen.html", "collect.html", "closed.html", *_ASSETS)}

    def asgi(self) -> Starlette:
        """The application to serve."""
        return Starlette(
            routes=[
                Route("/", self._front),
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
            middleware=[Middleware(_Headers)],
        )

    # Entering

    async def _front(self, request: Request) -> Response:
        return await self._enter(request, "listen.html")

    async def _collect_page(self, request: Request) -> Response:
        return await self._enter(request, "collect.html")

    async def _enter(self, request: Request, page: str) -> Response:
        """The page; a token in the address moves into the cookie, so that it does not stay in sight."""
        token = request.query_params.get("token")
        if token and await run_in_threadpool(self._votes.invited_as, token):
            response: Response = Response(status_code=303, headers={"location": request.url.path})
            self._remember(response, token)
            return response
        if self._public and not await self._known(request):
            return HTMLResponse(self._pages["closed.html"], status_code=403)
        return HTMLResponse(self._pages[page])

    async def _known(self, request: Request) -> bool:
        secret = request.cookies.get(COOKIE, "")
        return bool(secret) and await run_in_threadpool(self._votes.invited_as, secret) is not None

    def _remember(self, response: Response, secret: str) -> None:
        response.set_cookie(COOKIE, secret, max_age=COOKIE_S, httponly=True, samesite="strict", secure=self._secure)

    async def _begin(self, request: Request) -> Response:
        """Agree and begin; a rater who comes back goes on where they were."""
        body = await _json(request)
        if body is None or body.get("consent") is not True:
            return _refuse("Please read the page and agree first.", 400)
        secret = request.cookies.get(COOKIE) or ""
        role = await run_in_threadpool(self._votes.invited_as, secret) if secret else None
        if self._public and role is None:
            return _refuse("This test is by invitation.", 403)
        secret = secret or secrets.token_urlsafe(24)
        await run_in_threadpool(self._start, secret, role or "contributor", body.get("purpose") == "collect")
        response = JSONResponse({})
        self._remember(response, secret)
        return response

    def _start(self, secret: str, role: RaterRole, collects: bool) -> Rater:
        known = self._votes.rater(secret)
        if known is not None:
            return known
        # Two who begin at once must not be dealt the same least-judged items.
        with self._dealing:
            seed = secrets.randbits(32)
            plan = () if collects else deal(self._material.conversations, self._design, self._votes.coverage(), seed)
            return self._votes.begin(secret, role, self._design.model_dump_json(), plan)

    # The test

    async def _step(self, request: Request) -> Response:
        rater = await self._rater(request)
        return JSONResponse({"kind": "welcome"} if rater is None else await run_in_threadpool(self._sessions.step, rater))

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
        secret = request.cookies.get(COOKIE, "")
        if not secret:
            return None
        return self._votes.remembered(secret) or await run_in_threadpool(self._votes.rater, secret)

    def _for_rater(self, answered: Answered, largest: int = LARGEST_ANSWER) -> Handler:
        """Only for one who has begun; what is posted must be JSON of at most `largest` bytes."""

        async def guarded(request: Request) -> Response:
            rater = await self._rater(request)
            if rater is None:
                return _refuse("Please begin on the first page.", 401)
            body = await _json(request, largest) if request.method == "POST" else {}
            if body is None:
                return _refuse("That cannot be read, or is too long.", 400)
            return await run_in_threadpool(answered, rater, body, request.path_params)

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
    """Adds the headers that every answer carries."""

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
    return found if isinstance(found, dict) else None


def _flac(path: Path | None) -> Response:
    if path is None:
        return _refuse("There is no such sound now.", 404)
    return Response(path.read_bytes(), media_type="audio/flac")


def _refuse(words: str, status: int) -> Response:
    return JSONResponse({"error": words}, status_code=status)


def _page(name: str) -> str:
    folder = ("page", "script") if name == "el.js" else ("listening", "pages")
    return files("reports").joinpath(*folder, name).read_text(encoding="utf-8")
