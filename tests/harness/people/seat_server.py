"""The least server that a page with the engine can speak to: it stores takes in memory and can be away for a while."""

import io
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import numpy as np
import soundfile
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from harness.audio.pcm import Int16
from harness.people.track import RATE_HZ, Part, Track, track_of
from harness.reports.invited.page import rendered
from harness.study.study import Study

HERE: Final = Path(__file__).parent
POLICY: Final = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; media-src blob:; img-src data:"
"""As the real server's: a worklet must load under it."""


@dataclass
class Take:
    """What came of one take. `parts`: by number; `posted`: how many requests carried one."""

    begun: dict[str, Any]
    parts: dict[int, Part] = field(default_factory=dict)
    posted: int = 0
    end: dict[str, Any] | None = None

    def track(self) -> Track:
        return track_of(self.parts.values(), [(int(at), float(ms)) for at, ms in (self.end or {"clock": []})["clock"]])

    def played(self) -> int:
        """The frame at which its sound began."""
        assert self.end is not None
        return int(self.end["played"][0]["at"])


@dataclass
class SeatServer:
    """A running server. `lose_answers`: so many parts are stored and not acknowledged; `away`: nothing is answered."""

    port: int = 0
    takes: list[Take] = field(default_factory=list)
    sounds: dict[str, Int16] = field(default_factory=dict)
    lose_answers: int = 0
    away: bool = False

    @property
    def address(self) -> str:
        return f"http://localhost:{self.port}/"

    async def begin(self, request: Request) -> Response:
        self.takes.append(Take(await request.json()))
        return JSONResponse({"take": str(len(self.takes) - 1)})

    async def part(self, request: Request) -> Response:
        if self.away:
            return Response(status_code=503)
        take = self.takes[int(request.path_params["take"])]
        samples = np.frombuffer(await request.body(), "<i2").astype(np.int16)
        take.parts[int(request.path_params["number"])] = Part(int(request.query_params["first"]), samples)
        take.posted += 1
        if self.lose_answers:
            self.lose_answers -= 1
            return Response(status_code=502)
        return JSONResponse({})

    async def end(self, request: Request) -> Response:
        self.takes[int(request.path_params["take"])].end = await request.json()
        return JSONResponse({"found": {}})

    async def sound(self, request: Request) -> Response:
        out = io.BytesIO()
        soundfile.write(out, self.sounds[request.path_params["name"]], RATE_HZ, format="WAV")
        return Response(out.getvalue(), media_type="audio/wav")

    async def page(self, request: Request) -> Response:
        name = request.path_params.get("name", "seat.html")
        kind = "text/html" if name.endswith(".html") else "text/javascript"
        return Response(_asset(name), media_type=kind, headers={"content-security-policy": POLICY})

    def asgi(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/", self.page),
                Route("/asset/{name}", self.page),
                Route("/sound/{name}", self.sound),
                Route("/take", self.begin, methods=["POST"]),
                Route("/take/{take}/part/{number}", self.part, methods=["POST"]),
                Route("/take/{take}/end", self.end, methods=["POST"]),
            ]
        )


def _asset(name: str) -> str:
    if name in {"seat.html", "seat.js"}:
        text = (HERE / name).read_text(encoding="utf-8")
        return rendered(text, Study(), ("microphone", "seat")) if name == "seat.html" else text
    rooms = {"invited/pages": ("microphone.js", "asking.js"), "page/script": ("el.js", "words.js")}
    place = next((("harness.reports", room) for room, names in rooms.items() if name in names), ("harness.people", "pages"))
    return files(place[0]).joinpath(*place[1].split("/"), name).read_text(encoding="utf-8")


@contextmanager
def seat_server() -> Iterator[SeatServer]:
    seat = SeatServer()
    server = uvicorn.Server(uvicorn.Config(seat.asgi(), port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    seat.port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield seat
    finally:
        server.should_exit = True
        thread.join(10)
