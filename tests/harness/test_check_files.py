"""What a check writes for other programs, with names that were made to break out of it."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from harness.commands.check_files import junit, summary
from harness.gate.budgets import CellLimit, Limit
from harness.gate.check import Checked, CheckResult
from harness.gate.decide import Decision, Verdict
from harness.gate.words import reason, sentences, shown_value
from harness.store.unspoken import OURS

HOSTILE = "<script>alert(1)</script> ]]> & \"'|` [x](http://evil) @team \x1b[2J \x00 \ud800"


def checked(verdict: Verdict, name: str = HOSTILE) -> Checked:
    limit = Limit(figure="ttfa_ms.p95", at_most=500.0)
    decision = Decision(verdict, 480.0, (450.0, float("inf")), 0.01, 12 if verdict == "cannot tell" else None)
    return Checked(CellLimit(limit=limit, agent=name, condition=name), verdict, decision)


@pytest.fixture
def result() -> CheckResult:
    found = tuple(checked(v) for v in ("pass", "fail", "cannot tell"))
    return CheckResult(Path("run"), "fail", found, (), contexts=40, look=None)


def test_junit_is_read_by_an_xml_parser_and_holds_every_verdict(result: CheckResult) -> None:
    suite = ElementTree.fromstring(junit(result, Path("run/report.html"))).find("testsuite")
    assert suite is not None
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped", "errors")} == {
        "tests": "3", "failures": "1", "skipped": "1", "errors": "0",
    }  # fmt: skip
    cases = suite.findall("testcase")
    assert [[child.tag for child in case] for case in cases] == [["system-out"], ["failure"], ["skipped"]]
    assert "<script>alert(1)</script> ]]> &" in (cases[0].get("classname") or ""), "as text, and whole"
    assert "outside the limit" in (cases[1][0].get("message") or ""), "the words of the terminal, whichever side the limit has"
    assert "12 more conversations" in (cases[2][0].get("message") or "")
    assert "run/report.html" in (suite.findtext("system-out") or "")


def test_an_invalid_run_fails_nothing_and_says_who_was_at_fault() -> None:
    limit = replace(checked("cannot tell", "a"), invalid=True)
    result = CheckResult(Path("run"), "cannot tell", (limit,), ("late ]]> frames",), contexts=9, look=None)
    suite = ElementTree.fromstring(junit(result, None)).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "0", "2")
    said = " ".join(case.get("message", "") for case in suite.iter("skipped"))
    assert "late ]]> frames" in said
    assert "no fault of the agent" in reason(limit)
    lines = sentences(result)
    assert "INVALID: late ]]> frames." in lines
    assert any("not the agent" in line and "--minutes" in line for line in lines)


def test_markdown_keeps_its_table_and_gives_names_no_power(result: CheckResult) -> None:
    text = summary(result, Path("run/report.html"))
    assert "<script" not in text
    assert "](http" not in text
    assert " @team" not in text
    assert "\x1b" not in text
    text.encode("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {7}
    assert "fail" in text.splitlines()[0]


SHOWN = "480 ms, 98 % interval at least 450 ms"


@pytest.mark.parametrize(
    ("verdict", "more", "says"),
    [
        ("pass", {}, f"within the limit ({SHOWN})."),
        ("fail", {}, f"outside the limit ({SHOWN})."),
        ("pass", {"in_spite_of_disturbance": True}, "is within the limit, whatever"),
        ("fail", {"in_spite_of_disturbance": True}, "is outside the limit, whatever"),
        ("cannot tell", {}, f"contains the limit ({SHOWN}); about 12 more conversations"),
        ("cannot tell", {"speakers": 3}, "3 speakers: under 8 there is no interval"),
        ("cannot tell", {"speakers": 8}, "about 12 more conversations of new speakers"),
        ("cannot tell", {"why": "Others hold it."}, "Others hold it (480 ms, 98 % interval at least 450 ms)."),
        ("cannot tell", {"undecided": "Nobody voted"}, "Nobody voted: it decides nothing (480 ms"),
        ("cannot tell", {"invalid": True}, "decides nothing (measured: 480 ms)."),
        ("cannot tell", {"decision": None}, "and the budgets file has missing: "),
        ("cannot tell", {"decision": None, "why": "No step"}, "No step."),
        ("pass", {"note": "A filler came first"}, ". A filler came first."),
        ("pass", {"unspoken": {"no reply": 2}}, "). Planned turns that were never spoken: 2 "),
        ("cannot tell", {"unspoken": {OURS: 2}}, "; so its figure decides nothing (measured: 480 ms)."),
    ],
)
def test_the_reason_of_each_verdict_has_its_figure(verdict: Verdict, more: dict[str, Any], says: str) -> None:
    found = replace(checked(verdict, "a"), **more)
    assert says in reason(found)
    assert reason(found).endswith(".")


@pytest.mark.parametrize(
    ("figure", "value", "shown"),
    [
        ("ttfa_ms.p50", 480.4, "480 ms"),
        ("ttfa_ms.p50", float("inf"), "> 15 s"),
        ("ttfa_ms.p50", float("-inf"), "—"),
        ("cut_in_rate", 0.125, "12.5 %"),
        ("cut_in_rate", float("inf"), "—"),
    ],
)
def test_a_figure_has_its_unit(figure: str, value: float, shown: str) -> None:
    assert shown_value(figure, value) == shown


def test_the_page_and_the_sound_are_named_where_they_are(result: CheckResult) -> None:
    bare, whole = summary(result, None), summary(replace(result, sound=Path("s")), Path("p"))
    assert "Page: " not in bare
    assert whole.endswith("Page: p; sound: s\n")
    (cell,) = [line for line in bare.splitlines() if line.startswith("| ✅")]
    assert "| 480 ms | 98 % interval at least 450 ms |" in cell
