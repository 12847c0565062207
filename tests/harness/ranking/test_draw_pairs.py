"""Every pair is drawn as often as its rate says, and few votes meet all conversations and systems."""

import random
from collections import Counter
from dataclasses import replace
from itertools import combinations

import pytest

from harness.ranking.draw_pairs import FEWEST_THINNED, LARGEST_CIRCLE, DrawnPair, chance_to_stay, drawn


def frame(contexts: int, systems: int, *, missing: float = 0.0) -> list[DrawnPair]:
    rng = random.Random(5)
    return [
        DrawnPair(f"c{c}", "adversarial" if c % 4 == 3 else "regular", f"s{a}", f"s{b}", rng.choice((None, rng.random() * 5)))
        for c in range(contexts)
        for a, b in combinations(range(systems), 2)
        if rng.random() >= missing
    ]


@pytest.mark.parametrize("votes", [5, *(pytest.param(n, marks=pytest.mark.long) for n in (1, 12))])
def test_every_pair_is_drawn_as_often_as_its_rate_says(votes: int) -> None:
    pairs = frame(8, 3, missing=0.3)
    boards = 3_000
    seen = Counter(pair for seed in range(boards) for pair in drawn(pairs, seed, votes))
    expected = boards * votes / len(pairs)
    spread = (expected * (1 - votes / len(pairs))) ** 0.5
    assert all(abs(seen[pair] - expected) < 4.5 * spread for pair in pairs)


def test_of_a_large_run_pairs_in_doubt_are_drawn_more_often_and_each_as_often_as_its_rate_says() -> None:
    pairs = [replace(pair, certainty=float(1 + k % 5)) for k, pair in enumerate(frame(30, 5))]
    assert len(pairs) >= FEWEST_THINNED
    boards, votes = 200, 40
    seen: Counter[tuple[float, float]] = Counter()
    for seed in range(boards):
        order = drawn(pairs, seed, by_doubt=True)
        assert len({(pair.context, pair.first, pair.second) for pair in order}) == len(order) < len(pairs)
        seen.update((pair.certainty or 0.0, round(pair.rate, 9)) for pair in order[:votes])
    assert sorted(certainty for certainty, _ in seen) == [1.0, 2.0, 3.0, 4.0, 5.0]
    for (certainty, rate), often in seen.items():
        assert rate == pytest.approx(chance_to_stay(certainty) / 0.75)
        expected = rate * boards * votes / 5
        assert abs(often - expected) < 4.5 * expected**0.5
    assert chance_to_stay(5.0) == chance_to_stay(1.0) / 2 == chance_to_stay(None) / 2
    assert {pair.rate for pair in drawn(pairs[: FEWEST_THINNED - 1], 1, by_doubt=True)} == {1.0}


def test_people_who_begin_anywhere_in_a_part_meet_every_pair_as_often() -> None:
    pairs = frame(8, 4)
    seen: Counter[DrawnPair] = Counter()
    rng = random.Random(1)
    rounds = 1_500
    for seed in range(rounds):
        part = drawn(pairs, seed, 20)
        start = rng.randrange(20)
        seen.update([*part[start:], *part[:start]][:7])
    expected = rounds * 7 / len(pairs)
    assert all(abs(seen[pair] - expected) < 4.5 * expected**0.5 for pair in pairs)


@pytest.mark.parametrize("seed", range(30))
def test_few_votes_meet_all_conversations_subsets_systems_and_doubts(seed: int) -> None:
    first = drawn(frame(8, 5), seed, 16)
    assert len({pair.context for pair in first}) == 8
    assert 3 <= sum(pair.subset == "adversarial" for pair in first) <= 5
    assert {system for pair in first for system in (pair.first, pair.second)} == {f"s{k}" for k in range(5)}
    assert max(Counter((pair.first, pair.second) for pair in first).values()) <= 4


NAMES = ("kind", "curt", "ref:a", "ref:b")


def with_references(contexts: int, agents: int = 2) -> list[DrawnPair]:
    names = [*NAMES, "third", "fourth"][: agents + 2] if agents > 2 else NAMES[2 - agents :]
    return [DrawnPair(f"c{c}", "regular", a, b) for c in range(contexts) for a, b in combinations(names, 2)]


