"""Which of two agents people prefer, from a file of votes on a run, through every door that shows it.

The votes are the test's own: a simulation, of nobody.
"""

import csv
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

import harness
from tests.harness.conftest import Finished
from tests.made_run import agent, conversation, made_run, play

KIND, CURT, BOT = "kind-bot", "curt-bot", "third-bot"
Vote = tuple[str, str, str]
"""(the better, the other, rater)."""


def run_with_votes(
    here: Callable[..., Finished],
    tmp_path: Path,
    votes: Sequence[Vote],
    *,
    conversations: int = 8,
    agents: Sequence[str] = (KIND, CURT),
) -> Path:
    """A run with votes from a file; vote k is on conversation k, and then from the first again."""
    items = [
        conversation(f"c{n}", f"Day {n} went badly.", references={"good": "What was worst?"}) for n in range(conversations)
    ]
    folder = tmp_path / "run"
    with closing(made_run(folder, items, agents=[agent(name, "text") for name in agents])) as store:
        for item in items:
            for name in agents:
                play(store, item.id, name, heard=f"{name} says this")
    path = tmp_path / "votes.csv"
    with path.open("w", encoding="utf-8", newline="") as text:
        lines = csv.writer(text)
        lines.writerow(("context", "subset", "system_a", "system_b", "rater", "vote", "seconds", "presentation", "draw_rate"))
        for k, (one, other, rater) in enumerate(votes):
            lines.writerow((f"c{k % conversations}", "regular", one, other, rater, "a_much", 30, "heard_text", 1))
    if votes:
        assert here("add-votes", folder, "--add", path).code == 0
    return folder


def checked(here: Callable[..., Finished], run: Path, limits: str) -> Finished:
    (run.parent / "budgets.yaml").write_text(f"schema: 1\nlimits:\n  - {limits}\n", encoding="utf-8")
    return here("check", run, "--budgets", "budgets.yaml", "--json")


TEN_VOTES = [*[(KIND, CURT, "ann")] * 8, (KIND, "ref:good", "ann"), ("ref:good", CURT, "ann")]


def test_a_rating_of_one_that_won_everything_is_a_bound(harness_here: Callable[..., Finished], tmp_path: Path) -> None:
    run = run_with_votes(harness_here, tmp_path, TEN_VOTES)
    cells = harness_here("report", run, "--json").json["agents"]
    kind, curt = (cells[name]["elo_interval"] for name in (KIND, CURT))
    assert (kind[0] > 1_500, kind[1], curt[0], curt[1] < 1_500) == (True, None, None, True)
    for told in (harness_here("report", run, "--verbose").out, harness_here("rank", run).out):
        assert f"≥ {kind[0]:.0f}" in told


def test_seven_votes_of_one_rater_answer_at_every_door(harness_here: Callable[..., Finished], tmp_path: Path) -> None:
    """A rating needs eight conversations, so there is none."""
    run = run_with_votes(harness_here, tmp_path, [(KIND, CURT, "ann")] * 7, conversations=7)
    found = harness_here("report", run, "--json").json
    (row,) = found["head_to_head"]
    assert (row["agent"], row["over"], row["preferred"], row["conversations"]) == (KIND, CURT, 7, 7)
    assert 0.6 < row["at_least"] < 0.7
    assert row["whose"].endswith("ann")
    assert all(part in row["in_words"] for part in (KIND, "7 of 7", "65 %", "one rater"))
    assert [found["agents"][name]["elo"] for name in (KIND, CURT)] == [None, None]
    assert harness_here("rank", run, "--json").json["head_to_head"] == [row]
    assert harness_here("rank", run, "--people", "--json").json["head_to_head"] == [row]
    for told in (harness_here("rank", run).out, harness_here("report", run, "--verbose").out):
        assert row["in_words"] in told
        assert "Quality is not known" not in told
    joint = harness_here("report", run, run_with_votes(harness_here, tmp_path / "other", []), "--json").json
    (shown,) = joint["head_to_head"]
    assert {shown["agent"], shown["over"]} < set(joint["agents"]), "under their names on the page of several runs"
    assert shown["agent"] in shown["in_words"]
    page = (run / "report.html").read_text(encoding="utf-8")
    first_screen = page[page.index('id="verdict"') : page.index('id="answers"')]
    assert row["in_words"] in first_screen
    with harness.load_run(run) as opened:
        assert opened.summary.head_to_head[0].at_least == row["at_least"]
    (of_library,) = harness.rank_judgments(run).head_to_head
    assert (of_library.at_least, of_library.is_apart) == (row["at_least"], True)


