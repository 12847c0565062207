"""The two seats as a web application: a page, a step, a recording in parts, a decision.

Parts of a recording are bytes and not JSON; they are refused from other sites all the same, because those cannot send the
content type unasked.
"""

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from anyio import CapacityLimiter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from harness.people import loop_back
from harness.people.records import LARGEST_PART, Person, SeatStore
from harness.people.seat import CONSENT, Seat
from harness.people.sittings import Sittings, wav
from harness.people.withdraw import Withdraw
from harness.reports.invited.address import Address
from harness.reports.invited.app import BEGINS_PER_MINUTE, Answered, InvitedApp, Json
from harness.reports.invited.entry import Body, bytes_of, page_text
from harness.reports.invited.links import Link
from harness.reports.invited.page import rendered

PAGES: Final = files("harness.people").joinpath("pages")
_ASSETS: Final = ("engine.js", "worklet.js", "upload.js", "seat.js", "caller.js", "supporter.js", "seat.css")


class SeatApp(InvitedApp[Person]):
    """The routes of one seat."""

    def __init__(
        self,
        records: SeatStore,
        seat: Seat,
        address: Address,
        withdraw: Withdraw,
        *,
        rehearsal: bool = False,
        begins_per_minute: int = BEGINS_PER_MINUTE,
    ) -> None:
        """Make the routes. `rehearsal`: everybody in the seat is a program. `withdraw` removes everything of one person."""
        assets = {name: page_text(PAGES, name) for name in _ASSETS}
        super().__init__(
            address, records.links, cookie="seat", assets=assets, begins_per_minute=begins_per_minute, study=seat.study
        )
        self._records = records
        self._seat = seat
        self._rehearsal = rehearsal
        self._withdraw = withdraw
        self._sittings = Sittings(records, seat)
        self._trial = wav(loop_back.sound())

    def routes(self) -> list[Route]:
        def posted(path: str, answered: Answered[Person], limiter: CapacityLimiter | None = None) -> Route:
            return Route(path, self.handler(answered, limiter=limiter), methods=["POST"])

        sittings = self._sittings
        return [
            *self.page(rendered(page_text(PAGES, self._seat.page), self.study, ("microphone", "seat", self._seat.name)), "/"),
            Route("/next", self.handler(lambda person, _, __: sittings.step(person))),
            Route("/sound/loop-back", self.handler(lambda _, __, ___: self._wav(self._trial))),
            Route(
                "/sound/item/{what}", self.handler(lambda person, _, asked: self._wav(self._seat.sound(person, asked["what"])))
            ),
            posted("/loop-back/without", lambda person, body, _: sittings.go_on_without(person, body.get("tab"))),
            posted("/about", self._about),
            posted("/take", lambda person, body, _: {"take": sittings.open(person, body).id}),
            Route("/take/{take}/part/{number:int}", self.handler(self._part, read=_part_of), methods=["POST"]),
            posted("/take/{take}/played", self._played),
            posted(
                "/take/{take}/end",
                lambda person, body, asked: {"found": sittings.end(person, asked["take"], body)},
                self.computing,
            ),
            posted("/take/{take}/keep", lambda person, body, asked: sittings.keep(person, asked["take"], body), self.computing),
            posted("/take/{take}/discard", lambda person, _, asked: sittings.discard(person, asked["take"])),
            Route("/take/{take}/sound", self.handler(self._take_sound)),
            posted("/withdraw", lambda person, _, __: {"rest_later": not self._withdraw(person.id)}),
        ]

    def person(self, secret: str) -> Person | None:
        return self._records.person(secret)

    def objection(self, body: Body) -> str | None:
        if body.get("consent") != CONSENT or body.get("adult") is not True:
            return "invited.agree_first"
        tab = body.get("tab")
        return None if isinstance(tab, str) and 8 <= len(tab) <= 64 else "invited.unreadable"

    def begun(self, secret: str, known: Person | None, _link: Link | None, body: Body, /) -> Json:
        """The first step. A page that begins becomes the person's only one."""
        automatic = self._rehearsal or body.get("automatic") is not False
        known = known or self._records.begin(secret, self._seat.name, automatic, CONSENT)
        if automatic and not known.automatic:
            self._records.mark_automatic(known)
        self._records.participants.agree(known.id, self.study)
        self._records.open_tab(known, body["tab"])
        person = self._records.person(secret)
        assert person is not None
        return self._sittings.step(person)

    def _played(self, person: Person, body: Body, asked: Mapping[str, str]) -> Json:
        self._sittings.played(person, asked["take"], body)
        return {}

    def _part(self, person: Person, body: Body, asked: Mapping[str, str]) -> Json:
        self._sittings.add_part(person, asked["take"], int(asked["number"]), body["first"], body["pcm"])
        return {}

    def _wav(self, sound: bytes | None) -> Response:
        return self.refused("invited.no_sound", 404) if sound is None else Response(sound, media_type="audio/wav")

    def _about(self, person: Person, body: Body, _: Mapping[str, str]) -> Response | Json:
        answers = body.get("answers")
        if not isinstance(answers, list):
            return self.refused("invited.unreadable", 400)
        self._records.participants.say(person.id, self.study, answers)
        return {}

    def _take_sound(self, person: Person, _: Body, asked: Mapping[str, str]) -> Response:
        sound = self._sittings.sound_of(person, asked["take"])
        if sound is None:
            return self._wav(None)
        return StreamingResponse(sound.pieces, media_type="audio/wav", headers={"content-length": str(sound.size)})


async def _part_of(request: Request) -> Body | None:
    """The bytes of a part and its first frame; None if they cannot be read."""
    first = request.query_params.get("first", "")
    if request.headers.get("content-type", "").split(";")[0] != "application/octet-stream":
        return None
    pcm = await bytes_of(request, LARGEST_PART)
    return {"first": int(first), "pcm": pcm} if pcm is not None and first.isdecimal() and len(first) <= 15 else None
