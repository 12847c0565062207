from collections.abc import Iterable

import numpy as np
import pytest

from harness.ranking.bias import FORMATTING, Audit, audits
from harness.store.judgment import Judgment, Winner
from tests.harness.conftest import Simulate
from tests.present import present


def _by_name(found: Iterable[Audit]) -> dict[str, Audit]:
    return {audit.name: audit for audit in found}


def test_a_judge_who_leans_to_the_first_reply_is_found_and_a_fair_one_is_not(simulate: Simulate) -> None:
    fair, leaning = simulate(80, 3, 1, seed=1), simulate(80, 3, 1, seed=2, position=1.0)
    rows = [*fair, *(r.model_copy(update={"judge": "leaning"}) for r in leaning)]
    found = _by_name(audits(rows))
    assert found["position: leaning"].effect == pytest.approx(1.0, abs=0.35)
    assert present(found["position: leaning"].p_adjusted) < 0.001
    assert present(found["position: leaning"].share) > 0.6
    assert present(found["position: judge-0"].interval)[0] < 0 < present(found["position: judge-0"].interval)[1]


def test_length_formatting_and_family_are_told_from_quality() -> None:
    rng = np.random.default_rng(5)
    rows, texts = [], {}
    worth = {"x": 0.8, "y": 0.0, "z": -0.8}
    for c in range(150):
        words = {s: int(rng.integers(10, 80)) for s in worth}
        marked = {s: rng.random() < 0.5 for s in worth}
        for s in worth:
            texts[f"c{c}", s, 0] = ("- item\n" if marked[s] else "two words ") + "w " * (words[s] - 2)
        for a, b in (("x", "y"), ("x", "z"), ("y", "z")):
            for judge in ("jx", "jo"):
                eta = worth[a] - worth[b] + 0.7 * np.log2(words[a] / words[b]) + 0.5 * (marked[a] - float(marked[b]))
                eta += 0.6 * ((a == "x") - (b == "x")) * (judge == "jx")
                winner: Winner = "a" if eta + rng.logistic() > 0 else "b"
                rows.append(
                    Judgment(context=f"c{c}", subset="r", system_a=a, system_b=b, source="judge", judge=judge, winner=winner)
                )
    families = {"judge_family": {"jx": "fx", "jo": "fo"}, "system_family": {"x": "fx", "y": "fy", "z": "fz"}}
    found = _by_name(audits(rows, texts=texts, **families))
    assert found["length: twice the words"].effect == pytest.approx(0.7, abs=0.25)
    assert present(found["formatting"].interval)[0] < 0.5 < present(found["formatting"].interval)[1]
    assert present(found["self-preference"].interval)[0] < 0.6 < present(found["self-preference"].interval)[1]
    assert "position: jx" not in found


def test_nothing_to_audit() -> None:
    assert audits([]) == ()


def test_few_contexts_give_an_effect_without_interval(simulate: Simulate) -> None:
    (audit,) = audits(simulate(5, 3, 1))
    assert audit.interval is None
    assert audit.p_value is None


@pytest.mark.parametrize("text", ["- one\n- two", "Yes.\n1. first", "so **bold**", "a\n\nb", "`x`"])
def test_formatting_is_what_is_never_spoken(text: str) -> None:
    assert FORMATTING.search(text)
    assert not FORMATTING.search("I hear you - really. It's 3.5 hours, isn't it?")