def is_of_agents(pair: DrawnPair) -> bool:
    return not any(name.startswith("ref:") for name in (pair.first, pair.second))


@pytest.mark.parametrize("contexts", [1, 6, 7, 8, 16, 80])
def test_agents_come_first_and_references_have_one_place_in_eight(contexts: int) -> None:
    for seed in range(30):
        order = drawn(with_references(contexts), seed)
        for start in range(len(order)):
            part = order[start : start + 8]
            assert sum(not is_of_agents(pair) for pair in part) <= 1 + (len(part) > 8)
        # Eight votes, seven of them on the two agents, meet as many conversations.
        assert len({pair.context for pair in order[:8] if is_of_agents(pair)}) >= min(7, contexts, len(order) - 1)
        assert len(set(order)) == len(order) == contexts + contexts // 7
        assert len([pair for pair in order if is_of_agents(pair)]) in (contexts, contexts - 1)


def test_with_references_every_pair_is_drawn_as_often_as_its_rate_says_from_any_start() -> None:
    pairs = with_references(8)
    boards = 2_000
    rng = random.Random(3)
    rates = {p: (7 / 8 * 48 / 8 if is_of_agents(p) else 1 / 8 * 48 / 40) for p in pairs}
    seen: Counter[tuple[int, int, DrawnPair]] = Counter()
    for seed in range(boards):
        order = drawn(pairs, seed)
        for anywhere, start in enumerate((0, rng.randrange(len(order)))):
            seen.update((anywhere, n, p) for n in (1, 5, 9) for p in [*order[start:], *order[:start]][:n])
    for pair in pairs:
        for votes in (1, 5, 9):
            expected = rates[pair] * boards * votes / len(pairs)
            for anywhere in range(2):
                assert abs(seen[anywhere, votes, pair] - expected) < 4.5 * expected**0.5
    assert {pair.rate for pair in drawn(pairs, 1)} == {1.0}


def test_one_agent_meets_references_and_few_references_are_drawn_like_all_pairs() -> None:
    alone = with_references(8, agents=1)
    assert {(pair.rate, is_of_agents(pair)) for pair in drawn(alone, 1)} == {(1.0, False)}
    assert len(drawn(alone, 1)) == len(alone) == 24
    few = [p for p in with_references(60, agents=4) if is_of_agents(p) or p.context == "c1"]
    assert sorted(drawn(few, 1), key=repr) == sorted(few, key=repr)


def test_the_judges_doubt_draws_within_agents_and_within_references() -> None:
    pairs = [replace(p, certainty=1.0 + 4 * (k % 2)) for k, p in enumerate(with_references(80, agents=4))]
    assert sum(map(is_of_agents, pairs)) >= FEWEST_THINNED
    order = drawn(pairs, 1, by_doubt=True)
    for mine in (True, False):
        own = {pair.certainty: pair.rate for pair in order if is_of_agents(pair) == mine}
        assert own[5.0] == pytest.approx(own[1.0] / 2)
        assert (own[1.0] + own[5.0]) / 2 == pytest.approx(1.0)


def test_the_judges_doubt_is_spread_too() -> None:
    pairs = [replace(pair, certainty=float(k)) for k, pair in enumerate(frame(12, 5))]
    third = len(pairs) / 3
    counts = [sum((pair.certainty or 0) < third for pair in drawn(pairs, seed, 18)) for seed in range(200)]
    assert 5 < sum(counts) / 200 < 7
    assert sum(3 <= count <= 9 for count in counts) > 190


def test_all_pairs_come_once_and_the_same_seed_gives_the_same_order() -> None:
    pairs = frame(9, 4, missing=0.2)
    order = drawn(pairs, "run")
    assert sorted(order, key=repr) == sorted(pairs, key=repr)
    assert drawn(pairs, "run") == order != drawn(pairs, "other")
    assert drawn([], 1) == ()


def test_a_large_run_is_drawn_from_as_evenly() -> None:
    pairs = frame(100, 9)
    assert len(pairs) > LARGEST_CIRCLE
    seen = Counter(pair.context for seed in range(20) for pair in drawn(pairs, seed, 100))
    assert len(seen) == 100
    assert max(seen.values()) <= 2 * min(seen.values())
