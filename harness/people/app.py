"""The two seats as a web application: a page, a step, a recording in parts, a decision.

People enter as they enter a listening test (`harness.reports.listening.entry`), and every request is answered to the person
in its cookie and to no other. Parts of a recording are bytes and not JSON; they are refused from other sites all the same,
because those cannot send the content type unasked.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from typing import Any, Final

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from harness.errors import UserError
from harness.people import loop_back
from harness.people.records import LARGEST_PART, Person, SeatStore
from harness.people.seat import CONSENT, Seat
from harness.people.sittings import Sittings, wav
from harness.people.withdraw import Withdraw
from harness.reports.listening.door import Door
from harness.reports.listening.entry import (
    ELSEWHERE,
    TOO_MANY,
    Body,
    Entry,
    bytes_of,
    json_body,
    listening_page,
    new_secret,
    refuse,
)
from harness.reports.listening.guard import WINDOW_S, Ceiling
from harness.reports.listening.session import Refused

COOKIE: Final = "seat"
BEGINS_PER_MINUTE: Final = 20
"""Most sittings begun per minute from one address, as in listening tests."""
NOT_NOW: Final = "This cannot be done now. Please try again later, or tell whoever invited you."
SCRIPTS: Final = ("engine.js", "worklet.js", "upload.js", "seat.js", "caller.js", "supporter.js")
_SHARED: Final = {
    "el.js": "text/javascript",
    "asking.js": "text/javascript",
    "microphone.js": "text/javascript",
    "listen.css": "text/css",
}

Handler = Callable[[Request], Awaitable[Response]]
Answered = Callable[[Person, Body, Mapping[str, str]], Response]
"""(person, body, parameters of the address) → the answer; runs in a thread, in one step."""


class SeatApp:
    """The routes of one seat."""

    def __init__(
        self,
        records: SeatStore,
        seat: Seat,
        door: Door,
        withdraw: Withdraw,
        *,
        rehearsal: bool = False,
        begins_per_minute: int = BEGINS_PER_MINUTE,
    ) -> None:
        """Make the routes. `rehearsal`: everybody in the seat is a program. `withdraw` removes everything of one person."""
        self._records = records
        self._seat = seat
        self._rehearsal = rehearsal
        self._withdraw = withdraw
        self._entry = Entry(door, records.invitations, COOKIE)
        self._ceiling = Ceiling(begins_per_minute)
        # A recording that waits to be examined holds no thread, so that everybody else is answered meanwhile.
        self._computing = CapacityLimiter(1)
        self._sittings = Sittings(records, seat)
        self._page = seat_page(seat.page)
        self._assets = {name: (listening_page(name), kind) for name, kind in _SHARED.items()}
        self._assets |= {name: (seat_page(name), "text/javascript") for name in SCRIPTS}
        self._assets["seat.css"] = (seat_page("seat.css"), "text/css")
        self._trial = wav(loop_back.sound())

    def asgi(self) -> Starlette:
        """The application to serve."""
        return Starlette(
            routes=[
                Route("/", self._front),
                Route("/invitation/{token}", self._front),
                Route("/entering/", self._entry.entering),
                Route("/asset/{name}", self._asset),
                Route("/begin", self._begin, methods=["POST"]),
                Route("/next", self._for_person(self._next)),
                Route("/sound/loop-back", self._for_person(self._trial_sound)),
                Route("/sound/item/{what}", self._for_person(self._sound)),
                Route("/loop-back/without", self._for_person(self._without), methods=["POST"]),
                Route("/take", self._for_person(self._take), methods=["POST"]),
                Route("/take/{take}/part/{number:int}", self._part, methods=["POST"]),
                Route("/take/{take}/played", self._for_person(self._played), methods=["POST"]),
                Route("/take/{take}/end", self._for_person(self._end, self._computing), methods=["POST"]),
                Route("/take/{take}/keep", self._for_person(self._keep, self._computing), methods=["POST"]),
                Route("/take/{take}/discard", self._for_person(self._discard), methods=["POST"]),
                Route("/take/{take}/sound", self._for_person(self._take_sound)),
                Route("/withdraw", self._for_person(self._leave), methods=["POST"]),
            ],
            middleware=self._entry.middleware(),
            exception_handlers=self._entry.exception_handlers(),
        )

    # Entering

    async def _front(self, request: Request) -> Response:
        return await self._entry.page(request, self._page, "/")

    async def _asset(self, request: Request) -> Response:
        found = self._assets.get(request.path_params["name"])
        return refuse("There is no such file.", 404) if found is None else Response(found[0], media_type=found[1])

    async def _begin(self, request: Request) -> Response:
        """Agree and begin; somebody who returns continues. A page that begins becomes the person's only one."""
        if not self._entry.from_here(request):
            return refuse(ELSEWHERE, 403)
        body = await json_body(request)
        if body is None or body.get("consent") != CONSENT or body.get("adult") is not True:
            return refuse("Please read the page and agree first.", 400)
        tab = body.get("tab")
        if not isinstance(tab, str) or not 8 <= len(tab) <= 64:
            return refuse("That cannot be read. Please reload the page.", 400)
        address = request.client.host if request.client else ""
        automatic = self._rehearsal or body.get("automatic") is not False
        return await run_in_threadpool(self._begun, self._entry.secret(request), address, automatic, tab)

    def _begun(self, secret: str, address: str, automatic: bool, tab: str) -> Response:
        link = self._entry.admitted(secret)
        if isinstance(link, Response):
            return link
        known = self._records.person(secret) if secret else None
        secret = new_secret(secret, link, known is not None)
        if known is None:
            if not self._ceiling.admits(address, time.monotonic()):
                refused = refuse(TOO_MANY, 429)
                refused.headers["retry-after"] = str(round(WINDOW_S))
                return refused
            known = self._records.begin(secret, self._seat.name, automatic, CONSENT)
        if automatic and not known.automatic:
            self._records.mark_automatic(known)
        self._records.open_tab(known, tab)
        person = self._records.person(secret)
        assert person is not None
        response = JSONResponse(self._sittings.step(person))
        self._entry.remember(response, secret)
        return response

    # A sitting

    def _next(self, person: Person, _: Body, __: Mapping[str, str]) -> Response:
        return JSONResponse(self._sittings.step(person))

    def _trial_sound(self, _: Person, __: Body, ___: Mapping[str, str]) -> Response:
        return Response(self._trial, media_type="audio/wav")

    def _sound(self, person: Person, _: Body, asked: Mapping[str, str]) -> Response:
        return _wav(self._seat.sound(person, asked["what"]))

    def _without(self, person: Person, body: Body, _: Mapping[str, str]) -> Response:
        self._sittings.go_on_without(person, body.get("tab"))
        return JSONResponse(self._sittings.step(person))

    def _take(self, person: Person, body: Body, _: Mapping[str, str]) -> Response:
        return JSONResponse({"take": self._sittings.open(person, body).id})

    def _played(self, person: Person, body: Body, asked: Mapping[str, str]) -> Response:
        self._sittings.played(person, asked["take"], body)
        return JSONResponse({})

    def _end(self, person: Person, body: Body, asked: Mapping[str, str]) -> Response:
        return JSONResponse({"found": self._sittings.end(person, asked["take"], body)})

    def _keep(self, person: Person, body: Body, asked: Mapping[str, str]) -> Response:
        self._sittings.keep(person, asked["take"], body)
        return JSONResponse(self._sittings.step(person))

    def _discard(self, person: Person, _: Body, asked: Mapping[str, str]) -> Response:
        self._sittings.discard(person, asked["take"])
        return JSONResponse(self._sittings.step(person))

    def _take_sound(self, person: Person, _: Body, asked: Mapping[str, str]) -> Response:
        sound = self._sittings.sound_of(person, asked["take"])
        if sound is None:
            return _wav(None)
        return StreamingResponse(sound.pieces, media_type="audio/wav", headers={"content-length": str(sound.size)})

    def _leave(self, person: Person, _: Body, __: Mapping[str, str]) -> Response:
        return JSONResponse({"rest_later": not self._withdraw(person.id)})

    async def _part(self, request: Request) -> Response:
        person, refused = await self._person(request)
        if person is None:
            return refused
        if request.headers.get("content-type", "").split(";")[0] != "application/octet-stream":
            return refuse("That cannot be read.", 400)
        pcm = await bytes_of(request, LARGEST_PART)
        first = request.query_params.get("first", "")
        if pcm is None or not first.isdecimal() or len(first) > 15:
            return refuse("That part of the recording cannot be read.", 400)
        take, number = request.path_params["take"], request.path_params["number"]

        def stored() -> Response:
            self._sittings.add_part(person, take, number, int(first), pcm)
            return JSONResponse({})

        return await run_in_threadpool(self._answered, request, stored)

    # Requests

    async def _person(self, request: Request) -> tuple[Person | None, Response]:
        """The person who asks; or None, and the refusal."""
        if request.method == "POST" and not self._entry.from_here(request):
            return None, refuse(ELSEWHERE, 403)
        secret = self._entry.secret(request)
        person = await run_in_threadpool(self._records.person, secret) if secret else None
        return person, refuse("Please begin on the first page.", 401)

    def _answered(self, request: Request, answered: Callable[[], Response]) -> Response:
        """The answer, if the link of the requester still works; a refusal in its words."""
        if why := self._entry.why_shut(request):
            return refuse(why, 403)
        try:
            return answered()
        except Refused as refused:
            return refuse(str(refused), 409)
        except UserError as fault:
            # Its words are for the person who serves the page, and name folders of their computer.
            logging.getLogger(__name__).error("%s", fault)
            return refuse(NOT_NOW, 409)

    def _for_person(self, answered: Answered, limiter: CapacityLimiter | None = None) -> Handler:
        """A handler only for people who have begun; a posted body must be JSON. `limiter`: of threads for what computes."""

        async def guarded(request: Request) -> Response:
            person, refused = await self._person(request)
            if person is None:
                return refused
            body: dict[str, Any] | None = await json_body(request) if request.method == "POST" else {}
            if body is None:
                return refuse("That cannot be read, or is too long.", 400)
            return await run_sync(self._answered, request, lambda: answered(person, body, request.path_params), limiter=limiter)

        return guarded


def seat_page(name: str) -> str:
    """The text of a page, script or style of the seats."""
    return files("harness.people").joinpath("pages", name).read_text(encoding="utf-8")


def _wav(sound: bytes | None) -> Response:
    return refuse("There is no such sound now.", 404) if sound is None else Response(sound, media_type="audio/wav")
