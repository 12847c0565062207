"""Keys, headers and tokens: on every wire they reach the server, come from the environment alone, and go to nobody else."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path

import pytest
from aiohttp import web

from harness.agents.connection import ConnectionFailed
from harness.agents.connections import ConnectionSpec, make
from harness.agents.connections.wire import shown
from harness.agents.process import AgentProcess
from harness.agents.profile import AgentProfile, ProfileError, parse_profile
from harness.agents.secret_places import in_settings
from harness.agents.secrets import learn, redact
from harness.store.selection import is_agents_fault
from tests.agents.certificates import Authority

StartPeer = Callable[[AgentProfile | str], Awaitable[AgentProcess]]
ProfileOf = Callable[[str], AgentProfile]

KEY, ROOM, QUERY = "k3y/of+the=door-4711", "r00m-of-the-d00r", "t0ken of/the+query?"
WIRES = ("pipecat", "pipecat-eval", "raw-pcm", "twilio", "openai-realtime", "openai-live", "webrtc")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOOR_KEY", KEY)
    monkeypatch.setenv("DOOR_ROOM", ROOM)
    monkeypatch.setenv("DOOR_QUERY", QUERY)


class Porter:
    """A server that notes what callers bring, and turns them away."""

    def __init__(self, status: int = 401, headers: Mapping[str, str] | None = None) -> None:
        self._status, self._headers = status, dict(headers or {})
        self.brought: list[tuple[str, dict[str, str], dict[str, str]]] = []
        """(path, headers, query) of each request."""

    async def answer(self, request: web.Request) -> web.Response:
        self.brought.append((request.path, dict(request.headers), dict(request.query)))
        return web.Response(status=self._status, headers=self._headers)


@contextlib.asynccontextmanager
async def serving(
    handler: Callable[[web.Request], Awaitable[web.StreamResponse]], host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, host, 0, ssl_context=tls)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def profile_text(kind: str, url: str) -> str:
    return f'kind = "{kind}"\nurl = "{url}"\napi_key_env = "DOOR_KEY"\nheaders = {{ X-Room = "room ${{DOOR_ROOM}}" }}\n'


def address(kind: str, port: int, path: str = "/door") -> str:
    return f"{'http' if kind == 'webrtc' else 'ws'}://127.0.0.1:{port}{path}"


@pytest.mark.parametrize("kind", WIRES)
async def test_a_key_a_header_and_a_token_reach_the_server_and_nothing_else(kind: str, tmp_path: Path) -> None:
    porter = Porter()
    async with serving(porter.answer) as port:
        text = profile_text(kind, address(kind, port) + "?token=${DOOR_QUERY}")
        profile = parse_profile(text, tmp_path / "mine.toml")
        spec = profile.connection(profile.running_url or "")
        with pytest.raises(ConnectionFailed) as caught:
            await make(spec).open(())
    path, headers, query = porter.brought[0]
    assert path == "/door"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert headers["X-Room"] == f"room {ROOM}"
    assert query["token"] == QUERY
    # It is in no file, plan or sentence, and whatever repeats it is masked from now on.
    told = json.dumps(spec.to_json()) + profile.shown_text + profile.hash + str(caught.value)
    assert not any(secret in told for secret in (KEY, ROOM, QUERY))
    assert caught.value.fault == "wrong_key"
    assert "check the value of DOOR_KEY and DOOR_ROOM and DOOR_QUERY" in str(caught.value)
    assert redact(f"<{KEY}> <{ROOM}> <{QUERY}>") == "<***> <***> <***>"


@pytest.mark.parametrize("kind", WIRES)
@pytest.mark.parametrize("variable", ["DOOR_KEY", "DOOR_ROOM", "DOOR_QUERY"])
@pytest.mark.parametrize("empty", [True, False])
async def test_a_variable_that_is_not_set_is_named_before_anybody_is_dialled(
    kind: str, variable: str, empty: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if empty:
        monkeypatch.setenv(variable, "")
    else:
        monkeypatch.delenv(variable)
    profile = parse_profile(profile_text(kind, address(kind, 9) + "?t=${DOOR_QUERY}"), tmp_path / "mine.toml")
    with pytest.raises(ConnectionFailed, match=rf"environment variable {variable} is not set") as caught:
        await make(profile.connection(profile.running_url or "")).open(())
    assert "\n" not in str(caught.value)
    assert not is_agents_fault(caught.value.kind)


@pytest.mark.parametrize("place", ["key", "header", "address"])
async def test_a_value_is_masked_where_only_the_connection_reads_it(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a caller's process, which is given no profile."""
    value = f"late/{place}+4711-x"
    monkeypatch.setenv("LATE", value)
    named: dict[str, dict[str, object]] = {"key": {"api_key_env": "LATE"}, "header": {"headers": {"X-A": "${LATE}"}}}
    url = "ws://127.0.0.1:9/" + ("?a=${LATE}" if place == "address" else "")
    assert value in redact(value)
    with pytest.raises(ConnectionFailed):
        await make(ConnectionSpec("raw-pcm", url, named.get(place, {}))).open(())
    assert redact(f"<{value}>") == "<***>"


