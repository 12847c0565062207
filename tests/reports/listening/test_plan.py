"""What a rater is dealt: balance, roles, checks, coverage."""

from collections import Counter
from dataclasses import replace

import pytest

from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.material import Conversation, Reply
from harness.reports.listening.plan import Item, Slot, deal, passed


def conversations(count: int, systems: tuple[str, ...] = ("a", "b", "c")) -> list[Conversation]:
    """Each is about a subject of its own, which every reply names."""
    return [
        Conversation(
            f"c{n}", "regular", (("seeker", f"subject{n}"),),
            {s: Reply(f"c{n}", s, f"Subject{n}, {s}?", f"{n}{s}", onset_ms=400.0 * (k + 1)) for k, s in enumerate(systems)},
        )
        for n in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_a_conversation_has_one_role_for_a_rater(seed: int) -> None:
    plan = deal(conversations(24), ListeningDesign(items=12, practice=2, gold=2, attention=0), {}, seed)
    roles: dict[str, set[str]] = {}
    for item in plan:
        if item.context is not None:
            roles.setdefault(item.context, set()).add(item.role)
    assert all(len(found) == 1 for found in roles.values())
    assert Counter(item.role for item in plan if item.context) == {"main": 12, "practice": 2, "gold": 2}


@pytest.mark.parametrize("seed", range(20))
def test_sides_are_balanced_and_systems_are_spread(seed: int) -> None:
    plan = [i for i in deal(conversations(24), ListeningDesign(items=12, gold=0, attention=0), {}, seed) if i.role == "main"]
    left_first = sum(item.slots[0].system < item.slots[1].system for item in plan)
    assert left_first == 6
    counts = Counter(slot.system for item in plan for slot in item.slots)
    assert max(counts.values()) - min(counts.values()) <= 2


def test_what_was_dealt_least_comes_first() -> None:
    items = conversations(6, ("a", "b"))
    coverage: dict[tuple[str, ...], int] = {(c.id, "a", "b"): 5 for c in items[:4]}
    design = ListeningDesign(items=2, practice=0, gold=0, attention=0)
    plan = deal(items, design, coverage, seed=3)
    assert {item.context for item in plan if item.role == "main"} == {"c4", "c5"}


def without_some_replies(count: int) -> list[Conversation]:
    full = conversations(count, ("a", "b", "c", "d"))
    return [replace(c, replies={k: r for k, r in c.replies.items() if n % 3 or k != "d"}) for n, c in enumerate(full)]


def main_pairs(plan: tuple[Item, ...]) -> list[tuple[str, ...]]:
    return [(i.context or "", *sorted(slot.system for slot in i.slots)) for i in plan if i.role == "main"]


@pytest.mark.parametrize("raters", [1, 4])
def test_each_pair_comes_as_often_as_its_stated_rate_also_where_replies_are_missing(raters: int) -> None:
    items = without_some_replies(9)
    design = ListeningDesign(items=5, practice=1, gold=1, attention=0)
    seen: Counter[tuple[str, ...]] = Counter()
    rate: dict[tuple[str, ...], float] = {}
    tests = 3_000 // raters
    for test in range(tests):
        coverage: Counter[tuple[str, ...]] = Counter()
        for rater in range(raters):
            plan = deal(items, design, coverage, seed=test * raters + rater)
            coverage.update(main_pairs(plan))
            rate |= {pair: i.draw_rate or 0.0 for pair, i in zip(main_pairs(plan), _main_items(plan), strict=True)}
        seen += coverage
    pairs = sum(len(c.replies) * (len(c.replies) - 1) // 2 for c in items)
    average = tests * raters * 5 / pairs
    assert len(rate) == pairs
    assert all(abs(seen[pair] - average * rate[pair]) < 4.5 * (average * rate[pair]) ** 0.5 for pair in rate)
    assert {round(r, 3) for r in rate.values()} == {round(pairs / 9 / 3, 3), round(pairs / 9 / 6, 3)}


@pytest.mark.parametrize("raters", [1, 3])
def test_pairs_with_a_reference_have_one_turn_in_eight_at_known_rates(raters: int) -> None:
    items = conversations(9, ("a", "b", "ref:x", "ref:y"))
    design = ListeningDesign(items=8, practice=0, gold=0, attention=0)
    seen: Counter[tuple[str, ...]] = Counter()
    tests = 2_000 // raters
    for test in range(tests):
        coverage: Counter[tuple[str, ...]] = Counter()
        for rater in range(raters):
            plan = deal(items, design, coverage, seed=test * raters + rater)
            asked = main_pairs(plan)
            assert [names[1:] == ("a", "b") for names in asked].count(False) == 1
            assert [i.draw_rate for i in _main_items(plan)] == [pytest.approx(1.0)] * 8
            coverage.update(asked)
        seen += coverage
    for context, *names in seen:
        expected = tests * raters * 8 / 9 * (7 / 8 if names == ["a", "b"] else 1 / 8 / 5)
        assert abs(seen[context, *names] - expected) < 4.5 * expected**0.5
    assert len(seen) == 9 * 6


def _main_items(plan: tuple[Item, ...]) -> list[Item]:
    return [item for item in plan if item.role == "main"]


def test_only_main_items_of_pairs_state_a_rate() -> None:
    plan = deal(conversations(12), ListeningDesign(items=4), {}, seed=2)
    assert all((item.draw_rate == 1.0) == (item.role == "main") for item in plan)
    assert all(item.draw_rate is None for item in deal(conversations(12), ListeningDesign(kind="acr"), {}, seed=2))


def test_delay_as_a_factor_brings_the_same_pair_twice_once_in_each_half() -> None:
    design = ListeningDesign(items=8, delays="both", practice=0, gold=0, attention=0, break_every=100)
    plan = [item for item in deal(conversations(8), design, {}, seed=1) if item.role == "main"]
    halves = plan[:8], plan[8:]
    assert {item.context for item in halves[0]} == {item.context for item in halves[1]}
    for first in halves[0]:
        (second,) = [item for item in halves[1] if item.context == first.context]
        assert [slot.system for slot in first.slots] == [slot.system for slot in second.slots]
        assert first.with_delay != second.with_delay
    delayed = next(item for item in plan if item.with_delay)
    even = next(item for item in plan if not item.with_delay)
    assert len({slot.gap_ms for slot in delayed.slots}) == 2
    assert {slot.gap_ms for slot in even.slots} == {200.0}
    assert 0 < sum(item.with_delay for item in halves[0]) < 8


def test_a_tiny_run_gives_its_conversations_to_votes_not_to_checks() -> None:
    plan = deal(conversations(3), ListeningDesign(items=20), {}, seed=1)
    assert sum(item.role == "main" for item in plan) == 3
    assert not [item for item in plan if item.role in ("practice", "gold")]


def test_a_person_never_meets_a_conversation_taken_by_another_role() -> None:
    plan = deal(conversations(12), ListeningDesign(), {}, seed=1, taken=frozenset({"c1", "c2"}))
    assert not {"c1", "c2"} & {item.context for item in plan}


def test_every_check_is_a_pair_with_a_conversation_of_its_own_and_without_words_of_its_own() -> None:
    plan = deal(conversations(24), ListeningDesign(gold=2, attention=2), {}, seed=4)
    checks = [item for item in plan if item.is_check and item.role not in ("headphones",)]
    assert {item.role for item in checks} == {"gold"}
    assert len(checks) == len({item.context for item in checks}) == 4
    misplaced = [slot.context for item in checks for slot in item.slots if slot.context != item.context]
    assert len(set(misplaced)) == 4
    assert not {item.context for item in checks} & {item.context for item in plan if item.role == "main"}
    assert not any(item.instruction for item in plan)


@pytest.mark.parametrize("design", [ListeningDesign(), ListeningDesign(kind="acr", medium="text")])
def test_a_reply_that_would_do_here_as_well_is_no_check(design: ListeningDesign) -> None:
    alike = [
        replace(c, replies={name: replace(r, text="I hear you. Tell me more about it.") for name, r in c.replies.items()})
        for c in conversations(12)
    ]
    assert not [item for item in deal(alike, design, {}, 1) if item.role == "gold"]
    assert [item for item in deal(conversations(12), design, {}, 1) if item.role == "gold"]


def test_a_check_has_the_delay_of_other_items() -> None:
    for seed in range(10):
        plan = deal(conversations(12), ListeningDesign(delays="with"), {}, seed)
        assert all(slot.gap_ms >= 400 for item in plan if item.role in ("main", "gold") for slot in item.slots)


def test_gold_sets_a_reply_against_the_same_systems_reply_to_somebody_else() -> None:
    plan = deal(conversations(12), ListeningDesign(gold=2), {}, seed=4)
    for item in (item for item in plan if item.role == "gold"):
        right = [k for k, slot in enumerate(item.slots) if slot.context == item.context]
        assert len({slot.system for slot in item.slots}) == 1
        assert right == ([0] if item.expected == -1 else [1])


@pytest.mark.parametrize(
    ("kind", "role", "expected", "degraded", "answer", "good"),
    [
        ("ab", "gold", -1, False, {"choice": -2}, True), ("ab", "gold", -1, False, {"choice": 0}, False),
        ("ab", "gold", 1, False, {"choice": 1}, True), ("acr", "gold", 1, True, {"empathy": 5, "naturalness": 2}, True),
        ("acr", "gold", 1, True, {"empathy": 1, "naturalness": 4}, False),
        ("acr", "gold", 1, False, {"empathy": 2}, True),
        ("ab", "headphones", 3, False, {"tone": 3}, True), ("ab", "main", None, False, {"choice": 1}, None),
    ],
)  # fmt: skip
def test_checks_know_their_answer(
    kind: str, role: str, expected: int | None, degraded: bool, answer: dict[str, object], good: bool | None
) -> None:
    item = Item.model_validate(
        {
            "role": role,
            "context": "c",
            "slots": (Slot(context="c", system="a", degraded=degraded),),
            "expected": expected,
        }
    )
    assert passed(item, answer, ListeningDesign.model_validate({"kind": kind})) is good
