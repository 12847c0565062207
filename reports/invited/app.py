"""One server's pages as a web application: how people enter, begin, and ask for what is theirs.

Every request is answered to the person in its cookie and to no other, in one step, in a thread. Whoever has no working link, or
sends from another site, is refused before a body is read.
"""

import logging
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Generic, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from harness.errors import UserError
from harness.reports.invited import Refused
from harness.reports.invited.address import Address
from harness.reports.invited.entry import PAGES, REPORTS, Body, Entry, json_body, page_text, refuse
from harness.reports.invited.guard import WINDOW_S, Ceiling
from harness.reports.invited.links import Link, Links
from harness.study.study import Study

BEGINS_PER_MINUTE: Final = 20
"""Most people who begin per minute from one address: enough for a room behind one router, too few for a program."""

Person = TypeVar("Person")
Json = dict[str, Any]
Handler = Callable[[Request], Awaitable[Response]]
Read = Callable[[Request], Awaitable[Body | None]]
Answered = Callable[[Person, Body, Mapping[str, str]], Response | Json]
"""(person, body, parameters of the address) → the answer."""


class InvitedApp(ABC, Generic[Person]):
    """The pages of one server. On a public one only holders of a link are admitted."""

    def __init__(
        self,
        address: Address,
        links: Links,
        *,
        cookie: str,
        assets: Mapping[str, str],
        begins_per_minute: int,
        study: Study | None = None,
    ) -> None:
        """Make the application. `assets`: the texts of scripts and styles beside the shared ones, by name."""
        self.study = study or Study()
        self.entry = Entry(address, links, cookie, self.study)
        self._ceiling = Ceiling(begins_per_minute)
        shared = {name: page_text(PAGES, name) for name in ("asking.js", "microphone.js", "listen.css")}
        made = {name: page_text(REPORTS.joinpath("page", "script"), name) for name in ("el.js", "words.js")}
        self._assets = {**made, **shared, **assets}
        self.computing = CapacityLimiter(1)
        """For what computes: a recording that waits for its turn holds no thread, so everybody else is answered meanwhile."""

    @abstractmethod
    def routes(self) -> list[Route]:
        """The pages, and what their people ask for."""

    @abstractmethod
    def person(self, secret: str) -> Person | None:
        """Whoever began with this secret; None if nobody did."""

    @abstractmethod
    def objection(self, body: Body) -> str | None:
        """The reason why nobody can begin with this request, as the key of its words; None if they agreed to everything."""

    @abstractmethod
    def begun(self, secret: str, known: Person | None, link: Link | None, body: Body, /) -> Json:
        """The answer to somebody who begins, or begins again."""

    def asgi(self) -> Starlette:
        """The application to serve."""
        return Starlette(
            routes=[
                *self.routes(),
                Route("/asset/{name}", self._asset),
                Route("/begin", self._begin, methods=["POST"]),
            ],
            middleware=self.entry.middleware(),
            exception_handlers=self.entry.exception_handlers(),
        )

    def refused(self, key: str, status: int, **values: object) -> JSONResponse:
        """An answer that says why not, in the study's language."""
        return refuse(self.study.texts(key, **values), status)

    def page(self, html: str, path: str) -> list[Route]:
        """The routes of a page: with an invitation in its address, without, and between the two."""

        async def answered(request: Request) -> Response:
            return await self.entry.page(request, html, path)

        invitation = f"{path.rstrip('/')}/invitation/{{token}}"
        return [Route(path, answered), Route(invitation, answered), Route(f"/entering{path}", self.entry.entering)]

    async def _asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self._assets:
            return self.refused("invited.no_file", 404)
        return Response(self._assets[name], media_type="text/css" if name.endswith(".css") else "text/javascript")

    async def _begin(self, request: Request) -> Response:
        """Agree and begin; somebody who returns continues."""
        if not self.entry.from_here(request):
            return self.refused("invited.from_elsewhere", 403)
        body = await json_body(request)
        if (why := "invited.unreadable" if body is None else self.objection(body)) is not None or body is None:
            return self.refused(why or "", 400)
        address = request.client.host if request.client else ""
        return await run_in_threadpool(self._begun, self.entry.secret(request), address, body)

    def _begun(self, secret: str, address: str, body: Body) -> Response:
        link = self.entry.admitted(secret)
        if isinstance(link, Response):
            return link
        known = self.person(secret) if secret else None
        if known is None and not self._ceiling.admits(address, time.monotonic()):
            refused = self.refused("invited.too_many", 429)
            refused.headers["retry-after"] = str(round(WINDOW_S))
            return refused
        if link is None and known is None:
            secret = secrets.token_urlsafe(24)  # One that was not made here could be chosen by anybody.
        response = JSONResponse(self.begun(secret, known, link, body))
        self.entry.remember(response, secret)
        return response

    async def asking(self, request: Request) -> Person | None:
        """The person in the requester's cookie."""
        secret = self.entry.secret(request)
        return await run_in_threadpool(self.person, secret) if secret else None

    def handler(self, answered: Answered[Person], *, read: Read = json_body, limiter: CapacityLimiter | None = None) -> Handler:
        """A handler for people who have begun and whose link works. `read`: of a posted body; `limiter`: of its threads."""

        async def guarded(request: Request) -> Response:
            if request.method == "POST" and not self.entry.from_here(request):
                return self.refused("invited.from_elsewhere", 403)
            person = await self.asking(request)
            if person is None:
                return self.refused("invited.begin_first", 401)
            body = await read(request) if request.method == "POST" else {}
            if body is None:
                return self.refused("invited.unreadable", 400)
            return await run_sync(self._answer, request, lambda: answered(person, body, request.path_params), limiter=limiter)

        return guarded

    def _answer(self, request: Request, answered: Callable[[], Response | Json]) -> Response:
        if why := self.entry.why_closed(request):
            return refuse(why, 403)
        try:
            answer = answered()
        except Refused as refused:
            return self.refused(refused.key, 409, **refused.values)
        except UserError as fault:
            # Its words are for the person who serves the page, and name folders of their computer.
            logging.getLogger(__name__).error("%s", fault)
            return self.refused("invited.not_now", 409)
        return answer if isinstance(answer, Response) else JSONResponse(answer)
