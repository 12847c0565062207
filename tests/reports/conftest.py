"""A real browser and a real run on disk for the tests of the reports room.

The run is written through the store with recordings of known sounds; only the calls themselves are not made.
"""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.agents.connection import Mark
from harness.figures.cells import BoardSummary, Cell, JudgeSummary, PacingSummary, ReferenceSummary
from harness.figures.circumstances import Circumstances
from harness.figures.summary import RunSummary
from harness.recording import files as recording_files
from harness.recording.record import Arrival, CallerTrack, Pause, Recording, SpokenTurn
from harness.scenarios.context import Context, Reference, Turn
from harness.store.judgment import AxisMark, JudgeCheck, Judgment
from harness.store.machine_facts import Pacing
from harness.store.manifest import AgentEntry, RunManifest
from harness.store.run_store import RunStore
from harness.store.session import SessionKey
from harness.timing.figures import Stage, TurnTiming, Utterance, Waterfall
from harness.timing.quantiles import Quantiles
from tests.judged import put
from tests.reports.fonts import DEJAVU, chosen

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--autoplay-policy=no-user-gesture-required",
    "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream",
)  # fmt: skip
RATE_HZ = 16_000
SECOND_NS = 1_000_000_000
HOSTILE = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\u202egnp.exe \u2028 {{7*7}}"
)


@contextmanager
def running(environment: dict[str, str]) -> Iterator[Any]:
    """Debian's Chromium; one clear line when it is not there. Closed after each file: beside it no test can use asyncio."""
    if not Path(CHROMIUM).exists():
        pytest.fail(f"{CHROMIUM} is missing: run `apt-get install chromium`", pytrace=False)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS), env={**os.environ, **environment})
        yield browser
        browser.close()
    asyncio.set_event_loop(None)


