"""The page that a gate links: it begins with the gate's verdict, and none of its own answers contradicts it."""

import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest

from harness.gate.stored import FILE, stored_check
from tests.harness.conftest import Finished
from tests.harness.gate.conftest import TURN, run_of

Command = Callable[..., Finished]
LIMITS = "schema: 1\nlimits:\n  - {figure: ttfa_ms.p50, at_most: LIMIT}\n"


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """A run of 40 calls answered after 2.5 s, closed."""
    run_of(tmp_path / "run", [TURN] * 40).close()
    return tmp_path / "run"


def check(command: Command, run: Path, text: str, *more: object) -> Finished:
    limits = run.parent / "budgets.yaml"
    limits.write_text(text, encoding="utf-8")
    return command("check", run, "--budgets", limits, *more)


def text_of(page: Path) -> str:
    body = re.sub(r"<(script|style)\b.*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


@pytest.mark.parametrize(("limit_ms", "verdict", "fast"), [(3_000, "pass", "yes"), (1_000, "fail", "no")])
def test_the_page_begins_with_the_gate_and_answers_against_its_limit(
    harness_virtual: Command, finished: Path, limit_ms: int, verdict: str, fast: str
) -> None:
    done = check(harness_virtual, finished, LIMITS.replace("LIMIT", str(limit_ms)))
    assert done.code == {"pass": 0, "fail": 1}[verdict], done.err
    page = text_of(finished / "report.html")
    assert page.index(f"The gate: {verdict} ") < page.index(f"TTFA p50 at most {limit_ms} ms") < page.index("Fast enough")
    assert f"the gate's limit {limit_ms / 1000:g}" in page.replace(",", "").replace(".00", "")
    assert re.search(rf"Fast\b.*\b{fast} 2\.5", page), "the page's own answer is the gate's"
    assert stored_check(finished) is not None


def test_a_page_drawn_later_still_has_the_gate_and_its_budget(harness_virtual: Command, finished: Path) -> None:
    done = check(harness_virtual, finished, LIMITS.replace("LIMIT", "3000") + "budgets_ms: {ttfa: 3000}\n")
    assert done.code == 0, done.err
    first = text_of(finished / "report.html")
    assert harness_virtual("report", finished).code == 0
    assert text_of(finished / "report.html") == first


def test_a_check_of_another_state_of_the_run_decides_no_answer(harness_virtual: Command, finished: Path) -> None:
    assert check(harness_virtual, finished, LIMITS.replace("LIMIT", "3000")).code == 0
    saved = json.loads((finished / FILE).read_text(encoding="utf-8"))
    (finished / FILE).write_text(json.dumps({**saved, "read": [39, 0]}), encoding="utf-8")
    assert harness_virtual("report", finished).code == 0
    page = text_of(finished / "report.html")
    assert "check it again" in page
    assert "the gate's limit" not in page


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": 2}', '{"schema": 1, "verdict": "pass"}'])
def test_a_broken_file_of_a_check_is_as_none(harness_virtual: Command, finished: Path, content: str) -> None:
    (finished / FILE).write_text(content, encoding="utf-8")
    assert harness_virtual("report", finished).code == 0
    assert 'id="gate"' not in (finished / "report.html").read_text(encoding="utf-8")


def test_every_interval_of_a_check_names_its_level(harness_virtual: Command, finished: Path) -> None:
    done = check(harness_virtual, finished, LIMITS.replace("LIMIT", "3000"), "--summary", "gate.md", "--junit", "gate.xml")
    assert "98 % interval" in done.out
    for text in (done.out, Path("gate.md").read_text(encoding="utf-8"), Path("gate.xml").read_text(encoding="utf-8"),
                 text_of(finished / "report.html")):  # fmt: skip
        assert not re.search(r"(?<!% )interval (\d|at most|at least)", text)
    assert check(harness_virtual, finished, LIMITS.replace("LIMIT", "3000"), "--json").json["limits"][0]["level"] == 0.98


def test_a_share_of_pauses_within_its_limit_passes_though_few_conversations_cannot_show_it(
    harness_virtual: Command, finished: Path
) -> None:
    limits = "schema: 1\nlimits:\n  - {figure: cut_in_rate, at_most: 0.05, in_doubt: figure}\n"
    done = check(harness_virtual, finished, limits, "--json")
    assert (done.code, done.json["verdict"], done.json["limits"][0]["by_figure"]) == (0, "pass", True)
    assert done.json["limits"][0]["interval"][1] > 0.05
    refused = check(
        harness_virtual,
        finished,
        LIMITS.replace("ttfa_ms.p50, at_most: LIMIT", '"elo_over.ref:plain", at_least: 0, in_doubt: figure'),
    )
    assert refused.code == 2
    assert "in_doubt" in refused.err