@pytest.mark.parametrize("place", ["url", "start_url", "headers"])
def test_a_variable_is_masked_from_the_moment_its_profile_is_read(place: str) -> None:
    value = "Qz7/read+early-4711"
    settings: dict[str, object] = (
        {"headers": {"X-Room": "room ${A_ROOM}"}} if place == "headers" else {place: "ws://h/${A_ROOM}"}
    )
    assert value in list(in_settings(settings, {"A_ROOM": value}))


def test_half_a_key_at_the_end_of_a_cut_message_is_not_shown() -> None:
    learn(["cut/in+the-middle-4711"])
    for before in range(40, 60):
        for text in ("." * before + "cut/in+the-middle-4711", ("." * before).encode() + b"cut/in+the-middle-4711"):
            assert "cut" not in shown(text)


async def test_a_name_and_a_password_in_an_address_reach_an_ipv6_host_and_are_not_repeated(tmp_path: Path) -> None:
    porter = Porter()
    async with serving(porter.answer, "::1") as port:
        for kind, scheme in (("raw-pcm", "ws"), ("webrtc", "http")):
            text = f'kind = "{kind}"\nurl = "{scheme}://me:p4ss-w0rd@[::1]:{port}/door"\n'
            profile = parse_profile(text, tmp_path / "mine.toml")
            with pytest.raises(ConnectionFailed, match=rf"^{scheme}://\[::1\]:{port}/door: ") as caught:
                await make(profile.connection(profile.running_url or "")).open(())
            assert "p4ss" not in str(caught.value) + profile.shown_text
    assert [headers["Authorization"] for _, headers, _ in porter.brought] == ["Basic bWU6cDRzcy13MHJk"] * 2


@pytest.mark.parametrize(
    "url", ["ws://[::1/", "ws://h:99999/", "ws://me:p4ss/w0rd@h/", "ws://h:p4ssw0rd/", "ws://:80/", "ws:///door"]
)
def test_an_address_that_nobody_could_dial_is_refused_with_its_profile(url: str, tmp_path: Path) -> None:
    for kind, written in (("raw-pcm", url), ("webrtc", url.replace("ws", "http", 1))):
        with pytest.raises(ProfileError, match="line 2: url: is not an address") as caught:
            parse_profile(f'kind = "{kind}"\nurl = "{written}"\n', tmp_path / "mine.toml")
        assert "p4ss" not in str(caught.value)