@pytest.fixture(scope="session")
def dejavu(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a browser that has DejaVu Sans alone, whatever fonts the machine has."""
    return chosen(DEJAVU, tmp_path_factory.mktemp("font"))


@pytest.fixture(scope="module")
def browser(dejavu: dict[str, str]) -> Iterator[Any]:
    with running(dejavu) as browser:
        yield browser


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open an address; the page fails its test on any script error or refused resource."""
    contexts: list[Any] = []
    problems: list[str] = []

    def opened(address: str, *, width: int = 1280, height: int = 900, dark: bool = False, **options: Any) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
        page.goto(address)
        return page

    opened.problems = problems  # type: ignore[attr-defined]
    yield opened
    for context in contexts:
        context.close()
    assert not problems, problems


def tone(seconds: float, hz: float, rate_hz: int = RATE_HZ) -> np.ndarray[Any, np.dtype[np.int16]]:
    """A steady tone at half of full scale."""
    at = np.arange(round(seconds * rate_hz)) / rate_hz
    return (16_000 * np.sin(2 * np.pi * hz * at)).astype(np.int16)


def silence(seconds: float) -> np.ndarray[Any, np.dtype[np.int16]]:
    return np.zeros(round(seconds * RATE_HZ), np.int16)


def recording(ttfa_s: float, unit_s: float = 1.0) -> Recording:
    """0.5 s of silence, a unit of caller, 0.4 s of pause, a unit of caller, then a unit of agent after `ttfa_s`."""
    end_s = 0.9 + 2 * unit_s
    signal = np.concatenate([silence(0.5), tone(unit_s, 200), silence(0.4), tone(unit_s, 200), silence(ttfa_s + unit_s + 1)])
    pause = Pause(round((0.5 + unit_s) * RATE_HZ), round((0.9 + unit_s) * RATE_HZ))
    bounds = round(0.5 * RATE_HZ), round(end_s * RATE_HZ)
    frames = len(signal) * 50 // RATE_HZ
    agent = tone(unit_s, 500)
    heard_ns = SECOND_NS + round((end_s + ttfa_s) * SECOND_NS)
    return Recording(
        caller=CallerTrack(
            rate_hz=RATE_HZ, dry=signal, played=signal, t0_ns=SECOND_NS,
            departures_ns=SECOND_NS + (np.arange(frames, dtype=np.int64) + 1) * 20_000_000,
            speech_start_sample=bounds[0], speech_end_sample=bounds[1], pauses=(pause,),
            turns=(SpokenTurn(bounds[0], bounds[1], (pause,), "turn"),),
        ),
        agent_rate_hz=RATE_HZ,
        agent_pcm=agent,
        arrivals=(Arrival(heard_ns, 0, len(agent)),),
        marks=(Mark("turn_decided", SECOND_NS + round((end_s + 0.2) * SECOND_NS), heard_ns),),
    )  # fmt: skip


def timing(ttfa_ms: float, unit_s: float = 1.0) -> TurnTiming:
    return TurnTiming(
        method="test", spoken_end_ms=900.0 + 2_000 * unit_s, ttfa_ms=ttfa_ms, ttft_ms=ttfa_ms * 0.3, first_sound_ms=ttfa_ms,
        first_speech_ms=ttfa_ms, utterances=(Utterance(ttfa_ms, ttfa_ms + 1_000 * unit_s, "speech"),),
        pauses_marked=1, pauses_cut=0,
        pause_durations_ms=(400.0,), pause_was_cut=(False,),
        waterfall=Waterfall(
            (Stage("endpointing", 0, 200), Stage("llm", 200, ttfa_ms - 230), Stage("unexplained", ttfa_ms - 30, 30))
        ),
    )  # fmt: skip


def context(number: int, text: str = "I just sat there <pause 400> and said nothing.") -> Context:
    return Context(
        id=f"talk-{number}", subset="regular", emotion="sadness", problem="work", situation=text,
        turns=(
            Turn(role="seeker", text="It was a long day."), Turn(role="supporter", text="What made it long?"),
            Turn(role="seeker", text=text),
        ),
        references=(Reference(id="careful", author="authored", text=text),), source="test", licence="CC0-1.0",
    )  # fmt: skip


@pytest.fixture
def played(tmp_path: Path) -> Callable[..., tuple[RunStore, RunSummary]]:
    """Write a run of two agents: `quick` answers after 400 ms, `slow` after 1.2 s."""

    def made(
        *,
        contexts: int = 2,
        text: str = "I just sat there <pause 400> and said nothing.",
        unit_s: float = 1.0,
        conditions: Sequence[str] = ("clean",),
        subjects: Sequence[str] = (),
    ) -> tuple[RunStore, RunSummary]:
        """`subjects`: words that the callers, and those who reply to them, say in turn; without any all say the same."""
        said = [" ".join([text, *subjects[n % len(subjects) : n % len(subjects) + 1]]) if subjects else text
                for n in range(contexts)]  # fmt: skip
        items = [context(n, said[n]) for n in range(contexts)]
        entries = [AgentEntry(name=n, kind="cascade", profile_hash="h", profile_text="") for n in ("quick", "slow")]
        manifest = RunManifest(
            created="2030-01-01T00:00:00Z", harness_version="0", pack="test", pack_source="test", pack_hash="0" * 64,
            context_ids=[c.id for c in items], agents=entries, mode="seeded", conditions=list(conditions), repeats=1, seed=1,
            pacing=Pacing(p99_error_ms=0.5, max_error_ms=1.0, realtime_ratio=1.0, frames=100),
        )  # fmt: skip
        store = RunStore.create(tmp_path / "run", manifest, items)
        for n, (item, condition) in enumerate(product(items, conditions)):
            for agent, ttfa_s in (("quick", 0.4), ("slow", 1.2)):
                key = SessionKey(item.id, "c", agent, "h", "seeded", condition, 0)
                partial = store.partial_folder(key)
                recording_files.save(recording(ttfa_s, unit_s), partial)
                store.commit_session(
                    key, partial=partial, written_text=said[n // len(conditions)], understood_text=text,
                    timing=timing(ttfa_s * 1_000, unit_s), started_ns=SECOND_NS * (n * 10 + 1),
                )  # fmt: skip
                store.set_heard(key.session_id, said[n // len(conditions)], ())
            put(store, [
                Judgment(
                    context=item.id, subset="regular", system_a=a, system_b=b, source="judge", judge="tester@1", winner="a",
                    strength=2, shown_first="a", presentation="heard_text", rationale=text,
                    axes={"H": AxisMark(winner="a", strength=2)}, condition=condition,
                )
                for a, b in (("quick", "slow"), ("slow", "ref:careful"), ("ref:careful", "quick"))
            ])  # fmt: skip
        store.add_judge_check(
            JudgeCheck(
                judge="tester@1", family="none", pairs=40, accuracy=0.55, accuracy_interval=(0.4, 0.7), flip_rate=0.3,
                trusted=False,
            )
        )  # fmt: skip
        place: Any = {"mode": "seeded", "presentation": "heard_text", "subset": "all"}
        cells = [
            Cell(
                agent=name, condition=condition, **place, turns=contexts, no_reply=0,
                ttfa_ms=Quantiles(p50=ms, n=contexts), ttft_ms=Quantiles(p50=ms * 0.3, n=contexts),
                elo=elo, elo_method="test", win_rate=0.5, cut_in_rate=0.0, pauses_cut=(0, contexts),
            )
            for condition in conditions
            for name, ms, elo in (("quick", 400.0, 1_510.0), ("slow", 1_200.0, 1_480.0))
        ]  # fmt: skip
        boards = [
            BoardSummary(
                condition=condition, **place, method="test", judgments=3 * contexts, contexts=contexts,
                references={"ref:careful": ReferenceSummary(elo=1_510.0)},
            )
            for condition in conditions
        ]  # fmt: skip
        summary = RunSummary(
            run=str(store.folder), pacing=PacingSummary(p99_error_ms=0.5, realtime_ratio=1.0), cells=cells, boards=boards,
            judges=[JudgeSummary(id="tester@1", accuracy=0.55, accuracy_interval=(0.4, 0.7), flip_rate=0.3, trusted=False,
                                 trust="near_chance")],
            circumstances=Circumstances(
                contexts=frozenset(c.id for c in items), played=frozenset(c.id for c in items),
                judged=frozenset(c.id for c in items), verdicts=3 * contexts,
            ),
        )  # fmt: skip
        return store, summary

    return made


@pytest.fixture
def hostile() -> str:
    """Text that would be markup, script, a template or a reordering mark if anything let it."""
    return HOSTILE
