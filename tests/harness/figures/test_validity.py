"""Contended turns: left out of latencies, counted, and past half of them the run is invalid."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from harness.commands.table import print_summary
from harness.figures.latency import TurnFigures, turn_figures
from harness.figures.summarise import summarise
from harness.figures.validity import disturbed_sessions, with_validity
from harness.reports.assemble import assemble
from harness.reports.markdown import markdown
from harness.reports.shown_runs import alone
from harness.reports.tables import tables
from harness.scenarios.context import Context
from harness.store.manifest import AgentEntry, RunManifest
from harness.store.run_store import RunStore
from harness.store.selection import reply_of
from harness.store.session import SessionKey
from harness.timing.figures import TurnTiming
from harness.timing.others_share import Contention

FIGURES = ("ttfa", "ttft")
QUIET = Contention(others_cores=0.05, waited_cores=0.1, stolen_cores=0.0, at_most_ms=dict.fromkeys(FIGURES, 2.0))
STARVED = Contention(
    others_cores=1.3, waited_cores=2.0, stolen_cores=0.0, at_most_ms=dict.fromkeys(FIGURES, 3_000.0), others_ms=3_000.0
)
TURN = TurnTiming(method="test", spoken_end_ms=0, ttfa_ms=500.0, ttft_ms=80.0, contention=QUIET)


def of(*turns: TurnTiming) -> TurnFigures:
    return turn_figures({f"c{k}": [t] for k, t in enumerate(turns)}, budgets_ms={"ttft": 500, "ttfa": 500}, seed=1)


def test_a_contended_turn_takes_no_part_in_any_latency() -> None:
    late = replace(TURN, ttfa_ms=3_400.0, ttft_ms=3_100.0, contention=STARVED)
    found = of(*[TURN] * 3, late)
    assert found == of(*[TURN] * 3).model_copy(update={"turns": 4, "contended": 1})


def test_beside_a_figure_stands_what_of_it_could_be_others() -> None:
    late = replace(TURN, ttfa_ms=516.0, contention=replace(QUIET, at_most_ms={"ttfa": 22.0, "ttft": 1.0}))
    found = of(late, late, TURN)
    assert (found.ttfa_ms.p50, found.ttfa_ms.p50_others_ms) == (516.0, 22.0)
    assert found.ttft_ms.p50_others_ms == pytest.approx(1.0)


def test_of_an_agent_that_nobody_watched_nothing_is_said_to_be_others() -> None:
    found = of(TURN, replace(TURN, contention=None)).ttfa_ms
    assert (found.p50, found.p50_others_ms) == (500.0, None)


def test_a_figure_that_ended_before_others_came_stays() -> None:
    """The first sound is the machine's; the token before it is the agent's own."""
    late = replace(TURN, ttfa_ms=900.0, ttft_ms=80.0, contention=replace(STARVED, at_most_ms={"ttfa": 600.0, "ttft": 3.0}))
    found = of(late, late)
    assert (found.ttft_ms.n, found.ttfa_ms.n, found.contended) == (2, 0, 2)


def test_silence_on_a_starved_machine_is_not_the_agent_s() -> None:
    found = of(TURN, replace(TURN, ttfa_ms=None, no_reply=True, contention=STARVED))
    assert (found.no_reply, found.contended) == (0, 1)
    assert of(TURN, replace(TURN, ttfa_ms=None, no_reply=True)).no_reply == 1


def _with_others(ttfa_ms: float, owed_ms: float) -> TurnTiming:
    return replace(TURN, ttfa_ms=ttfa_ms, contention=replace(STARVED, at_most_ms={"ttfa": owed_ms}))


@pytest.mark.parametrize(
    ("turn", "share"),
    [
        pytest.param(_with_others(480, 30), 11 / 21, id="within the budget in spite of others"),
        pytest.param(_with_others(2400, 130), 10 / 21, id="over it without them too"),
        pytest.param(_with_others(520, 30), 10 / 20, id="others decide: unknown"),
    ],
)
def test_a_contended_turn_counts_for_the_budget_unless_others_decide_it(turn: TurnTiming, share: float) -> None:
    found = of(*[TURN, replace(TURN, ttfa_ms=600.0)] * 10, turn)
    assert found.contended == 1
    assert found.ttfa_ms.n == 20
    assert found.within_budget.ttfa == pytest.approx(share)


@pytest.mark.parametrize("owed_ms", [40.0, 3_000.0])
def test_no_contention_makes_an_agent_seem_quicker(owed_ms: float) -> None:
    """Half of the turns are within. Where others could have caused seconds, every slow turn is unknown, and no quick one."""
    quiet = [TURN, replace(TURN, ttfa_ms=2_000.0)] * 10
    contended = [_with_others(500, owed_ms), _with_others(2_000, max(owed_ms, 110.0))] * 10
    found = of(*quiet, *contended)
    assert found.contended == 20
    assert found.within_budget.ttfa == 0.5


def test_contended_turns_do_not_use_up_what_may_be_discarded() -> None:
    one_bad = [TURN] * 30 + [replace(TURN, ttfa_ms=None, discarded="a click")]
    many_contended = [*one_bad, *[replace(TURN, contention=STARVED)] * 5]
    assert of(*many_contended).ttfa_ms.p50 == of(*one_bad).ttfa_ms.p50 == 500.0


def calls(folder: Path, count: int) -> RunStore:
    """A run of as many calls of one agent."""
    context = Context.model_validate(
        {
            "id": "c1", "subset": "regular", "emotion": "sadness", "problem": "work",
            "turns": [{"role": "seeker", "text": "I don't know."}], "source": "test", "licence": "CC0",
        }
    )  # fmt: skip
    manifest = RunManifest(
        created="2026-01-01T00:00:00+00:00", harness_version="0", pack="p", pack_source="p", pack_hash="x",
        context_ids=["c1"], agents=[AgentEntry(name="a", kind="cascade", profile_hash="p" * 64, profile_text="")],
        mode="seeded", conditions=["clean"], repeats=count, seed=1,
    )  # fmt: skip
    store = RunStore.create(folder, manifest, [context])
    for repeat in range(count):
        key = SessionKey("c1", "h" * 64, "a", "p" * 64, "seeded", "clean", repeat)
        store.commit_session(key, partial=store.partial_folder(key), started_ns=1, timing=TURN)
    return store


@pytest.fixture
def run(tmp_path: Path) -> RunStore:
    return calls(tmp_path / "run", 4)


def starve(run: RunStore, turns: int, turn: TurnTiming = TURN) -> None:
    for session in run.sessions()[:turns]:
        run.set_timing(session.id, (replace(turn, contention=STARVED),))
    run.set_manifest(with_validity(run))


def test_two_of_four_are_said_beside_the_figure(run: RunStore) -> None:
    starve(run, 2)
    summary = summarise(run)
    assert summary.valid
    (told,) = (c.text for c in summary.cautions if c.code == "contended")
    assert "a on 2 of 4 turns" in told
    assert summary.agents["a"]["contended"] == 2
    assert summary.agents["a"]["ttfa_ms"]["p50"] == 500.0


def test_three_of_four_are_an_invalid_run(run: RunStore) -> None:
    starve(run, 3)
    summary = summarise(run)
    assert not summary.valid
    assert "a on 3 of 4 turns" in summary.invalid[0]


def test_contended_sessions_are_disturbed_where_they_are_more_than_a_tenth(tmp_path: Path) -> None:
    run = calls(tmp_path / "run", 20)
    starve(run, 2)
    assert disturbed_sessions(run) == frozenset()
    starve(run, 3)
    assert disturbed_sessions(run) == {session.id for session in run.sessions()[:3]}


def test_a_run_that_is_measured_again_on_a_machine_that_was_quiet_after_all_is_valid_again(run: RunStore) -> None:
    starve(run, 3)
    for session in run.sessions():
        run.set_timing(session.id, (TURN,))
    run.set_manifest(with_validity(run))
    assert summarise(run).valid


def test_a_reply_that_was_not_heard_on_a_starved_machine_is_missing_and_not_lost(run: RunStore) -> None:
    starve(run, 1, replace(TURN, ttfa_ms=None, no_reply=True))
    assert reply_of(run.sessions()[0], "heard_text").fate == "missing"


def test_the_page_says_why_and_what_it_would_have_been(run: RunStore) -> None:
    starve(run, 1, replace(TURN, ttfa_ms=8_673.0))
    view = assemble(alone(run, summarise(run)), run.folder, audio=False)
    (turn,) = (t for c in view.contexts for t in c.turns if t.discarded)
    assert "contended" in turn.discarded
    assert "TTFA was 8,673 ms" in turn.discarded
    assert "ttfa" not in turn.figures_ms


def test_every_place_that_shows_a_figure_says_what_of_it_could_be_others(run: RunStore) -> None:
    owed = {"ttfa": 22.0, "ttft": 3.0, "first_substance": 700.0}
    turn = replace(TURN, ttfa_ms=516.0, first_substance_ms=900.0, contention=replace(QUIET, at_most_ms=owed))
    for session in run.sessions():
        run.set_timing(session.id, (turn,))
    summary = summarise(run)
    screen = Console(file=StringIO(), width=200)
    print_summary(summary, screen)
    terminal = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "a: TTFA 516 ms, at most 22 ms of it others'; TTFT 80 ms, at most 3 ms of it others' (p50)." in terminal
    assert summary.agents["a"]["ttfa_ms"]["p50_others_ms"] == pytest.approx(22.0)

    view = assemble(alone(run, summary), run.folder, audio=False)
    exported = tables(view)
    assert exported["systems"][0]["ttfa_p50_others_ms"] == pytest.approx(22.0)
    assert {row["ttfa_others_ms"] for row in exported["turns"]} == {22.0}
    assert "at most 22 ms of it others'" in markdown(view).replace("\\", "")
    shown = view.contexts[0].turns[0]
    assert "first_substance" not in shown.figures_ms
    assert any("left out: at most 700 ms of it others'" in label for label in shown.labels)


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
