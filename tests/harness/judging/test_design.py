"""The plan of comparisons: connected in every block, balanced over all, audits labelled, the same for the same seed."""

from collections import Counter
from collections.abc import Iterable

import pytest

from harness.judging.design import Design, plan_comparisons

SYSTEMS = [f"s{n}" for n in range(9)]
BLOCKS = {f"c-{n:02d}": SYSTEMS for n in range(40)}


def parts(pairs: Iterable[tuple[str, str]]) -> int:
    """How many unconnected parts the systems of these pairs fall into."""
    root = {s: s for pair in pairs for s in pair}

    def find(s: str) -> str:
        return s if root[s] == s else find(root[s])

    for a, b in pairs:
        root[find(a)] = find(b)
    return len({find(s) for s in root})


def test_without_a_size_every_pair_is_asked_once_plus_audits() -> None:
    plan = plan_comparisons(BLOCKS, Design(), seed=1)
    counts = Counter(c.purpose for c in plan)
    assert counts["main"] == 40 * 36
    assert counts["swapped"] == 144
    assert counts["repeat"] == 72


@pytest.mark.parametrize("cells", [200, 400, 720])
def test_a_reduced_design_is_balanced_and_connected(cells: int) -> None:
    plan = plan_comparisons(BLOCKS, Design(cells=cells, swapped_share=0, repeat_share=0), seed=3)
    assert len(plan) == cells
    pairs = Counter((c.system_a, c.system_b) for c in plan)
    systems = Counter(s for c in plan for s in (c.system_a, c.system_b))
    assert max(pairs.values()) - min(pairs.values()) <= 2 + cells // 300
    assert max(systems.values()) <= 1.1 * min(systems.values())
    assert parts(list(pairs)) == 1


def test_each_block_is_connected_as_far_as_its_size_allows() -> None:
    plan = plan_comparisons(BLOCKS, Design(cells=40 * 8, swapped_share=0, repeat_share=0), seed=3)
    for context in BLOCKS:
        block = [(c.system_a, c.system_b) for c in plan if c.context_id == context]
        assert len(block) == 8
        assert parts(block) == 1


def test_a_design_in_both_orders_asks_each_pair_once_in_each() -> None:
    plan = plan_comparisons(BLOCKS, Design(both_orders=True, replicates=2), seed=1)
    main = [c for c in plan if c.purpose == "main"]
    orders = Counter((c.context_id, c.system_a, c.system_b, c.shown_first) for c in main)
    assert len(orders) == 2 * 40 * 36
    assert set(orders.values()) == {2}
    assert len({(c.context_id, c.system_a, c.system_b, c.shown_first, c.draw, c.purpose) for c in plan}) == len(plan)
    assert Counter(c.purpose for c in plan) == {"main": 4 * 40 * 36, "repeat": 72}
    kept = {
        (c.context_id, c.system_a, c.system_b) for c in plan_comparisons(BLOCKS, Design(cells=200, both_orders=True), seed=1)
    }
    assert len(kept) == 200


def test_swaps_show_the_other_side_first_and_repeats_the_same() -> None:
    plan = plan_comparisons(BLOCKS, Design(), seed=1)
    main = {(c.context_id, c.system_a, c.system_b): c.shown_first for c in plan if c.purpose == "main"}
    for c in plan:
        if c.purpose != "main":
            same = main[c.context_id, c.system_a, c.system_b] == c.shown_first
            assert same == (c.purpose == "repeat")


def test_order_is_by_lot_and_recorded_with_the_seed() -> None:
    firsts = [c.shown_first for c in plan_comparisons(BLOCKS, Design(), seed=1)]
    assert 0.44 < firsts.count("a") / len(firsts) < 0.56
    assert firsts == [c.shown_first for c in plan_comparisons(BLOCKS, Design(), seed=1)]
    assert firsts != [c.shown_first for c in plan_comparisons(BLOCKS, Design(), seed=2)]


def test_replicates_each_have_an_order_of_their_own() -> None:
    plan = plan_comparisons({"c": ["x", "y"]}, Design(replicates=40, swapped_share=0, repeat_share=0), seed=1)
    assert [c.draw for c in plan] == list(range(40))
    assert {c.shown_first for c in plan} == {"a", "b"}


def test_pairs_between_two_sides_are_all_asked_and_no_others() -> None:
    plan = [c for c in plan_comparisons(BLOCKS, Design(), seed=1, between=("s3", "s7")) if c.purpose == "main"]
    assert len(plan) == 40 * 2 * 7
    assert all(len({c.system_a, c.system_b} & {"s3", "s7"}) == 1 for c in plan)
    fewer = [c for c in plan_comparisons(BLOCKS, Design(cells=60), seed=1, between=("s3",)) if c.purpose == "main"]
    assert len(fewer) == 60
    assert all("s3" in (c.system_a, c.system_b) for c in fewer)