async def test_what_no_header_can_carry_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOOR_KEY", "key-4711\r\nX-Other: 1")
    with pytest.raises(ConnectionFailed, match="characters that no key has") as caught:
        await make(ConnectionSpec("raw-pcm", "ws://127.0.0.1:9/", {"api_key_env": "DOOR_KEY"})).open(())
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize("kind", ["raw-pcm", "webrtc"])
async def test_a_key_goes_to_no_host_that_the_profile_does_not_name(kind: str) -> None:
    elsewhere = Porter()
    async with serving(elsewhere.answer) as other:
        moved = Porter(302, {"Location": address(kind, other)})
        async with serving(moved.answer) as port:
            options = {"headers": {"X-Room": "${DOOR_ROOM}"}}
            with pytest.raises(ConnectionFailed, match=r"it has moved \(HTTP 302"):
                await make(ConnectionSpec(kind, address(kind, port), options)).open(())
    assert moved.brought
    assert not elsewhere.brought


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('api_key_env = "sk-abcdefghijklmnop4711"', "line 3: api_key_env: write the name of the environment variable"),
        ('api_key_env = "q8RtY2uI9oPl3KjH6gFd"', "line 3: api_key_env: write the name of the environment variable"),
        ('headers = { X-Api-Key = "abcdefgh" }', "line 3: headers: X-Api-Key: write ${NAME} of an environment variable"),
        ('headers = { X-Room = "q8RtY2uI9oPl3KjH6gFd" }', "line 3: headers: X-Room: write ${NAME} of an environment variable"),
        ('headers = { Authorization = "Token ${A}" }\napi_key_env = "B"', "api_key_env or headers.Authorization, not both"),
        ('headers = { "X Y" = "${A}" }', "line 3: headers.X Y"),
        ('headers = { X-Room = "a\\nb" }', "line 3: headers.X-Room"),
    ],
)
def test_a_key_in_a_profile_is_refused_and_not_repeated(line: str, words: str, tmp_path: Path) -> None:
    text = f'kind = "raw-pcm"\nurl = "ws://127.0.0.1:9/"\n{line}\n'
    with pytest.raises(ProfileError) as caught:
        parse_profile(text, tmp_path / "mine.toml")
    assert words in str(caught.value)
    assert not any(key in str(caught.value) for key in ("q8RtY2", "abcdefgh"))


def test_a_header_without_a_secret_may_be_written_out(tmp_path: Path) -> None:
    text = 'kind = "raw-pcm"\nurl = "ws://127.0.0.1:9/"\nheaders = { Origin = "https://example.org" }\n'
    profile = parse_profile(text, tmp_path / "mine.toml")
    assert profile.connection("ws://h/").options["headers"] == {"Origin": "https://example.org"}


@pytest.mark.parametrize("kind", WIRES)
def test_a_profile_without_keys_has_the_hash_and_options_that_it_had(kind: str, tmp_path: Path) -> None:
    profile = parse_profile(f'kind = "{kind}"\nurl = "{address(kind, 9)}"\n', tmp_path / "mine.toml")
    dumped = profile.model_dump(mode="json")
    older = {"api_key_env"} if kind in ("openai-realtime", "webrtc") else set()
    assert {"api_key_env", "headers", "start_url"} & set(dumped) == older


class Runner:
    """What pipecat's runner and its clouds do: `POST /start` with a key gives a token for one call."""

    def __init__(self, answer: Mapping[str, object], status: int = 200) -> None:
        self.says = dict(answer)
        self._status = status
        self.asked: list[tuple[str | None, object]] = []
        self.dialled: list[tuple[str, str | None, str | None]] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/start":
            self.asked.append((request.headers.get("Authorization"), await request.json()))
            return web.json_response(self.says, status=self._status)
        self.dialled.append((request.path, request.headers.get("Authorization"), request.headers.get("X-Room")))
        return web.Response(status=503)


