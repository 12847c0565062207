"""The listening test as a web application: a page, a step, a sound, an answer. Answers contain no name of a file or system."""

import secrets
import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from harness.reports.invited.address import Address
from harness.reports.invited.app import BEGINS_PER_MINUTE, Answered, Handler, InvitedApp, Json
from harness.reports.invited.entry import REPORTS, Body, json_body, page_text, sent_from
from harness.reports.invited.links import Link
from harness.reports.invited.page import rendered
from harness.reports.listening.answers import Rater, RaterRole, VoteStore
from harness.reports.listening.collect import Collection
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.length import session_length
from harness.reports.listening.material import Material
from harness.reports.listening.plan import deal
from harness.reports.listening.session import HEARING_SHARE, Sessions
from harness.reports.listening.welcome import welcome_page
from harness.study.study import Study

LARGEST_RECORDING: Final = 6_000_000
"""Most bytes of a recorded reply: a minute of 24 kHz PCM is 2.9 MB, and 3.9 as the page sends it."""


class ListeningApp(InvitedApp[Rater]):
    """The routes of one test."""

    def __init__(
        self,
        votes: VoteStore,
        material: Material,
        design: ListeningDesign,
        address: Address | None = None,
        *,
        study: Study | None = None,
        hearing_share: float = HEARING_SHARE,
        begins_per_minute: int = BEGINS_PER_MINUTE,
    ) -> None:
        """Make the routes. `address`: None for this machine only. `hearing_share` (share of a step's sound that must have
        played) and `begins_per_minute` (sessions from one address) differ only to measure the server.
        """
        pages = REPORTS.joinpath("listening", "pages")
        scripts = {name: page_text(pages, name) for name in ("listen.js", "collect.js")}
        super().__init__(
            address or Address(), votes.links, cookie="listener", assets=scripts, begins_per_minute=begins_per_minute,
            study=study,
        )  # fmt: skip
        self._votes = votes
        self._material = material
        self._design = design
        self._sessions = Sessions(votes, material, design, self.study, hearing_share)
        self._collection = Collection(votes, material)
        self._dealing = threading.Lock()
        length = session_length(material, design, votes.answers())
        self.checks_attention = length.checks
        self._front = welcome_page(page_text(pages, "listen.html"), design, length, self.study)
        self._collect = rendered(page_text(pages, "collect.html"), self.study, ("listen", "collect", "microphone"))
        self._due = self.handler(lambda rater, _, __: self._sessions.step(rater))

    def routes(self) -> list[Route]:
        read_recording = partial(json_body, largest=LARGEST_RECORDING)
        reply = self._for_contributor(self._collect_reply, read=read_recording, limiter=self.computing)
        return [
            *self.page(self._front, "/"),
            *self.page(self._collect, "/collect"),
            Route("/step", self._step),
            Route("/answer", self.handler(self._answered), methods=["POST"]),
            Route("/about", self.handler(self._about), methods=["POST"]),
            Route("/leave", self.handler(self._leave), methods=["POST"]),
            Route("/sound/{key}", self.handler(lambda rater, _, asked: self._flac(self._sessions.sound(rater, asked["key"])))),
            Route("/collect/next", self._for_contributor(lambda rater, _, __: self._next(rater))),
            Route("/collect/sound/{context}", self._for_contributor(self._collect_sound)),
            Route("/collect/reply", reply, methods=["POST"]),
        ]

    def person(self, secret: str) -> Rater | None:
        return self._votes.rater(secret)

    def objection(self, body: Body) -> str | None:
        return None if body.get("consent") is True else "invited.agree_first"

    def begun(self, secret: str, known: Rater | None, link: Link | None, body: Body, /) -> Json:
        """A new rater gets a plan; a returning one continues at the same step."""
        if known is None:
            # Two raters who begin at once must not get the same least-judged items.
            with self._dealing:
                collects, seed = body.get("purpose") == "collect", secrets.randbits(32)
                plan = () if collects else deal(self._material.conversations, self._design, self._votes.coverage(), seed)
                role: RaterRole = "rater" if link and link.role == "rater" else "contributor"
                known = self._votes.begin(secret, role, self._design.model_dump_json(), plan)
        self._votes.participants.agree(known.id, self.study)
        return {}

    # The test

    async def _step(self, request: Request) -> Response:
        rater = await self.asking(request)
        if rater is None or not await run_in_threadpool(self._votes.participants.agreed, rater.id, self.study):
            return JSONResponse({"kind": "welcome"})
        return await self._due(request)

    def _answered(self, rater: Rater, body: Body, _: Mapping[str, str]) -> Response | Json:
        answer = body.get("answer")
        if not isinstance(answer, dict):
            return self.refused("invited.unreadable", 400)
        self._sessions.take(rater, body.get("position"), answer)
        return self._sessions.step(rater)

    def _leave(self, rater: Rater, _: Body, __: Mapping[str, str]) -> Json:
        self._votes.leave(rater)
        return {"name": rater.id}

    def _about(self, rater: Rater, body: Body, _: Mapping[str, str]) -> Response | Json:
        answers = body.get("answers")
        if not isinstance(answers, list):
            return self.refused("invited.unreadable", 400)
        self._votes.participants.say(rater.id, self.study, answers)
        return {}

    # People's own replies

    def _collect_sound(self, rater: Rater, _: Body, asked: Mapping[str, str]) -> Response:
        return self._flac(self._collection.sound(rater, asked["context"]))

    def _collect_reply(self, rater: Rater, body: Body, _: Mapping[str, str]) -> Json:
        self._collection.take(rater, body)
        return self._next(rater)

    def _next(self, rater: Rater) -> Json:
        """The conversation to answer; first the study's questions about the person, last its code."""
        if questions := self._votes.participants.questions(rater.id, self.study):
            return {"kind": "about", "questions": questions}
        due = self._collection.next_for(rater)
        end = {"code": self.study.completion_code, "way_back": self.study.way_back, "name": rater.id}
        return due | end if due["kind"] == "done" and due["given"] else due

    def _for_contributor(self, answered: Answered[Rater], **more: Any) -> Handler:
        def guarded(rater: Rater, body: Body, asked: Mapping[str, str]) -> Response | Json:
            if rater.role != "contributor":
                return self.refused("listen.refused.listening_only", 403)
            return answered(rater, body, asked)

        return self.handler(guarded, **more)

    def _flac(self, path: Path | None) -> Response:
        return self.refused("invited.no_sound", 404) if path is None else sent_from(path, "audio/flac")
