"""A stored run reads to the same figures, sentences and cautions as ever."""

import json

import pytest

from tests.harness.figures.same_figures import FILE, PARTS, found
from tests.harness.timing.same_method import alike


@pytest.mark.parametrize("part", PARTS)
def test_a_part_gives_what_it_gave(part: str) -> None:
    kept, now = json.loads(FILE.read_text(encoding="utf-8"))[part], found(part)
    assert len(kept) == len(now)
    other = [k for k, (one, two) in enumerate(zip(kept, now, strict=True)) if not alike(one, two, 2e-5)]
    assert other == [], f"case {other[0]}: {json.dumps(now[other[0]])[:2000]}"
