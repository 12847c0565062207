"""Turns that others on the machine delayed: none is dropped, each figure has two ends, and no run is invalid for it."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from harness.commands.table import print_summary
from harness.figures.latency import TurnFigures, turn_figures
from harness.figures.summarise import summarise
from harness.figures.validity import sessions_at_fault, with_validity
from harness.recording.record import FRAME_MS, CallerTrack, Recording, SpokenTurn
from harness.reports.assemble import assemble
from harness.reports.markdown import markdown
from harness.reports.shown_runs import alone
from harness.reports.tables import tables
from harness.store.run_store import RunStore
from harness.store.selection import Selection
from harness.timeline import NS_PER_MS
from harness.timing.figures import Contention, TurnTiming
from harness.turns.bounded import Bounded
from tests.made_run import agent, made_run, play
from tests.present import present

FIGURES = ("ttfa", "ttft")
QUIET = Contention(others_cores=0.05, waited_cores=0.1, stolen_cores=0.0, at_most_ms=dict.fromkeys(FIGURES, 2.0))
STARVED = Contention(
    others_cores=1.3, waited_cores=2.0, stolen_cores=0.0, at_most_ms=dict.fromkeys(FIGURES, 3_000.0), others_ms=3_000.0
)
TURN = TurnTiming(method="test", spoken_end_ms=0, ttfa_ms=500.0, ttft_ms=80.0, contention=QUIET)


def of(*turns: TurnTiming) -> TurnFigures:
    return turn_figures({f"c{k}": [t] for k, t in enumerate(turns)}, budgets_ms={"ttft": 500, "ttfa": 500}, seed=1)


def test_a_turn_that_others_delayed_stays_in_every_figure() -> None:
    late = replace(TURN, ttfa_ms=3_400.0, ttft_ms=3_100.0, contention=STARVED)
    found = of(*[TURN] * 2, late)
    assert (found.turns, found.ttfa_ms.n, found.ttft_ms.n) == (3, 3, 3)
    assert found.contended == 3  # 2 ms of a quiet turn could be others', too
    assert found.ttfa_ms.restricted_mean == pytest.approx((500 + 500 + 3_400) / 3)


def test_the_range_of_a_median_is_that_of_the_same_turns_without_others() -> None:
    late = replace(TURN, ttfa_ms=516.0, contention=replace(QUIET, at_most_ms={"ttfa": 22.0, "ttft": 1.0}))
    found = of(late, late, TURN)
    assert (found.ttfa_ms.p50, found.ttfa_ms.p50_range, found.ttfa_ms.p50_others_ms) == (516.0, (494.0, 516.0), 22.0)
    assert found.ttft_ms.p50_range == (79.0, 80.0)


def test_the_interval_covers_both_ends() -> None:
    turns = [replace(TURN, ttfa_ms=400.0 + 5 * k, contention=replace(QUIET, at_most_ms={"ttfa": 60.0})) for k in range(30)]
    found = of(*turns).ttfa_ms
    alone = of(*[replace(t, contention=None) for t in turns]).ttfa_ms
    own, both = present(alone.p50_interval), present(found.p50_interval)
    assert both == (own[0] - 60.0, own[1])
    assert alone.p50_range is None


def _with_others(ttfa_ms: float, owed_ms: float) -> TurnTiming:
    return replace(TURN, ttfa_ms=ttfa_ms, contention=replace(STARVED, at_most_ms={"ttfa": owed_ms}))


@pytest.mark.parametrize(
    ("turn", "ends", "undecided"),
    [
        pytest.param(_with_others(480, 30), (11 / 21, 11 / 21), 0, id="fast in spite of others"),
        pytest.param(_with_others(2400, 130), (10 / 21, 10 / 21), 0, id="slow without them too"),
        pytest.param(_with_others(520, 30), (10 / 21, 11 / 21), 1, id="this machine cannot tell"),
    ],
)
def test_a_turn_within_its_budget_is_fast_slow_or_between(turn: TurnTiming, ends: tuple[float, float], undecided: int) -> None:
    found = of(*[TURN, replace(TURN, ttfa_ms=600.0)] * 10, turn)
    assert found.ttfa_ms.n == 21
    assert found.within_budget.ttfa == pytest.approx(ends[0])
    assert found.within_budget.ttfa_range == pytest.approx(ends)
    assert found.undecided == undecided


@pytest.fixture
def run(tmp_path: Path) -> RunStore:
    """A run of four calls of one agent."""
    store = made_run(tmp_path / "run", repeats=4)
    for repeat in range(4):
        play(store, repeat=repeat, timing=TURN)
    return store


def starve(run: RunStore, turns: int, turn: TurnTiming = TURN) -> None:
    for session in run.sessions()[:turns]:
        run.set_timing(session.id, (replace(turn, contention=STARVED),))
    run.set_manifest(with_validity(run))


def test_a_starved_run_is_valid_and_says_its_ranges(run: RunStore) -> None:
    starve(run, 3)
    summary = summarise(run)
    assert summary.valid
    (said,) = (c.text for c in summary.cautions if c.code == "contended")
    assert "a, TTFA p50 500 ms; 0–500 had the machine been its own" in said
    assert summary.agents["a"]["ttfa_ms"]["p50"] == 500.0
    assert summary.agents["a"]["within_budget"]["ttfa"] == 1.0


def test_every_place_that_shows_a_figure_says_what_of_it_could_be_others(run: RunStore) -> None:
    owed = {"ttfa": 22.0, "ttft": 3.0, "first_substance": 700.0}
    turn = replace(TURN, ttfa_ms=516.0, first_substance_ms=900.0, contention=replace(QUIET, at_most_ms=owed))
    for session in run.sessions():
        run.set_timing(session.id, (turn,))
    summary = summarise(run)
    screen = Console(file=StringIO(), width=200)
    print_summary(summary, screen, verbose=True)
    terminal = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "494–516 had the machine been its own" in terminal
    assert "TTFT p50 80 ms; 77–80" in terminal
    assert summary.agents["a"]["ttfa_ms"]["p50_others_ms"] == pytest.approx(22.0)

    view = assemble(alone(run, summary), run.folder, audio=False)
    exported = tables(view)
    assert exported["systems"][0]["ttfa_p50_others_ms"] == pytest.approx(22.0)
    assert {row["ttfa_others_ms"] for row in exported["turns"]} == {22.0}
    assert "494–516 had the machine been its own" in markdown(view)
    shown = view.contexts[0].sessions[0].last
    assert shown.times_ms["first_substance"] == Bounded(200.0, 900.0)


def _call(late_ms: float = 0.0, lag_ms: float = 0.0) -> Recording:
    """A call of a second whose last frame left late, or in which the event loop stopped."""
    said = np.full(16_000, 1_000, np.int16)
    due = 10**9 + (np.arange(50, dtype=np.int64) + 1) * FRAME_MS * NS_PER_MS
    due[-1] += int(late_ms * NS_PER_MS)
    caller = CallerTrack(
        rate_hz=16_000, dry=said, played=said, t0_ns=10**9, departures_ns=due, speech_start_sample=0,
        speech_end_sample=said.size, turns=(SpokenTurn(0, said.size),),
    )  # fmt: skip
    return Recording(caller=caller, agent_rate_hz=16_000, agent_pcm=said, loop_lag_ms=(lag_ms,))


def test_the_harness_s_own_faults_make_a_run_invalid_and_name_their_sessions(tmp_path: Path) -> None:
    store = made_run(tmp_path / "run", agents=[agent("a"), agent("written", "text")], repeats=12)
    for repeat in range(4):
        play(store, repeat=repeat, recording=_call(late_ms=40.0), timing=replace(TURN, realtime_ratio=0.9999))
    for repeat in range(4, 7):
        play(store, repeat=repeat, recording=_call(lag_ms=500.0), timing=replace(TURN, realtime_ratio=1.0002))
    sound = [play(store, repeat=repeat, recording=_call(late_ms=-4.0, lag_ms=2.0)) for repeat in range(7, 10)]
    play(store, repeat=10, recording=_call(lag_ms=900.0), failure_kind="flood")
    play(store, agent="written", recording=_call(lag_ms=900.0))
    play(store, repeat=11)
    manifest = with_validity(store)
    assert manifest.invalid == [
        *["c1 · a: pacing p99 20.4 ms is over 5 ms"] * 4, "c1 · a: event-loop lag 500.0 ms is over 20 ms", "and 2 more",
    ]  # fmt: skip
    figures = present(manifest.pacing)
    assert (figures.frames, figures.realtime_ratio, figures.loop_lag_max_ms) == (500, 1.0002, 500.0)
    assert (figures.max_error_ms, figures.p99_error_ms) == (40.0, 4.0)
    wrong = {s.id for s in store.sessions() if s.key.repeat < 7 and s.key.agent == "a"}
    assert sessions_at_fault(store, Selection(store)) == wrong
    assert wrong.isdisjoint(s.id for s in sound)


def test_a_run_with_five_faults_names_each_and_one_without_frames_has_no_pacing(tmp_path: Path) -> None:
    store = made_run(tmp_path / "run", repeats=5)
    assert with_validity(store).pacing is None
    for repeat in range(5):
        play(store, repeat=repeat, recording=_call(lag_ms=500.0))
    assert with_validity(store).invalid == ["c1 · a: event-loop lag 500.0 ms is over 20 ms"] * 5
    assert present(with_validity(store).pacing).realtime_ratio is None
