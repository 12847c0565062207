"""Intervals of a run on recordings of known speakers: over speakers, and as ever where none is known."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.figures.cells import Cell
from harness.figures.endpointing import endpointing_of, summarise_endpointing
from harness.figures.latency import quantiles, turn_figures
from harness.figures.listed_run import figures_in_a_list, state_in_a_list
from harness.figures.summarise import summarise
from harness.figures.summary import RunSummary
from harness.statistics.bounds import share_of
from harness.statistics.interval import TAIL
from harness.statistics.share_bounds import clopper_pearson
from harness.store.run_store import RunStore
from harness.store.selection import Selection
from harness.turns import TurnTable
from harness.turns.speakers import by_speaker, speakers_of
from tests.present import ends, present
from tests.run_of_speakers import answered_by_people, run_of_speakers

INTERVALS: dict[str, Callable[[Cell], tuple[float, float] | None]] = {
    "TTFA p50": lambda cell: cell.ttfa_ms.p50_interval,
    "TTFT p50": lambda cell: cell.ttft_ms.p50_interval,
    "within budget": lambda cell: cell.within_budget.ttfa_interval,
    "cut-ins": lambda cell: cell.cut_in_interval,
    "dead air": lambda cell: cell.dead_air_ms.mean_interval,
    "pauses cut": lambda cell: cell.pauses_cut_interval,
}


def quick(summary: RunSummary) -> Cell:
    return next(cell for cell in summary.whole if cell.agent == "quick")


def caution(summary: RunSummary) -> tuple[str, str] | None:
    return next(((c.level, c.text) for c in summary.cautions if c.code == "speakers"), None)


@pytest.fixture(scope="module")
def unknown_run(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return answered_by_people(run_of_speakers(tmp_path_factory.mktemp("unknown") / "run", sourced=False), persons=20)


@pytest.fixture(scope="module")
def over_speakers(tmp_path_factory: pytest.TempPathFactory) -> RunSummary:
    return summarise(answered_by_people(run_of_speakers(tmp_path_factory.mktemp("known") / "run"), persons=20))


@pytest.fixture(scope="module")
def over_turns(unknown_run: RunStore) -> RunSummary:
    return summarise(unknown_run)


def test_intervals_over_speakers_who_differ_are_wider_and_the_figures_the_same(
    over_speakers: RunSummary, over_turns: RunSummary
) -> None:
    one, other = quick(over_speakers), quick(over_turns)
    for name, read in INTERVALS.items():
        (low, high), (low_turns, high_turns) = ends(read(one)), ends(read(other))
        assert high - low > 1.5 * (high_turns - low_turns), name
    assert (one.ttfa_ms.p50, one.pauses_cut_share, one.cut_in_rate) == (
        other.ttfa_ms.p50, other.pauses_cut_share, other.cut_in_rate,
    )  # fmt: skip
    # Ten speakers may all be quicker than the slowest twentieth of people; a hundred and twenty turns are not.
    assert one.ttfa_ms.p95_interval is None
    assert present(one.ttfa_ms.p95_at_least) < present(other.ttfa_ms.p95_interval)[0]
    level, said = present(caution(over_speakers))
    assert level == "note"
    assert said.startswith("10 speakers, 120 turns: intervals of waits")
    assert caution(over_turns) is None


def test_without_known_speakers_every_interval_is_over_conversations_to_the_last_digit(
    unknown_run: RunStore, over_turns: RunSummary
) -> None:
    selection = Selection(unknown_run)
    turns, texts = selection.turns("quick", "clean"), selection.turn_texts("quick", "clean")
    cell = quick(over_turns)
    assert cell.ttfa_ms == quantiles(TurnTable.of_groups(turns), "ttfa", 7)
    by_conversation = turn_figures(turns, budgets_ms=unknown_run.manifest.budgets_ms, seed=7)
    assert {name: getattr(cell, name) for name, _ in by_conversation} == dict(by_conversation)
    assert endpointing_of(selection, "quick", "clean", turns.keys()) == summarise_endpointing(turns, texts, seed=7)


@pytest.mark.parametrize("speakers", [1, 7])
def test_under_eight_speakers_no_interval_is_given_and_the_reason_is_said(tmp_path: Path, speakers: int) -> None:
    summary = summarise(run_of_speakers(tmp_path / "run", speakers, turns=4))
    assert quick(summary).ttfa_ms.p50 is not None
    assert {name: read(quick(summary)) for name, read in INTERVALS.items()} == dict.fromkeys(INTERVALS)
    level, said = present(caution(summary))
    assert level == "warn"
    if speakers == 1:
        assert said == "1 speaker, 4 turns: nothing about people can be generalised, and every figure is this speaker's own."
    else:
        assert said.startswith("7 speakers, 28 turns: under 8 speakers no interval of waits")


def test_eight_speakers_are_enough(tmp_path: Path) -> None:
    cell = quick(summarise(run_of_speakers(tmp_path / "run", 8, turns=4)))
    assert None not in [read(cell) for read in INTERVALS.values()]


def test_conversations_of_unknown_speakers_are_bunches_of_their_own_and_counted(tmp_path: Path) -> None:
    store = run_of_speakers(tmp_path / "run", 5, 4, unknown=1)
    _, said = present(caution(summarise(store)))
    assert said.startswith("4 speakers, 20 turns (4 conversations of unknown speakers, each counted as one more speaker): ")
    groups = by_speaker(Selection(store).turns("quick", "clean"), speakers_of(store.contexts()))
    assert sorted(len(group) for group in groups.values()) == [1] * 4 + [4] * 4


def test_automatic_speakers_are_never_called_people(tmp_path: Path) -> None:
    _, said = present(caution(summarise(run_of_speakers(tmp_path / "run", turns=4, automatic=True))))
    assert said.startswith("10 speakers, 40 turns, automatic speakers among them, which are no people: ")


@pytest.mark.parametrize("held", [False, True])
def test_a_share_of_none_or_all_is_not_certain(held: bool) -> None:
    share, interval = share_of({f"speaker p{k}": [held] * 12 for k in range(10)})
    assert (share, interval) == (float(held), clopper_pearson(10 * held, 10, TAIL))


def test_people_in_the_seat_are_compared_by_conversation_and_measured_over_the_callers_speakers(
    over_speakers: RunSummary, over_turns: RunSummary
) -> None:
    one, other = over_speakers, over_turns
    people, people_by_turn = (next(cell for cell in made.whole if cell.agent == "people") for made in (one, other))
    for name, read in INTERVALS.items():
        if name in ("TTFA p50", "within budget", "cut-ins", "dead air", "pauses cut"):
            (low, high), (low_turns, high_turns) = ends(read(people)), ends(read(people_by_turn))
            assert high - low > 1.3 * (high_turns - low_turns), name
    assert present(quick(one).beside_seat).later_ms == present(quick(other).beside_seat).later_ms


def test_the_few_figures_of_a_list_of_runs_are_those_of_the_summary(unknown_run: RunStore, over_turns: RunSummary) -> None:
    selection, cell = Selection(unknown_run), quick(over_turns)
    entry = next(entry for entry in selection.manifest.agents if entry.name == "quick")
    few = figures_in_a_list(selection, entry, "clean")
    assert (few.measure, few.turns, few.latency, few.answer) == ("ttfa", 120, cell.ttfa_ms, None)
    assert few.within_budget == (cell.within_budget.ttfa, cell.within_budget.ttfa_interval)
    assert (few.pauses_cut, few.inner_pauses) == ((cell.pauses_cut_share, cell.pauses_cut_interval), 120)
    written = figures_in_a_list(selection, entry.model_copy(update={"kind": "text"}), "clean")
    assert (written.measure, written.latency, written.pauses_cut, written.inner_pauses) == (
        "ttft",
        cell.ttft_ms,
        (None, None),
        0,
    )
    assert written.within_budget == (cell.within_budget.ttft, cell.within_budget.ttft_interval)
    assert state_in_a_list(selection, "clean", ()) == "none"
