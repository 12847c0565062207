"""When a call over pipecat's evaluation wire goes over the plain one instead, and when it must not."""

import http
import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pipecat.frames.protobufs import frames_pb2
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from harness.agents.connection import FELL_BACK, ConnectionFailed, Mark
from harness.agents.connections import ConnectionSpec, make
from harness.agents.profile import parse_profile
from harness.run.caller_turns import history_of
from harness.scenarios.context import Context, Turn

BOT_READY = frames_pb2.Frame(
    message=frames_pb2.MessageFrame(
        data=json.dumps({"label": "rtvi-ai", "type": "bot-ready", "id": "1", "data": {"version": "1.0.0"}})
    )
)


class Bot:
    """A bot whose plain wire works, and whose evaluation wire refuses with an HTTP status or a close code."""

    def __init__(self, refusal: int) -> None:
        self._refusal = refusal
        self.called: list[str] = []

    def turn_away(self, connection: ServerConnection, request: Request) -> Response | None:
        route = urlsplit(request.path).path
        self.called.append(route)
        if route == "/ws" and self._refusal < 1_000:
            return connection.respond(http.HTTPStatus(self._refusal), "")
        return None

    async def session(self, socket: ServerConnection) -> None:
        assert socket.request is not None
        if urlsplit(socket.request.path).path == "/ws":
            await socket.close(self._refusal)
            return
        await socket.send(BOT_READY.SerializeToString())
        await socket.wait_closed()


@pytest.mark.parametrize("refusal", [1000, 1011, 403, 404])
async def test_a_bot_without_the_wire_is_called_at_its_plain_route(refusal: int) -> None:
    bot = Bot(refusal)
    async with serve(bot.session, "127.0.0.1", 0, process_request=bot.turn_away) as listening:
        port = next(iter(listening.sockets)).getsockname()[1]
        line = make(ConnectionSpec("pipecat-eval", f"ws://127.0.0.1:{port}/ws", {}))
        await line.open(())
        await line.close()
        first = await anext(aiter(line.events()))
    assert bot.called == ["/ws", "/ws-client"]
    assert isinstance(first, Mark)
    assert first.name == FELL_BACK


@pytest.mark.parametrize(
    ("refusal", "kind"), [(4401, "unauthorised"), (1013, "busy"), (401, "unauthorised"), (503, "busy"), (500, "refused")]
)
async def test_a_bot_that_refuses_a_key_or_is_busy_is_not_said_to_lack_the_wire(refusal: int, kind: str) -> None:
    bot = Bot(refusal)
    async with serve(bot.session, "127.0.0.1", 0, process_request=bot.turn_away) as listening:
        port = next(iter(listening.sockets)).getsockname()[1]
        with pytest.raises(ConnectionFailed) as caught:
            await make(ConnectionSpec("pipecat-eval", f"ws://127.0.0.1:{port}/ws", {})).open(())
    assert caught.value.kind == kind
    assert bot.called == ["/ws"]


def test_in_replay_a_greeting_is_not_given_where_it_could_cost_the_call() -> None:
    text = 'kind = "{}"\nurl = "ws://127.0.0.1:7860/ws"\naccepts_history = true\n'
    evaluated, plain = (parse_profile(text.format(kind), Path("bot.toml")) for kind in ("pipecat-eval", "raw-pcm"))
    assert evaluated.accepts_a_history
    greeted = Context(
        id="greeted", subset="regular", emotion="neutral", problem="any", source="tests", licence="Apache-2.0",
        turns=(Turn(role="supporter", text="Hello."), Turn(role="seeker", text="I am tired.")),
    )  # fmt: skip
    assert history_of(greeted, "replay", evaluated.takes_a_greeting) == ()
    assert len(history_of(greeted, "replay", plain.takes_a_greeting)) == 1
    assert len(history_of(greeted, "seeded", evaluated.takes_a_greeting)) == 1
