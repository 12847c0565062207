"""What changed since another run."""

from dataclasses import replace

from harness.reports.baseline import compare
from harness.reports.markdown import markdown
from harness.reports.view import JudgmentView, PageView
from tests.reports.invented import in_state, invented_view


def silent(view: PageView, agent: str) -> PageView:
    """The same run in which one agent never replies."""
    contexts = tuple(
        replace(c, turns=tuple(replace(t, no_reply=True) if t.agent == agent else t for t in c.turns)) for c in view.contexts
    )
    return replace(view, contexts=contexts)


def test_silence_is_a_regression_and_stands_first() -> None:
    before = invented_view(agents=2, contexts=12)
    found = compare(silent(before, "invented-b"), before)
    first = found.changes[0]
    assert (first.agent, first.figure, first.verdict, first.after) == ("invented-b", "No reply", "worse", "100 %")
    assert {c.verdict for c in found.changes if c.agent == "invented-a"} == {"unclear"}


def test_replies_again_are_an_improvement_and_stand_last() -> None:
    before = invented_view(agents=2, contexts=12)
    last = compare(before, silent(before, "invented-a")).changes[-1]
    assert (last.agent, last.verdict) == ("invented-a", "better")


def test_under_eight_conversations_nothing_is_called_a_change() -> None:
    before = invented_view(agents=2, contexts=6)
    found = compare(silent(before, "invented-a"), before)
    assert {change.verdict for change in found.changes} == {"unclear"}


def test_what_cannot_be_compared_is_said() -> None:
    before = invented_view(names=("old", "both"), contexts=9)
    now = invented_view(names=("both", "new"), contexts=12)
    found = compare(now, before)
    assert {change.agent for change in found.changes} == {"both"}
    said = " ".join(found.missing)
    assert "new" in said
    assert "old" in said
    assert "9 of 12" in said


def test_verdicts_of_different_judges_are_not_compared() -> None:
    before = invented_view(agents=2, contexts=12)
    other = replace(
        before,
        contexts=tuple(replace(c, judgments=tuple(replace(j, judge="other@1") for j in c.judgments)) for c in before.contexts),
    )
    assert "Preferred to references" in {c.figure for c in compare(before, before).changes}
    assert "Preferred to references" not in {c.figure for c in compare(other, before).changes}


def test_an_opinion_makes_no_difference_count_and_its_figure_says_so() -> None:
    before = invented_view(agents=2, contexts=40)
    lost = [
        replace(c, judgments=tuple(replace(row, winner="b" if row.system_a == "invented-a" else "a") for row in c.judgments))
        for c in before.contexts
    ]
    now = replace(before, contexts=tuple(lost))
    sure = {c.figure: c.verdict for c in compare(now, before).changes if c.agent == "invented-a"}
    assert sure["Preferred to references"] == "worse"
    found = {c.figure: c.verdict for c in compare(in_state(now, "opinion"), before).changes if c.agent == "invented-a"}
    assert found["Preferred to references (a judge's opinion)"] == "unclear"


def test_where_quality_is_peoples_their_votes_are_compared_and_no_verdict_of_a_judge() -> None:
    before = in_state(invented_view(agents=2, contexts=40), "people")

    def with_votes(view: PageView, winner: str) -> PageView:
        """The same view, and one person's vote on each pair: `invented-a` wins, or not."""

        def voted(row: JudgmentView) -> JudgmentView:
            mine = "a" if row.system_a == "invented-a" else "b"
            return replace(row, judge="ada", human=True, winner=mine if winner == "mine" else "ab"[mine == "a"])

        rows = {c.id: (*c.judgments, *map(voted, c.judgments)) for c in view.contexts}
        return replace(view, contexts=tuple(replace(c, judgments=rows[c.id]) for c in view.contexts))

    def preferred(now: PageView, then: PageView) -> dict[str, str]:
        changes = compare(now, then).changes
        return {c.figure: c.verdict for c in changes if c.agent == "invented-a" and c.figure.startswith("Preferred")}

    won, lost = with_votes(before, "mine"), with_votes(before, "theirs")
    assert preferred(lost, won) == {"Preferred to references": "worse"}
    (change,) = (c for c in compare(lost, won).changes if c.agent == "invented-a" and c.figure.startswith("Preferred"))
    assert (change.before, change.after) == ("100 %", "0 %")
    both = with_votes(in_state(before, "borne_out"), "theirs")
    assert preferred(both, won) == {"Preferred to references (people's in one run alone)": "unclear"}


def test_the_summary_for_a_pull_request_names_the_regression() -> None:
    before = invented_view(agents=2, contexts=12)
    now = silent(before, "invented-b")
    text = markdown(replace(now, baseline=compare(now, before)))
    assert "- Regression: invented-b, No reply" in text


def test_verdicts_of_a_judge_that_failed_its_check_change_nothing() -> None:
    before = invented_view(agents=2, contexts=12)
    failed = [
        replace(c, judgments=(*c.judgments, *(replace(row, judge="bad", winner="b", counts=False) for row in c.judgments)))
        for c in before.contexts
    ]
    found = compare(replace(before, contexts=tuple(failed)), before)
    assert found.changes == compare(before, before).changes
    assert not any("different judges" in said for said in found.missing)