@pytest.mark.parametrize(
    ("votes", "limit", "code", "verdict"),
    [
        (16, "at_least: 0.5", 0, "pass"),
        (8, "at_least: 0.6", 4, "cannot tell"),
        (0, "at_least: 0.5", 4, "cannot tell"),
        (0, "at_least: 0.5, missing: ignore", 4, "ignored"),
    ],
)
def test_the_gate_decides_by_votes_on_the_two_alone(
    harness_here: Callable[..., Finished], tmp_path: Path, votes: int, limit: str, code: int, verdict: str
) -> None:
    run = run_with_votes(harness_here, tmp_path, [(KIND, CURT, "ann")] * votes, conversations=16)
    nested = f"{{agent: {KIND}, preferred_over: {{agent: {CURT}, {limit}}}}}"
    for written in (nested, f"{{figure: preferred_over.{CURT}, {limit}}}"):
        done = checked(harness_here, run, written)
        (told,) = done.json["limits"]
        assert (done.code, told["agent"], told["figure"], told["verdict"]) == (code, KIND, f"preferred_over.{CURT}", verdict)
        assert told["more_needed"] is None


def test_votes_that_disagree_are_said_with_the_votes_that_would_tell(
    harness_here: Callable[..., Finished], tmp_path: Path
) -> None:
    run = run_with_votes(harness_here, tmp_path, [(KIND, CURT, "ann"), (CURT, KIND, "ann")] * 4)
    told = harness_here("report", run, "--verbose").out
    assert "Quality is people's" in told
    assert "4 of 8 conversations: not apart" in told
    assert "8 votes on them are given" in told


def test_the_one_that_loses_fails_a_limit(harness_here: Callable[..., Finished], tmp_path: Path) -> None:
    run = run_with_votes(harness_here, tmp_path, [(KIND, CURT, "ann")] * 16, conversations=16)
    done = checked(harness_here, run, f"{{agent: {CURT}, preferred_over: {{agent: {KIND}, at_least: 0.5}}}}")
    (told,) = done.json["limits"]
    assert (done.code, told["verdict"], told["value"]) == (1, "fail", 0.0)


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("{agent: kind-bot, preferred_over: {agent: nobody, at_least: 0.6}}", "no other agent 'nobody'"),
        ("{agent: kind-bot, preferred_over: {agent: kind-bot, at_least: 0.6}}", "no other agent 'kind-bot'"),
        ("{agent: kind-bot, preferred_over: {agent: curt-bot, at_least: 1}}", "at_least 1"),
        ("{agent: kind-bot, preferred_over: {agent: curt-bot}}", "names none"),
        ("{agent: kind-bot, preferred_over: {agent: curt-bot, worse_than_baseline_by: 0.1}}", "no baseline"),
        ("{agent: kind-bot, preferred_over: {over: curt-bot, at_least: 0.6}}", "over is no setting"),
        ("{figure: elo, preferred_over: {agent: curt-bot, at_least: 0.6}}", "preferred_over is no setting"),
    ],
)
def test_a_limit_that_no_run_could_meet_is_refused(
    harness_here: Callable[..., Finished], tmp_path: Path, limit: str, said: str
) -> None:
    done = checked(harness_here, run_with_votes(harness_here, tmp_path, []), limit)
    assert (done.code, said in done.out + done.err) == (2, True), done.out + done.err


def test_of_three_agents_each_two_are_compared_and_named(harness_here: Callable[..., Finished], tmp_path: Path) -> None:
    pairs = [(KIND, CURT), (KIND, BOT), (BOT, CURT)]
    votes = [(one, other, "ann") for one, other in pairs for _ in range(8)]
    run = run_with_votes(harness_here, tmp_path, votes, agents=(KIND, CURT, BOT))
    rows = harness_here("report", run, "--json").json["head_to_head"]
    assert {(row["agent"], row["over"]) for row in rows} == set(pairs)
    assert {row["compared"] for row in rows} == {3}
    assert all(row["agent"] in row["in_words"] and row["over"] in row["in_words"] for row in rows)
    alone = run_with_votes(harness_here, (tmp_path / "two"), [(KIND, CURT, "ann")] * 8)
    (only,) = harness_here("report", alone, "--json").json["head_to_head"]
    assert all(row["at_least"] < only["at_least"] for row in rows)
