from typing import Any

import numpy as np
import pytest

from harness.ranking.strategies import STRATEGIES, State, StrategyLabel, backed, check_labeller, heatmap, occurs, usage
from tests.present import present


def _label(context: str, system: str, strategy: str, state: State = "present", **more: Any) -> StrategyLabel:
    return StrategyLabel(context=context, system=system, strategy=strategy, state=state, **more)


def test_usage_by_hand() -> None:
    labels = [_label(f"c{c}", "x", "affirmation") for c in range(10)]
    labels += [_label(f"c{c}", "x", "clarification", "present" if c < 5 else "absent") for c in range(10)]
    labels += [_label("c0", "x", "offer hope", "uncertain")]
    (found,) = usage(labels, draws=200)
    rates = [100.0, 50.0] + [0.0] * 13
    assert found.replies == 10
    assert found.coverage == ("affirmation", "clarification")
    assert found.unique_per_reply.value == 1.5
    assert found.entropy_bits.value == pytest.approx(-(2 / 3 * np.log2(2 / 3) + 1 / 3 * np.log2(1 / 3)))
    assert found.sd.value == pytest.approx(np.std(rates, ddof=1))
    assert found.range.value == 100.0
    assert found.uncertain_share == pytest.approx(1 / 21)
    assert present(found.unique_per_reply.interval)[0] < 1.5 < present(found.unique_per_reply.interval)[1]


def test_few_contexts_give_no_interval_and_families_pool_systems() -> None:
    labels = [_label(f"c{c}", s, "affirmation") for c in range(4) for s in ("x", "y", "z")]
    found = usage(labels, families={"x": "f", "y": "f"})
    assert [(u.name, u.replies) for u in found] == [("f", 8)]
    assert found[0].sd.interval is None


def test_a_presence_without_evidence_in_the_reply_is_uncertain() -> None:
    texts = {("c", "x"): "You've been  carrying a lot.\nWhat helps?"}
    there = _label("c", "x", "affirmation", evidence="carrying a LOT. what helps")
    invented = _label("c", "x", "offer hope", evidence="it will get better")
    silent = _label("c", "x", "chit-chat")
    assert [x.state for x in backed([there, invented, silent], texts)] == ["present", "uncertain", "uncertain"]
    assert not occurs(" ", "anything")


def test_macro_f1_is_the_mean_over_strategies_anybody_saw() -> None:
    humans = [_label(f"c{c}", "x", "affirmation", "present" if c < 4 else "absent") for c in range(8)]
    humans += [_label(f"c{c}", "x", "clarification", "present") for c in range(8)]
    ours = [_label(f"c{c}", "x", "affirmation", "present" if c < 2 else "uncertain") for c in range(8)]
    ours += [_label(f"c{c}", "x", "clarification", "present") for c in range(8)]
    ours += [_label("elsewhere", "x", "chit-chat")]
    found = check_labeller(ours, humans)
    assert found.by_strategy["affirmation"] == pytest.approx(2 * 2 / (2 * 2 + 2))
    assert found.by_strategy["chit-chat"] is None
    assert found.macro_f1 == pytest.approx((2 / 3 + 1) / 2)
    assert found.replies == 8
    assert check_labeller([], []).macro_f1 is None


def test_heatmap_puts_the_commonest_strategy_first() -> None:
    labels = [_label("c", s, t) for s, t in (("x", "offer hope"), ("y", "offer hope"), ("y", "chit-chat"))]
    rows, columns, table = heatmap(usage(labels))
    assert rows[:2] == ("offer hope", "chit-chat")
    assert columns == ("x", "y")
    assert table.shape == (len(STRATEGIES), 2)
    assert table[1].tolist() == [0.0, 100.0]