@pytest.mark.parametrize(("kind", "transport"), [("pipecat", "websocket"), ("pipecat-eval", "twilio"), ("twilio", "twilio")])
async def test_a_bot_is_asked_for_and_dialled_with_its_token(kind: str, transport: str, tmp_path: Path) -> None:
    runner = Runner({"token": "eyJleHAiOjE3.one-time-1"})
    async with serving(runner.answer) as port:
        text = profile_text(kind, f"ws://127.0.0.1:{port}/own") + 'start_url = "/start"\n'
        profile = parse_profile(text, tmp_path / "mine.toml")
        with pytest.raises(ConnectionFailed, match="busy"):
            await make(profile.connection(profile.running_url or "")).open(())
    assert runner.asked == [(f"Bearer {KEY}", {"transport": transport})]
    assert runner.dialled == [("/own", "Bearer eyJleHAiOjE3.one-time-1", f"room {ROOM}")]
    assert redact("the token eyJleHAiOjE3.one-time-1") == "the token ***"


async def test_an_address_that_only_the_answer_names_gets_the_token_alone(tmp_path: Path) -> None:
    runner = Runner({})
    async with serving(runner.answer) as port:
        # As pipecat's runner writes it that listens everywhere: a host that nobody can dial, and wss where it has no TLS.
        runner.says = {"wsUrl": f"wss://0.0.0.0:{port}/ws-client", "token": "one-time-2222"}
        text = (
            f'kind = "pipecat"\nstart_url = "http://127.0.0.1:{port}/start"\napi_key_env = "DOOR_KEY"\n'
            'headers = { X-Room = "${DOOR_ROOM}" }\n'
        )
        profile = parse_profile(text, tmp_path / "mine.toml")
        assert profile.process_settings is None
        with pytest.raises(ConnectionFailed, match=rf"^ws://127\.0\.0\.1:{port}: busy"):
            await make(profile.connection(profile.running_url or "")).open(())
    assert runner.dialled == [("/ws-client", "Bearer one-time-2222", None)]


async def test_a_token_in_the_address_of_an_answer_is_masked() -> None:
    runner = Runner({}, status=201)
    async with serving(runner.answer) as port:
        runner.says = {"wsUrl": f"ws://127.0.0.1:{port}/call?token=in-the-address-47"}
        start = f"http://127.0.0.1:{port}/start"
        with pytest.raises(ConnectionFailed, match=rf"^ws://127\.0\.0\.1:{port}: busy"):
            await make(ConnectionSpec("pipecat", start, {"start_url": start})).open(())
    assert redact("<in-the-address-47>") == "<***>"


async def test_nobody_is_told_to_ask_for_a_token_who_did() -> None:
    async def turns_away(request: web.Request) -> web.Response:
        if request.path == "/start":
            return web.json_response({"token": "one-time-of-no-use"})
        return web.Response(status=403)

    async with serving(turns_away) as port:
        for asked, told in ((None, True), (f"http://127.0.0.1:{port}/start", False)):
            options = {"start_url": asked} if asked else {}
            with pytest.raises(ConnectionFailed, match=r"turns this caller away \(HTTP 403\)") as caught:
                await make(ConnectionSpec("pipecat", f"ws://127.0.0.1:{port}/", options)).open(())
            assert ("start_url" in str(caught.value)) == told


async def test_an_answer_of_any_length_takes_no_more_than_its_share_of_memory() -> None:
    async def floods(_: web.Request) -> web.Response:
        return web.Response(body=b'{"wsUrl": "' + bytes([97]) * (1 << 20) + b'"}')

    async with serving(floods) as port:
        start = f"http://127.0.0.1:{port}/start"
        for spec in (ConnectionSpec("pipecat", start, {"start_url": start}), ConnectionSpec("webrtc", start)):
            with pytest.raises(ConnectionFailed, match="answered with more than 1 MiB"):
                await make(spec).open(())


async def test_without_a_token_the_profile_s_key_goes_with_the_call(tmp_path: Path) -> None:
    runner = Runner({"wsUrl": "ws://elsewhere.invalid/"})
    async with serving(runner.answer) as port:
        text = profile_text("pipecat", f"ws://127.0.0.1:{port}/own") + 'start_url = "/start"\n'
        profile = parse_profile(text, tmp_path / "mine.toml")
        with pytest.raises(ConnectionFailed, match="busy"):
            await make(profile.connection(profile.running_url or "")).open(())
    assert runner.dialled == [("/own", f"Bearer {KEY}", f"room {ROOM}")]


