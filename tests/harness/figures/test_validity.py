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
from harness.figures.validity import with_validity
from harness.reports.assemble import assemble
from harness.reports.markdown import markdown
from harness.reports.shown_runs import alone
from harness.reports.tables import tables
from harness.store.run_store import RunStore
from harness.store.selection import reply_of
from harness.timing.figures import Contention, TurnTiming
from harness.turns.bounded import Bounded
from tests.made_run import made_run, play
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


def test_of_an_agent_that_nobody_watched_nothing_is_said_to_be_others() -> None:
    found = of(TURN, replace(TURN, contention=None)).ttfa_ms
    assert (found.p50, found.p50_range, found.p50_others_ms) == (500.0, None, None)


def test_a_figure_that_ended_before_others_came_has_a_narrow_range() -> None:
    """The first sound could be the machine's; the token before it is the agent's own."""
    late = replace(TURN, ttfa_ms=900.0, ttft_ms=80.0, contention=replace(STARVED, at_most_ms={"ttfa": 600.0, "ttft": 3.0}))
    found = of(late, late)
    assert (found.ttft_ms.p50_range, found.ttfa_ms.p50_range) == ((77.0, 80.0), (300.0, 900.0))


def test_a_silence_may_be_others_only_where_they_could_have_had_most_of_the_wait() -> None:
    silent = replace(TURN, ttfa_ms=None, no_reply=True)
    assert not replace(silent, contention=STARVED).silence_may_be_others
    assert replace(silent, contention=replace(STARVED, at_most_ms={"ttfa": 9_000.0})).silence_may_be_others
    assert of(TURN, replace(silent, contention=STARVED)).no_reply == 1


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


def test_a_busy_machine_never_flatters() -> None:
    """Others took 6 % of every wait: once each turn over 417 ms was left out, and a p95 of 1,493 ms was shown as 406."""
    rng = np.random.default_rng(1)
    truth = np.where(rng.random(200) < 0.55, rng.uniform(300, 410, 200), rng.uniform(900, 1_600, 200))
    found = of(*[_with_others(float(ms), 0.06 * float(ms)) for ms in truth])
    assert found.ttfa_ms.p95 == pytest.approx(np.percentile(truth, 95))
    assert found.ttfa_ms.p95_range == pytest.approx((0.94 * np.percentile(truth, 95), np.percentile(truth, 95)))
    assert found.within_budget.ttfa == np.mean(truth <= 500)
    assert present(found.within_budget.ttfa_interval)[1] < 0.65


def test_turns_that_others_delayed_do_not_use_up_what_may_be_discarded() -> None:
    one_bad = [TURN] * 30 + [replace(TURN, ttfa_ms=None, discarded="a click")]
    assert of(*one_bad, *[replace(TURN, contention=STARVED)] * 5).ttfa_ms.p50 == of(*one_bad).ttfa_ms.p50 == 500.0


def test_the_programs_are_named_with_their_mean_cores() -> None:
    one = replace(TURN, contention=replace(QUIET, others=(("chromium", 0.6), ("python3", 0.2))))
    assert of(one, TURN).others == [("chromium", 0.3), ("python3", 0.1)]


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


def test_a_reply_that_was_not_heard_on_a_starved_machine_is_missing_and_not_lost(run: RunStore) -> None:
    silent = replace(TURN, ttfa_ms=None, no_reply=True)
    first, second, *_ = run.sessions()
    run.set_timing(first.id, (replace(silent, contention=replace(STARVED, at_most_ms={"ttfa": 9_000.0})),))
    run.set_timing(second.id, (replace(silent, contention=STARVED),))
    assert [reply_of(session, "heard_text").fate for session in run.sessions()[:2]] == ["missing", "lost"]


def test_every_place_that_shows_a_figure_says_what_of_it_could_be_others(run: RunStore) -> None:
    owed = {"ttfa": 22.0, "ttft": 3.0, "first_substance": 700.0}
    turn = replace(TURN, ttfa_ms=516.0, first_substance_ms=900.0, contention=replace(QUIET, at_most_ms=owed))
    for session in run.sessions():
        run.set_timing(session.id, (turn,))
    summary = summarise(run)
    screen = Console(file=StringIO(), width=200)
    print_summary(summary, screen)
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


def test_of_a_run_that_watched_less_it_is_said(run: RunStore) -> None:
    older = Contention(others_cores=0.01, waited_cores=0.1, stolen_cores=0.0)
    for session, lost in zip(run.sessions(), (None, None, older, QUIET), strict=True):
        run.set_timing(session.id, (replace(TURN, contention=lost),))
    here = [entry.model_copy(update={"runs_here": True}) for entry in run.manifest.agents]
    run.set_manifest(run.manifest.model_copy(update={"agents": here}))
    (told,) = (c.text for c in summarise(run).cautions if c.code == "unwatched")
    assert "On 2 of 4 turns of a the time that others on its machine could have caused was not measured" in told
    assert "On 1 of 4 turns of a the time that others could have caused was counted over all cores" in told
    assert "and without quotas" in told


def test_of_an_agent_elsewhere_nobody_expects_that(run: RunStore) -> None:
    for session in run.sessions():
        run.set_timing(session.id, (replace(TURN, contention=None),))
    far = [entry.model_copy(update={"runs_here": False}) for entry in run.manifest.agents]
    run.set_manifest(run.manifest.model_copy(update={"agents": far}))
    assert "unwatched" not in {c.code for c in summarise(run).cautions}
