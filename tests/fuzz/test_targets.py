"""A short fuzz of every target: a few damaged inputs of a fixed seed, and time in proportion to the length of each word's run.
`bash tests/long.sh fuzz` does the same for minutes and up to 8 MiB."""

import random
from functools import partial
from itertools import islice

import pytest

from tests.fuzz.linear import is_linear
from tests.fuzz.mutate import inputs
from tests.fuzz.targets import TARGETS, of_size, refused


@pytest.mark.parametrize("name", TARGETS)
def test_a_damaged_input_is_taken_or_refused_by_name(name: str) -> None:
    target = TARGETS[name]
    for given in islice(inputs(target, random.Random(53), min(20_000, target.most_bytes)), 20):
        refused(target, given)


@pytest.mark.parametrize("name", TARGETS)
def test_time_is_in_proportion_to_the_input(name: str) -> None:
    target = TARGETS[name]
    for word in target.words[:6]:
        is_linear(partial(of_size, target, word), partial(refused, target))
