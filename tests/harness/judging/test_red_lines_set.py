"""The red lines that ship: enough of every family and length, unlike one another, fit to read, and not won by counting."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Final

import pytest

from harness.judging.completion import normalised
from harness.judging.prompt_injection import addresses_judge
from harness.judging.validation.labelled import gold_pairs
from harness.judging.validation.red_lines import SECOND_SET, RedLine, shipped_red_lines
from harness.scenarios.screens import FOR_WRITTEN_PACKS, screen_text

LEAST: Final = {"harm": 36, "abuse": 36} | dict.fromkeys(
    (
        "unsafe_medical_advice", "misinformation", "blame", "minimising", "secrecy", "sexual_content", "contradiction",
        "somebody_else", "padding", "echo", "filler", "flattery_of_judge", "other_language", *SECOND_SET,
    ),
    12,
)  # fmt: skip
FIRST_SET_SHA: Final = "517616fc905549c2"
"""Of the first set's lines: figures measured on it stay comparable only while no word of it changes."""
EMPATHY: Final = re.compile(
    r"\b(sorry|feel|feelings?|hear|understand|heart|proud|lov(?:e|ing|ely)|touched|pain|car(?:e|ing)|tender|honoured)\b", re.I
)
LONGEST_SHARED: Final = 6
"""Most words in a row that two pairs may share: everyday phrases have six ("what was the last thing that"), a template more."""


def texts_of(pair: RedLine) -> tuple[str, ...]:
    return (*(turn.text for turn in pair.turns), pair.better, pair.worse)


@cache
def red_lines() -> tuple[RedLine, ...]:
    return shipped_red_lines()


def second_set() -> list[RedLine]:
    return [r for r in red_lines() if r.family in SECOND_SET]


def words(text: str) -> int:
    return len(text.split())


def share_won(measure: Callable[[str], float], pairs: Sequence[RedLine]) -> float:
    """How often more of `measure` marks the better reply; ties count half."""
    sides = [(measure(r.better), measure(r.worse)) for r in pairs]
    return sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in sides) / len(sides)


def test_every_family_has_its_count_and_a_third_of_each_length() -> None:
    assert set(LEAST) == {r.family for r in red_lines()}
    of = Counter((str(r.family), str(r.length)) for r in red_lines())
    for family, least in LEAST.items():
        shares = [of[family, length] for length in ("short_right", "long_right", "equal")]
        assert sum(shares) >= least
        assert min(shares) >= sum(shares) // 3


def test_a_pair_is_as_long_as_its_class_says() -> None:
    def true(r: RedLine) -> bool:
        better, worse = words(r.better), words(r.worse)
        return {
            "short_right": 2 * better <= worse,
            "long_right": 2 * worse <= better,
            "equal": max(better, worse) <= 1.15 * min(better, worse),
        }[r.length]

    assert [r.id for r in red_lines() if not true(r)] == []


def test_a_conversation_alternates_and_ends_with_the_caller() -> None:
    for r in red_lines():
        roles = [turn.role for turn in r.turns]
        assert roles[-1] == "seeker"
        assert 1 <= len(roles) <= 5
        assert all(a != b for a, b in pairwise(roles))


@pytest.mark.parametrize(
    "measure",
    [words, lambda t: t.count("?"), lambda t: t.count("!"), lambda t: len(re.findall(r"[.?!]+", t))],
    ids=["words", "question marks", "exclamation marks", "sentences"],
)
def test_counting_does_not_find_the_better_reply(measure: Callable[[str], float]) -> None:
    for pairs in (red_lines(), second_set()):
        assert 0.45 <= share_won(measure, pairs) <= 0.55


def test_at_equal_length_the_last_few_words_do_not_find_it_either() -> None:
    for pairs in (red_lines(), second_set()):
        assert 0.40 <= share_won(words, [r for r in pairs if r.length == "equal"]) <= 0.60


def test_words_of_empathy_find_it_only_where_warmth_is_the_fault() -> None:
    def empathy(text: str) -> int:
        return len(EMPATHY.findall(text))

    warm = [r for r in second_set() if r.family == "warm_in_emergency"]
    assert 0.40 <= share_won(empathy, [r for r in second_set() if r not in warm]) <= 0.60
    assert share_won(empathy, warm) < 0.40


def test_the_first_set_is_as_it_was_measured() -> None:
    first = "".join(f"{r.model_dump_json()}\n" for r in red_lines() if r.family not in SECOND_SET)
    assert hashlib.sha256(first.encode()).hexdigest()[:16] == FIRST_SET_SHA


def test_an_invented_helpline_cannot_be_dialled() -> None:
    assert [r.id for r in second_set() for text in texts_of(r) if re.search(r"\d", text)] == []


def test_no_text_occurs_twice_and_no_two_pairs_share_a_template() -> None:
    assert len({r.id for r in red_lines()}) == len(red_lines())
    texts = [normalised(text) for r in red_lines() for text in texts_of(r)[-3:]]
    assert len(set(texts)) == len(texts)
    seen: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for r in red_lines():
        for text in texts_of(r):
            spoken = re.findall(r"[\w']+", text.lower())
            for start in range(len(spoken) - LONGEST_SHARED):
                seen[tuple(spoken[start : start + LONGEST_SHARED + 1])].add(r.id)
    assert [" ".join(run) for run, ids in seen.items() if len(ids) > 1] == []


def test_nothing_is_shared_with_the_pairs_with_known_answers() -> None:
    known = {normalised(text) for pair in gold_pairs() for text in (pair.turns[-1].text, pair.better, pair.worse)}
    assert known.isdisjoint(normalised(text) for r in red_lines() for text in texts_of(r))


def test_every_text_passes_the_screens_of_written_packs() -> None:
    """Medicines may be named where advice on them is the point; English rules do not apply to other languages."""
    found = []
    for r in red_lines():
        screens = [s for s in FOR_WRITTEN_PACKS if s != "clinical" or r.family != "unsafe_medical_advice"]
        texts = texts_of(r)[:-1] if r.family == "other_language" else texts_of(r)
        found += [(r.id, finding) for text in texts for finding in screen_text(text, screens)]
    assert found == []


def test_only_flattery_speaks_to_the_judge() -> None:
    assert [r.id for r in red_lines() if addresses_judge(r.better)] == []
    assert {r.family for r in red_lines() if addresses_judge(r.worse)} <= {"flattery_of_judge"}
