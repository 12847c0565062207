"""Vendors' wires as tables: the recipes of kind `websocket` give what the vendors' own kinds give at their scripted servers."""

import asyncio
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from harness.agents.connection import Closed, Event, Transcript
from harness.agents.connections import ConnectionSpec, make
from harness.agents.profile import load_profile
from harness.agents.reply_signs import sign_of
from harness.agents.reported_errors import error_said
from harness.timing import measure
from tests.vendors.answering import KEY as SERVERS_KEY
from tests.vendors.calls import (
    PAST,
    ROOT,
    assert_nowhere,
    in_a_header,
    p95_ms,
    played,
    refused,
    server,
    spec_of,
    ttfa_errors_ms,
)

RECIPES = ROOT / "docs" / "recipes"
OWN_KEY = "OWN_KIND_S_KEY"
KEY = "3f9c1e7ab25d48c0a6e4"


@dataclass(frozen=True)
class Vendor:
    """One vendor: its scripted server, the profile of its own kind, and the server's behaviours that are compared.

    `variable` is that of the recipe's key, empty for one without.
    """

    server: str
    own: str
    refusals: tuple[str, ...]
    in_call: tuple[str, ...]
    variable: str = ""
    query: str = ""
    history: bool = True

    @property
    def file(self) -> Path:
        return RECIPES / f"websocket-{self.server.replace('_', '-')}.toml"


VENDORS = (
    Vendor(
        "openai_realtime",
        f'kind = "openai-realtime"\napi_key_env = "{OWN_KEY}"\n',
        refusals=("wrong-key", "quota", "region", "no-model", "unknown-setting"),
        in_call=("drops", "slow", "quota-in-call"),
        variable="OPENAI_API_KEY",
    ),
    Vendor(
        "gemini_live",
        f'kind = "gemini-live"\nmodel = "m"\napi_key_env = "{OWN_KEY}"\n',
        refusals=("key", "quota", "region", "model", "modality", "route"),
        in_call=("drops", "slow", "activity"),
        variable="GEMINI_API_KEY",
    ),
    Vendor(
        "deepgram_agent",
        f'kind = "deepgram-agent"\nthink = {{ type = "open_ai", model = "gpt-4o-mini" }}\napi_key_env = "{OWN_KEY}"\n',
        refusals=("no_model", "quota", "too_many"),
        in_call=("drops", "fails_in_reply", "slow"),
        variable="DEEPGRAM_API_KEY",
    ),
    Vendor(
        "elevenlabs",
        'kind = "elevenlabs"\nagent_id = "agent_1"\n',
        refusals=("private", "misconfigured"),
        in_call=("drops", "slow", "quota"),
        query="?agent_id=agent_1",
        history=False,
    ),
    Vendor(
        "ultravox",
        f'kind = "ultravox"\napi_key_env = "{OWN_KEY}"\n',
        refusals=("quota", "too_many", "expired"),
        in_call=("drops", "slow", "clears"),
        variable="ULTRAVOX_API_KEY",
    ),
)
EACH = pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.server)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for vendor in VENDORS:
        for name in filter(None, (vendor.variable, SERVERS_KEY, OWN_KEY)):
            monkeypatch.setenv(name, KEY)


def profiles(vendor: Vendor) -> tuple[str, str]:
    """The profile of its own kind, and the recipe, both without an address."""
    recipe = re.sub(r"^url = .*\n", "", vendor.file.read_text(), flags=re.MULTILINE).replace("some-live-model", "m")
    return f"greets = false\n{vendor.own}", f"greets = false\n{recipe}"


def specs(vendor: Vendor, url: str) -> tuple[ConnectionSpec, ConnectionSpec]:
    """The connections by its own kind and by its recipe."""
    own, recipe = profiles(vendor)
    return spec_of(own, url), spec_of(recipe, url + vendor.query)


async def differences_ms(vendor: Vendor, folder: Path, calls: int) -> tuple[float, float, float]:
    """How far the table's errors of TTFA are from the own kind's: of their medians, and of their 95th percentiles; and the
    table's own 95th percentile."""

    def numbered(spec: ConnectionSpec, number: str) -> ConnectionSpec:
        query = vendor.query if spec.kind == "websocket" else ""
        return in_a_header(replace(spec, url=spec.url + query), number)

    own, table = [
        await ttfa_errors_ms(vendor.server, profile, folder / str(k), calls, numbered=numbered)
        for k, profile in enumerate(profiles(vendor))
    ]
    assert len(own) == len(table) == calls
    medians, tails = (float(np.median(own)), float(np.median(table))), (p95_ms(own), p95_ms(table))
    print(f"{vendor.server}: medians {medians}, p95 {tails} ms", flush=True)
    return abs(medians[0] - medians[1]), abs(tails[0] - tails[1]), tails[1]


