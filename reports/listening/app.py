"""The listening test as a web application: a page, a step, a sound, an answer.

Every request is answered to the rater in its cookie and to no other (`entry` lets raters in). Answers contain no name of a file
or system.
"""

import secrets
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from harness.reports.listening.answers import Rater, RaterRole, VoteStore
from harness.reports.listening.collect import Collection
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.door import LOCALHOST, Door
from harness.reports.listening.entry import (
    ELSEWHERE,
    LARGEST_ANSWER,
    TOO_MANY,
    Body,
    Entry,
    json_body,
    listening_page,
    new_secret,
    refuse,
    sent_from,
)
from harness.reports.listening.guard import WINDOW_S, Ceiling
from harness.reports.listening.length import session_length
from harness.reports.listening.material import Material
from harness.reports.listening.plan import deal
from harness.reports.listening.session import HEARING_SHARE, Refused, Sessions
from harness.reports.listening.welcome import welcome_page

COOKIE = "listener"
BEGINS_PER_MINUTE = 20
"""Most sessions begun per minute from one address: enough for a room of raters behind one router, too few for a program."""
LARGEST_RECORDING = 6_000_000
"""Most bytes of a recorded reply: a minute of 24 kHz PCM is 2.9 MB, and 3.9 as the page sends it."""
_ASSETS = {
    "listen.js": "text/javascript",
    "collect.js": "text/javascript",
    "asking.js": "text/javascript",
    "microphone.js": "text/javascript",
    "el.js": "text/javascript",
    "listen.css": "text/css",
}

Handler = Callable[[Request], Awaitable[Response]]
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
        self._entry = Entry(self._door, votes.invitations, COOKIE)
        self._ceiling = Ceiling(begins_per_minute)
        self._sessions = Sessions(votes, material, design, hearing_share)
        self._collection = Collection(votes, material)
        self._dealing = threading.Lock()
        # A recording that waits to be decoded holds no thread, so that everybody else is answered meanwhile.
        self._computing = CapacityLimiter(1)
        self._pages = {name: listening_page(name) for name in ("listen.html", "collect.html", *_ASSETS)}
        length = session_length(material, design, votes.answers())
        self._pages["listen.html"] = welcome_page(self._pages["listen.html"], design, length)

    def asgi(self) -> Starlette:
        """The application to serve."""
        return Starlette(
            routes=[
                Route("/", self._front),
                Route("/invitation/{token}", self._front),
                Route("/collect/invitation/{token}", self._collect_page),
                Route("/entering/", self._entry.entering),
                Route("/entering/collect", self._entry.entering),
                Route("/asset/{name}", self._asset),
                Route("/begin", self._begin, methods=["POST"]),
                Route("/step", self._step),
                Route("/answer", self._for_rater(self._answer), methods=["POST"]),
                Route("/leave", self._for_rater(self._leave), methods=["POST"]),
                Route("/sound/{key}", self._for_rater(self._sound)),
                Route("/collect", self._collect_page),
                Route("/collect/next", self._for_contributor(self._collect_next)),
                Route("/collect/sound/{context}", self._for_contributor(self._collect_sound)),
                Route(
                    "/collect/reply",
                    self._for_contributor(self._collect_reply, LARGEST_RECORDING, self._computing),
                    methods=["POST"],
                ),
            ],
            middleware=self._entry.middleware(),
            exception_handlers=self._entry.exception_handlers(),
        )

    # Entering

    async def _front(self, request: Request) -> Response:
        return await self._entry.page(request, self._pages["listen.html"], "/")

    async def _collect_page(self, request: Request) -> Response:
        return await self._entry.page(request, self._pages["collect.html"], "/collect")

    async def _begin(self, request: Request) -> Response:
        """Agree and begin; a returning rater continues at the same step."""
        if not self._entry.from_here(request):
            return refuse(ELSEWHERE, 403)
        body = await json_body(request)
        if body is None or body.get("consent") is not True:
            return refuse("Please read the page and agree first.", 400)
        secret = self._entry.secret(request)
        address = request.client.host if request.client else ""
        return await run_in_threadpool(self._begun, secret, address, body.get("purpose") == "collect")

    def _begun(self, secret: str, address: str, collects: bool) -> Response:
        link = self._entry.admitted(secret)
        if isinstance(link, Response):
            return link
        secret = new_secret(secret, link, self._votes.rater(secret) is not None)
        if self._votes.rater(secret) is None and not self._ceiling.admits(address, time.monotonic()):
            refused = refuse(TOO_MANY, 429)
            refused.headers["retry-after"] = str(round(WINDOW_S))
            return refused
        self._start(secret, "rater" if link and link.role == "rater" else "contributor", collects)
        response = JSONResponse({})
        self._entry.remember(response, secret)
        return response

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
            return refuse("That answer cannot be read.", 400)
        try:
            self._sessions.take(rater, body.get("position"), answer)
        except Refused as refused:
            return refuse(str(refused), 409)
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
            return refuse(str(refused), 409)
        return JSONResponse(self._collection.next_for(rater))

    # Who asks

    async def _rater(self, request: Request) -> Rater | None:
        secret = self._entry.secret(request)
        if not secret:
            return None
        return self._votes.remembered(secret) or await run_in_threadpool(self._votes.rater, secret)

    def _unless_shut(self, request: Request, answered: Callable[[], Response]) -> Response:
        """The answer, if the link of the requester still works."""
        why = self._entry.why_shut(request)
        return answered() if why is None else refuse(why, 403)

    def _for_rater(self, answered: Answered, largest: int = LARGEST_ANSWER, limiter: CapacityLimiter | None = None) -> Handler:
        """A handler only for raters who have begun; a posted body must be JSON of at most `largest` bytes. `limiter`: of
        threads for what computes."""

        async def guarded(request: Request) -> Response:
            if request.method == "POST" and not self._entry.from_here(request):
                return refuse(ELSEWHERE, 403)
            rater = await self._rater(request)
            if rater is None:
                return refuse("Please begin on the first page.", 401)
            body = await json_body(request, largest) if request.method == "POST" else {}
            if body is None:
                return refuse("That cannot be read, or is too long.", 400)
            return await run_sync(
                self._unless_shut, request, lambda: answered(rater, body, request.path_params), limiter=limiter
            )

        return guarded

    def _for_contributor(
        self, answered: Answered, largest: int = LARGEST_ANSWER, limiter: CapacityLimiter | None = None
    ) -> Handler:
        def guarded(rater: Rater, body: Body, asked: Mapping[str, str]) -> Response:
            if rater.role != "contributor":
                return refuse("Your invitation is for listening only.", 403)
            return answered(rater, body, asked)

        return self._for_rater(guarded, largest, limiter)

    async def _asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _ASSETS:
            return refuse("There is no such file.", 404)
        return Response(self._pages[name], media_type=_ASSETS[name])


def _flac(path: Path | None) -> Response:
    if path is None:
        return refuse("There is no such sound now.", 404)
    return sent_from(path, "audio/flac")