async def test_a_runner_that_is_asked_over_tls_is_dialled_over_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    runner = Runner({})
    async with serving(runner.answer, tls=authority.context()) as port:
        runner.says = {"wsUrl": f"ws://localhost:{port}/ws-client", "token": "one-time-over-tls"}
        start = f"https://localhost:{port}/start"
        with pytest.raises(ConnectionFailed, match=rf"^wss://localhost:{port}: busy"):
            await make(ConnectionSpec("pipecat", start, {"start_url": start})).open(())
    assert runner.dialled == [("/ws-client", "Bearer one-time-over-tls", None)]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({}, "neither wsUrl nor token"),
        ({"token": "one-time-3"}, "names no wsUrl"),
        ({"wsUrl": 7, "token": 8}, "neither"),
        ({"wsUrl": "ws://[::1/", "token": "one-time-4"}, "wsUrl of its answer is not an address"),
        ({"wsUrl": "ws://h:99999/"}, "wsUrl of its answer is not an address"),
        ({"wsUrl": "ws://127.0.0.1:9/", "token": "one-time-5\r\nX-Other: 1"}, "token holds characters"),
        ({"wsUrl": "ws://127.0.0.1:9/", "token": "schlüssel-4711"}, "token holds characters"),
    ],
)
async def test_an_answer_without_an_address_is_one_line(answer: Mapping[str, object], words: str) -> None:
    async with serving(Runner(answer).answer) as port:
        start = f"http://127.0.0.1:{port}/start"
        with pytest.raises(ConnectionFailed, match=f"start_url: .*{words}"):
            await make(ConnectionSpec("pipecat", start, {"start_url": start})).open(())


def test_where_a_bot_is_asked_for_is_checked(tmp_path: Path) -> None:
    for text, words in (
        ('start_url = "/start"', "write the whole address, or give url"),
        ('url = "ws://localhost:1/"\nstart_url = "http://localhost:{port}/start"', "write its path alone"),
        ('url = "ws://localhost:1/"\nstart_url = "ftp://x/"', "start_url"),
    ):
        with pytest.raises(ProfileError, match=words):
            parse_profile(f'kind = "pipecat"\n{text}\n', tmp_path / "mine.toml")


async def test_pipecat_s_own_runner_lets_no_caller_in_twice(start: StartPeer, profile_of: ProfileOf) -> None:
    profile = profile_of(
        'kind = "pipecat"\nurl = "ws://localhost:{port}/ws-client"\nstart_url = "/start"\n[process]\n'
        'command = ["{python}", "runner_bot.py", "--port", "{port}", "--ws-auth", "token"]\n'
        'ready_pattern = "Uvicorn running on"\nready_timeout_s = 60\n'
    )
    agent = await start(profile)
    for _ in range(2):  # each call has a token of its own
        line = make(profile.connection(agent.url))
        await line.open(())
        await line.close()
    without = profile.model_copy(update={"start_url": None})
    with pytest.raises(ConnectionFailed, match=r"turns this caller away \(HTTP 403\): .*start_url") as caught:
        await make(without.connection(agent.url)).open(())
    assert caught.value.fault == "turned_away"
    # Without url the runner's own answer is dialled.
    port = agent.url.rpartition(":")[2].partition("/")[0]
    line = make(ConnectionSpec("pipecat", f"http://localhost:{port}/start", {"start_url": f"http://localhost:{port}/start"}))
    await line.open(())
    await line.close()
    # The evaluation wire is behind the same door.
    evaluated = ConnectionSpec("pipecat-eval", f"ws://localhost:{port}/ws", {"start_url": f"http://localhost:{port}/start"})
    line = make(evaluated)
    await line.open(())
    await line.close()
    await asyncio.sleep(0)