@EACH
@pytest.mark.long
@pytest.mark.alone
async def test_forty_calls_are_as_those_of_its_own_kind(vendor: Vendor, tmp_path: Path) -> None:
    median_ms, tail_ms, p95_of_the_table_ms = await differences_ms(vendor, tmp_path, 40)
    assert max(median_ms, tail_ms) <= 5
    assert p95_of_the_table_ms <= 10


@EACH
@pytest.mark.alone
async def test_a_few_calls_are(vendor: Vendor, tmp_path: Path) -> None:
    median_ms, *_ = await differences_ms(vendor, tmp_path, 4)
    assert median_ms <= 5


@EACH
async def test_a_call_says_and_reports_the_same(vendor: Vendor, tmp_path: Path) -> None:
    own, table = await both(vendor, "answers", tmp_path)
    assert own == table
    assert_nowhere(KEY, tmp_path)


@EACH
@pytest.mark.long
async def test_failures_and_stages_in_a_call_are_the_same(vendor: Vendor, tmp_path: Path) -> None:
    for behaviour in vendor.in_call:
        own, table = await both(vendor, behaviour, tmp_path / behaviour)
        assert own == table, behaviour


async def both(vendor: Vendor, behaviour: str, folder: Path) -> list[object]:
    """What is heard by its own kind and by its recipe, at once and each of a server of its own."""

    async def by(kind: int) -> object:
        async with server(vendor.server, behaviour) as running:
            return await heard(specs(vendor, running.url)[kind], folder / str(kind))

    return list(await asyncio.gather(by(0), by(1)))


async def heard(spec: ConnectionSpec, folder: Path) -> object:
    """What a recording of one call says: transcripts, the order of signs, which figures there are, errors; or its failure."""
    try:
        recording = (await played(spec, folder, 1))["0"]
    except AssertionError as failed:
        return str(failed).split(": ")[1], words(str(failed))
    said = [(one.role, one.text, one.final) for one in recording.transcripts]
    signs = [sign for mark in recording.marks if (sign := sign_of(mark)) in ("done", "tool_called", "tool_done")]
    timing = measure(recording)
    errors = [why for mark in recording.marks if (why := error_said(mark))]
    return said, signs, timing.ttft_ms is None, timing.waterfall is None, errors


@EACH
async def test_a_refusal_is_named_as_by_its_own_kind(vendor: Vendor) -> None:
    for behaviour in (*vendor.refusals, *(("another key",) if vendor.variable else ())):
        wrong = behaviour == "another key"
        async with server(vendor.server, "answers" if wrong else behaviour, VENDOR_KEY="x" if wrong else KEY) as running:
            own, table = await asyncio.gather(*(refused(spec) for spec in specs(vendor, running.url)))
        assert own.kind == table.kind, behaviour
        assert KEY not in f"{own} {table}"
        assert words(str(own)) == words(str(table)), behaviour


def words(failure: str) -> str:
    """The beginning of the server's words, or what is said of its status; an own kind may go on with how it is mended."""
    found = re.search(r"(?:says|code \d{4}|HTTP \d{3}): (.{20,30})", failure)
    # Up to the end of its sentence: one may go on in brackets where the other has a full stop.
    return re.split(r"[.()]", found[1])[0].strip() if found else failure.partition(": ")[2][:40]


@EACH
async def test_the_history_is_what_the_vendor_takes(vendor: Vendor) -> None:
    """The server holds it to the vendor's types."""
    async with server(vendor.server) as running:
        line = make(specs(vendor, running.url)[1])
        assert line.capabilities.accepts_history == vendor.history
        await line.open(PAST if vendor.history else ())
        await asyncio.sleep(0.2)
        await line.close()
        events: list[Event] = [event async for event in line.events()]
    assert isinstance(events[-1], Closed)
    assert events[-1].error is None
    assert not [event for event in events if isinstance(event, Transcript)]


@EACH
def test_a_recipe_is_short_and_loads(vendor: Vendor) -> None:
    assert len(vendor.file.read_text().splitlines()) < 30
    profile = load_profile(vendor.file)
    assert profile.kind == "websocket"
    assert profile.running_url
    assert profile.accepts_a_history == vendor.history
