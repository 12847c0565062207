"""The title of a page, and the date of it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.figures.summary import RunSummary
from harness.reports.head import next_step, title
from harness.reports.html import render
from harness.reports.write import write_joint_report
from harness.store.run_store import RunStore
from tests.reports.conftest import HOSTILE
from tests.reports.invented import in_state, invented_view, not_to_be_quoted


@pytest.mark.parametrize(
    ("agents", "more", "said"),
    [
        (["echo-bot"], {}, "echo-bot on heart-mini"),
        (["echo-bot", "kind-bot"], {}, "echo-bot and kind-bot on heart-mini"),
        (["a", "b", "c"], {}, "a, b and c on heart-mini"),
        (["a", "b", "c", "d"], {}, "4 agents on heart-mini"),
        (["a-name-of-thirty-three-letters-or", "another-of-thirty-three-letters-o"], {}, "2 agents on heart-mini"),
        (["a", "a"], {"runs": 2}, "a on heart-mini, 2 runs"),
        (["agent"], {"calls": True}, "agent in recorded calls"),
        ([], {"people": True}, "People on heart-mini"),
        (["a"], {"people": True}, "a beside people on heart-mini"),
    ],
)  # fmt: skip
def test_a_title_says_who_answered_what(agents: list[str], more: dict[str, Any], said: str) -> None:
    assert title(agents, ["heart-mini", "heart-mini"], **more) == said


def test_a_page_of_a_run_on_disk_has_no_folders_name_in_its_title_and_a_date_that_people_read(
    played: Callable[..., tuple[RunStore, RunSummary]], open_page: Callable[..., Any], tmp_path: Path
) -> None:
    store, summary = played(contexts=1)
    page = open_page(write_joint_report([(store, summary)], tmp_path / "run").page.as_uri())
    assert page.locator("h1").inner_text() == "quick and slow on test"
    assert page.title().startswith("quick and slow on test")
    head = page.locator("body > header").inner_text()
    assert "1 January 2030, 00:00 UTC" in head
    assert "2030-01-01T" not in page.locator("body").inner_text()


def test_the_next_step_has_its_command_apart(open_page: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(render(in_state(invented_view(agents=2), "opinion")), encoding="utf-8")
    following = open_page(path.as_uri()).locator(".lede li").last
    assert following.locator("code").inner_text() == "harness listen runs/invented"
    assert "24 votes, about 12 minutes, say which of each two is preferred" in following.inner_text()
    assert next_step(not_to_be_quoted(invented_view(agents=2)))[1] == "harness doctor"
    assert next_step(replace(invented_view(agents=2), ways=("It needs 6 conversations.",))) == (
        "It needs 6 conversations.",
        "",
        "",
    )


def test_a_hostile_name_is_text_in_the_title(open_page: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(render(invented_view(contexts=1, names=[HOSTILE])), encoding="utf-8")
    page = open_page(path.as_uri())
    assert page.locator("h1 bdi").inner_text().startswith("</script><script>")
    assert page.title() != "owned"
    assert page.locator("img").count() == 0
