import numpy as np
import pytest

from harness.ranking.human_row import people_ratings
from harness.store.judgment import Judgment, Winner
from tests.harness.conftest import Simulate
from tests.present import ends, present


def _world(contexts: int, judges: int, seed: int, spread: float = 0.0) -> list[Judgment]:
    """A model and three people a context, all replies equally good (spread 0): every difference is luck."""
    rng = np.random.default_rng(seed)
    rows = []
    for c in range(contexts):
        worth = rng.normal(0, spread, 3)
        for judge in range(judges):
            for h in range(3):
                winner: Winner = "a" if rng.random() < 1 / (1 + np.exp(-worth[h])) else "b"
                rows.append(
                    Judgment(
                        context=f"c{c}",
                        subset="regular",
                        system_a=f"human:{h}",
                        system_b="model",
                        source="human",
                        judge=f"r{judge}",
                        winner=winner,
                    )
                )
    return rows


def _is_human(name: str) -> bool:
    return name.startswith("human:")


def test_the_best_of_equals_is_no_better_once_others_score_it() -> None:
    found = present(people_ratings(_world(300, 4, 1), _is_human))
    assert present(found.best_uncorrected).elo > 1560
    assert present(found.best).elo == pytest.approx(1500, abs=20)
    assert found.random.elo == pytest.approx(1500, abs=20)
    assert ends(present(found.best).interval)[0] < 1500 < ends(present(found.best).interval)[1]
    # The mean of three people rated one by one stands where one random person does, on a board of four.
    assert present(found.mean).elo == pytest.approx(1500, abs=20)


def test_a_best_that_is_truly_better_stays_better() -> None:
    found = present(people_ratings(_world(300, 6, 2, spread=1.5), _is_human))
    assert found.random.elo + 30 < present(found.best).elo < present(found.best_uncorrected).elo


def test_one_voter_cannot_correct_and_no_human_gives_nothing(simulate: Simulate) -> None:
    found = present(people_ratings(_world(10, 1, 3), _is_human))
    assert found.best is None
    assert people_ratings(simulate(9, 3, 1), _is_human) is None


def test_few_contexts_give_no_interval() -> None:
    found = present(people_ratings(_world(7, 4, 4), _is_human))
    assert found.random.interval is None
    assert present(found.best).interval is None
