"""The evidence of a limit by subset: of the conversations inside it alone, for every kind of figure."""

from collections.abc import Iterator
from typing import Literal

import pytest

from harness.figures.rank import Place
from harness.gate.evidence import Cells
from harness.ranking.elo_bounds import EloOverReference
from harness.store.judgment import Judgment
from harness.store.selection import HEARD, Selection
from harness.timing.figures import Contention, TurnTiming
from tests.judged import put
from tests.made_run import conversation, made_run, play
from tests.present import present

IN_SUBSET = 8
"""Conversations of each subset: as many as votes must be on for an axis of people's."""
OTHERS = {"regular": "chromium", "adversarial": "python3"}


@pytest.fixture(scope="module", params=["judge", "human"])
def cells(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Cells]]:
    """`a` is quick, wins and is understood in each regular conversation, and the opposite in the others."""
    subsets = ("regular",) * IN_SUBSET + ("adversarial",) * IN_SUBSET
    profile = {"regular": None, "adversarial": "always-10"}
    contexts = [conversation(f"c{k}", subset=subset, escalation=profile[subset]) for k, subset in enumerate(subsets)]
    store = made_run(tmp_path_factory.mktemp("run") / "run", contexts, "a", "b")
    for context in contexts:
        good = context.subset == "regular"
        busy = Contention(0.0, 0.0, 0.0, at_most_ms={"ttfa": 0.0}, others=((OTHERS[context.subset], 0.5),))
        timing = TurnTiming("m", 0.0, 100.0 if good else 900.0, answer_ms=900.0, contention=busy)
        words = "all is well" if good else "nothing but noise"
        for agent in "ab":
            play(
                store, context.id, agent, timing=timing, written_text="all is well", heard=words,
                planned_turns=2, spoken_turns=2 if good else 1, ended=None if good else "hung_up",
            )  # fmt: skip
    by = {"source": request.param, "presentation": "heard_text", "condition": "clean", "strength": 2}
    raters = [f"human:{n}" for n in range(4)] if request.param == "human" else ["tester@1"]
    put(store, [
        Judgment.model_validate(
            {"context": c.id, "subset": c.subset, "system_a": "a", "system_b": "b", "judge": who,
             "winner": "a" if c.subset == "regular" else "b", **by}
        )
        for c in contexts
        for who in raters
    ])  # fmt: skip
    yield request.param, Cells(Selection(store))
    store.close()


@pytest.mark.parametrize(
    ("figure", "regular", "adversarial"),
    [
        ("ttfa_ms.p50", 100.0, 900.0),
        ("within_budget.ttfa", 1.0, 0.0),
        ("heard_wer", 0.0, 1.0),
        ("unspoken_share", 0.0, 0.5),
        ("win_rate", 1.0, 0.0),
    ],
)
def test_a_figure_is_of_the_conversations_of_its_subset(
    cells: tuple[str, Cells], figure: str, regular: float, adversarial: float
) -> None:
    def value(subset: Literal["all", "regular", "adversarial"]) -> float:
        found = present(cells[1].evidence(figure, "a", Place("clean", HEARD, subset)))
        assert found.contexts == (2 * IN_SUBSET if subset == "all" else IN_SUBSET)
        return found.value

    assert value("regular") == pytest.approx(regular, abs=0.01)
    assert value("adversarial") == pytest.approx(adversarial, abs=0.01)


def test_a_rating_is_of_the_conversations_of_its_subset(cells: tuple[str, Cells]) -> None:
    kind, evidence = cells

    def elo(subset: Literal["all", "regular", "adversarial"], prefix: str = "") -> tuple[float, int] | None:
        found = evidence.evidence(f"{prefix}elo_over.b", "a", Place("clean", HEARD, subset))
        assert found is None or isinstance(found, EloOverReference)
        return None if found is None else (found.value, found.met)

    regular, other, both = present(elo("regular")), present(elo("adversarial")), present(elo("all"))
    assert regular[0] > 100
    assert other[0] < -100
    assert both[0] == pytest.approx(0, abs=20)
    assert (regular[1], other[1], both[1]) == (IN_SUBSET, IN_SUBSET, 2 * IN_SUBSET)
    assert elo("regular", "people.") == (regular if kind == "human" else None)


def test_what_is_said_beside_a_figure_is_of_its_subset_too(cells: tuple[str, Cells]) -> None:
    _, evidence = cells
    regular, other = Place("clean", HEARD, "regular"), Place("clean", HEARD, "adversarial")
    assert evidence.unspoken("a", regular) == {}
    assert evidence.unspoken("a", other) == {"agent hung up": IN_SUBSET}
    assert [[name for name, _ in evidence.others("a", place)] for place in (regular, other)] == [["chromium"], ["python3"]]
    assert evidence.conversations_a_speaker(regular) == 1
    notes = [evidence.before_answers("ttfa_ms.p50", "a", place) for place in (regular, other)]
    assert [note.startswith(f"TTFA is of a filler on {IN_SUBSET} of {IN_SUBSET} replies") for note in notes] == [True, False]
