"""The picture of docs/reading-a-report.md can be made again: every part that it numbers is on the first screen of a page."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.reading_picture import HEIGHT, PARTS, PICTURE, WIDTH, number
from harness.reports.html import render
from tests.reports.test_first_screen import PAGES


def test_the_numbers_are_on_the_first_screen_and_those_of_the_list(open_page: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(render(PAGES["people"]()), encoding="utf-8")
    edges = number(open_page(path.as_uri(), width=WIDTH, height=HEIGHT))
    assert len(edges) == len(PARTS)
    assert max(edges) < HEIGHT
    guide = (PICTURE.parents[1] / "reading-a-report.md").read_text(encoding="utf-8")
    assert [int(found) for found in re.findall(r"^(\d+)\. ", guide, re.M)] == list(range(1, len(PARTS) + 1))
    assert f"pictures/{PICTURE.name}" in guide
    assert PICTURE.read_bytes().startswith(b"\x89PNG")
