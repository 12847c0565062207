"""Several runs on one page: what is put together, what is said about it, what is refused."""

import csv
import html
import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.errors import UserError
from harness.figures.rank import rank_target
from harness.figures.summarise import summarise
from harness.reports.assemble import assemble
from harness.reports.board import board
from harness.reports.cautions_shown import cautions
from harness.reports.conditions import conditions
from harness.reports.failures import losses
from harness.reports.several_runs import together
from harness.reports.shown_runs import alone
from harness.reports.view import NOT_JOINT, PageView
from harness.reports.write import write_joint_report
from harness.scenarios.context import Context, Reference
from harness.store.judgment import JudgeCheck, Judgment, Presentation
from harness.store.manifest import AgentEntry, RunManifest
from harness.store.run_store import RunStore
from harness.store.session import SessionKey
from tests.borne_out import AN_OPINION, BORNE_OUT
from tests.judged import put

from .conftest import SECOND_NS, context, timing

Run = Callable[..., RunStore]


def verdicts(
    contexts: Sequence[Context], agents: Iterable[str], judge: str, against: str, presentation: Presentation = "heard_text"
) -> list[Judgment]:
    """Each agent loses to the reference on every third conversation and wins on the rest; the second does worse."""
    return [
        Judgment(
            context=c.id, subset=c.subset, system_a=agent, system_b=against, source="judge", judge=judge,
            winner="b" if n % (3 - k) == 0 else "a", strength=2, presentation=presentation,
        )
        for n, c in enumerate(contexts)
        for k, agent in enumerate(agents)
    ]  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run without sound: `agents` with their TTFA, judged against one reference."""

    def made(
        name: str,
        agents: dict[str, float],
        *,
        first: int = 0,
        contexts: int = 9,
        judge: str | None = "tester@1",
        check: JudgeCheck = BORNE_OUT,
        against: str = "ref:careful",
        reads: Presentation = "heard_text",
        text: str = "I just sat there <pause 400> and said nothing.",
        **manifest: Any,
    ) -> RunStore:
        reference = Reference(id=against.removeprefix("ref:"), author="authored", text=text)
        named = {"references": (reference,)}
        items = [context(n, text).model_copy(update=named) for n in range(first, first + contexts)]
        entries = [AgentEntry(name=a, kind="cascade", profile_hash="h", profile_text="") for a in agents]
        facts: dict[str, Any] = {
            "created": "2030-01-01T00:00:00Z", "harness_version": "0", "pack": "test", "pack_source": "test",
            "pack_hash": "0" * 64, "mode": "seeded", "conditions": ["clean"], "repeats": 1, "seed": 1,
        }  # fmt: skip
        store = RunStore.create(
            tmp_path / name,
            RunManifest(context_ids=[c.id for c in items], agents=entries, **{**facts, **manifest}),
            items,
        )
        for n, item in enumerate(items):
            for agent, ttfa_ms in agents.items():
                key = SessionKey(item.id, "c", agent, "h", "seeded", store.manifest.conditions[0], 0)
                said = " ".join(f"{word}{item.id}" for word in ("I", "am", "here"))  # a reply of its own to every caller
                store.commit_session(
                    key, partial=store.partial_folder(key), written_text=said, started_ns=SECOND_NS * (n + 1),
                    timing=timing(ttfa_ms + n),
                )  # fmt: skip
        if judge is not None:
            put(store, verdicts(items, agents, judge, against, reads))
            store.add_judge_check(check.model_copy(update={"judge": judge}))
        return store

    return made


def page(*stores: RunStore) -> PageView:
    return assemble(together([(store, summarise(store)) for store in stores]), Path("unused"), audio=False)


def page_of_one(store: RunStore) -> PageView:
    return assemble(alone(store, summarise(store)), Path("unused"), audio=False)


def said(view: PageView) -> dict[str, str]:
    return {caution.topic: caution.text for caution in cautions(view)}


def test_agents_of_all_runs_stand_on_one_board_ranked_by_pooled_verdicts(run: Run) -> None:
    one, two = run("one", {"quick": 400.0}), run("two", {"slow": 1_200.0, "late": 3_000.0})
    view = page(one, two)
    assert {agent.name for agent in view.agents} == {"quick", "slow", "late"}
    assert all(agent.whole.rating.elo.value is not None for agent in view.agents)
    assert len(view.contexts) == 9
    assert all(len(c.sessions) == 3 for c in view.contexts)
    assert {row.name for row in board(view)} == {"quick", "slow", "late", "reference “careful”"}
    (reference,) = view.references
    assert reference.ratings["all"].elo.value is not None
    by_name = {a.name: a.whole.rating.elo.value or 0.0 for a in view.agents}
    assert by_name["late"] < by_name["slow"]
    assert NOT_JOINT not in said(view)
    assert not losses(view)


def test_one_agent_in_two_runs_is_two_systems_named_after_their_runs(run: Run) -> None:
    view = page(run("monday", {"quick": 400.0, "only": 500.0}), run("friday", {"quick": 600.0}))
    p50 = {a.name: a.whole.latency("ttfa").p50 for a in view.agents}
    assert set(p50) == {"quick (monday)", "quick (friday)", "only"}
    assert p50["quick (monday)"] == pytest.approx(404)
    assert p50["quick (friday)"] == pytest.approx(604)
    assert {(t.agent, t.run) for c in view.contexts for t in c.sessions} == {
        ("quick (monday)", "monday"), ("quick (friday)", "friday"), ("only", "monday"),
    }  # fmt: skip


def test_a_page_of_one_run_keeps_that_runs_own_figures(run: Run) -> None:
    store = run("one", {"quick": 400.0, "slow": 900.0})
    summary = summarise(store)
    view = assemble(alone(store, summary), Path("unused"), audio=False)
    assert {a.name: a.whole.rating.elo.value for a in view.agents} == {c.agent: c.elo for c in summary.whole}
    assert not view.differences


def test_a_run_that_does_not_say_its_instruction_sets_differs_in_nothing_that_is_known(run: Run) -> None:
    here = {"processor": "small", "cores": 2}
    one = run("one", {"quick": 400.0}, machine=here)
    two = run("two", {"slow": 900.0}, machine={**here, "instruction_sets": "AVX2"})
    view = page(one, two)
    assert "Runs differ: machine" not in said(view)
    assert len(view.machines) == 2
    assert "instruction sets not known; threads of quick: not known" in view.machines[0]
    assert "AVX2" in view.machines[1]
    assert "Local latencies are of small" in conditions(view)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"judge": "another@1"}, "different judges"),
        ({"first": 20}, "No verdict connects one with two"),
        ({"against": "ref:else"}, "No verdict connects one with two"),
    ],
)
def test_without_connecting_verdicts_there_is_no_elo_and_the_page_says_why(run: Run, other: dict[str, Any], words: str) -> None:
    view = page(run("one", {"quick": 400.0}), run("two", {"slow": 900.0}, **other))
    assert all(a.whole.rating.elo.value is None for a in view.agents)
    assert not view.references
    assert words in said(view)[NOT_JOINT]
    assert {a.name: a.whole.latency("ttfa").p50 for a in view.agents} == {"quick": 404.0, "slow": 904.0}


def test_a_judge_that_failed_its_check_in_one_run_ranks_nothing_there(run: Run) -> None:
    one, two = run("one", {"quick": 400.0}), run("two", {"slow": 900.0})
    two.add_judge_check(
        JudgeCheck(
            judge="tester@1",
            family="none",
            pairs=40,
            accuracy=0.4,
            accuracy_interval=(0.3, 0.5),
            flip_rate=0.1,
            trusted=False,
            excluded=True,
        )
    )
    rated = {a.name: a.whole.rating.elo.value is not None for a in page(one, two).agents}
    assert rated == {"quick": True, "slow": False}


def test_a_chain_of_runs_is_connected_through_the_middle_one(run: Run) -> None:
    chain = [run(f"r{n}", {f"agent-{n}": 400.0 + n}, first=6 * n, contexts=9) for n in range(3)]
    assert NOT_JOINT not in said(page(*chain))
    assert NOT_JOINT in said(page(chain[0], chain[2]))


def test_an_unjudged_run_joins_with_latencies_alone(run: Run) -> None:
    view = page(run("one", {"quick": 400.0}), run("two", {"slow": 900.0}, judge=None))
    rated = {a.name: a.whole.rating.elo.value is not None for a in view.agents}
    assert rated == {"quick": True, "slow": False}
    assert "two: none" in said(view)["Runs differ: judges"]


def test_every_difference_between_runs_is_said_and_travels_with_exports(run: Run) -> None:
    view = page(
        run("one", {"quick": 400.0}, machine={"processor": "small", "cores": 2, "instruction_sets": "AVX2"},
            calibration={"ttfa_p95_error_ms": 6.0}),
        run("two", {"slow": 900.0}, machine={"processor": "big", "cores": 64, "instruction_sets": "AVX2, AVX-512"},
            pack_hash="1" * 64, conditions=["g711"], contexts=12, invalid=["pacing p99 9 ms"]),
    )  # fmt: skip
    topics = said(view)
    for what, words in {
        "machine": "Processor: one: small; two: big. Cores: one: 2 cores; two: 64 cores. Instruction sets: one: AVX2; two: ",
        "pack": "two: test 11111111", "line conditions": "two: g711",
        "calibration": "two: not calibrated", "conversations": "9 of 12", "validity": "two",
    }.items():  # fmt: skip
        assert words in topics[f"Runs differ: {what}"]
    assert "two: pacing p99 9 ms" in topics["Invalid"]
    assert view.onset_error is None
    assert "The runs differ in:" in conditions(view)
    assert "machine" in conditions(view)


def test_who_heard_the_replies_is_said_wherever_they_were_heard(run: Run) -> None:
    stores = [run(name, {name: 400.0}, transcriber=by) for name, by in (("one", "an-ear"), ("two", None), ("text", None))]
    for store in stores[:2]:
        for session in store.sessions():
            store.set_heard(session.id, "I am here.", ())
    facts = dict(page(*stores).provenance)
    assert facts["Transcriber (one)"] == "an-ear"
    assert facts["Transcriber (two)"] == "not recorded by the harness that transcribed"
    assert facts["Transcriber (text)"] == "—", "nothing was heard there"
    assert "Runs differ: transcriber" in said(page(*stores))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"text": "Something else entirely."}, "conversation talk-0 has another text than in one"),
        ({"mode": "replay"}, "boards of their own"),
        ({"budgets_ms": {"ttft": 500.0, "ttfa": 900.0}}, "TTFA 900 ms"),
    ],
)
def test_what_cannot_share_a_page_is_refused_in_one_line(run: Run, other: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError) as refused:
        page(run("one", {"quick": 400.0}), run("two", {"slow": 900.0}, **other))
    assert words in str(refused.value)
    assert "report" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_run_named_twice_is_refused_and_folders_of_one_name_are_told_apart(run: Run) -> None:
    one = run("a/run", {"quick": 400.0})
    with pytest.raises(UserError, match="named twice"):
        page(one, one)
    view = page(one, run("b/run", {"quick": 500.0}))
    assert {a.name for a in view.agents} == {"quick (a/run)", "quick (b/run)"}


def test_each_run_is_compared_with_the_baseline_under_its_own_names(run: Run, tmp_path: Path) -> None:
    stores = [run("one", {"quick": 400.0}), run("two", {"quick": 700.0})]
    before = run("before", {"quick": 400.0})
    written = write_joint_report(
        [(s, summarise(s)) for s in stores], tmp_path / "out", baseline=(before, summarise(before)),
        exports=tmp_path / "tables",
    )  # fmt: skip
    text = (tmp_path / "tables" / "summary.md").read_text(encoding="utf-8")
    assert "Regression: quick (two), TTFA" in text
    assert "Regression: quick (one), TTFA" not in text
    with (tmp_path / "tables" / "turns.csv").open(encoding="utf-8", newline="") as lines:
        assert {row["run"] for row in csv.DictReader(lines)} == {"one", "two"}
    assert written.page.name == "report.html"


def test_the_command_takes_several_runs_and_prints_their_figures_together(run: Run, tmp_path: Path) -> None:
    one, two = run("one", {"quick": 400.0}, check=AN_OPINION), run("two", {"slow": 900.0}, check=AN_OPINION)
    told = CliRunner().invoke(app, ["report", str(one.folder), str(two.folder), "--out", str(tmp_path / "p.html"), "--json"])
    assert told.exit_code == 0, told.output
    made = json.loads(told.stdout)
    assert set(made["agents"]) == {"quick", "slow"}
    assert made["report"] == str(tmp_path / "p.html")
    page_text = html.unescape((tmp_path / "p.html").read_text(encoding="utf-8"))
    assert {"weak_judge", "no_p95", "not_calibrated"} <= {caution["code"] for caution in made["cautions"]}
    assert all(f"{caution['topic']}.</strong> <bdi>{caution['text']}" in page_text for caution in made["cautions"])
    assert not (one.folder / "summary.json").exists()


def test_a_run_judged_as_written_has_the_same_board_at_every_door(run: Run, tmp_path: Path) -> None:
    store = run("one", {"quick": 400.0, "slow": 900.0}, reads="written")
    found = rank_target(store.folder).board
    expected = {row.system: row.elo for row in found.systems}
    assert found.presentation == "written"
    summary = summarise(store)
    assert {cell.agent: cell.elo for cell in summary.whole} == {name: expected[name] for name in ("quick", "slow")}
    assert {name: found.elo for name, found in summary.references.items()} == {"ref:careful": expected["ref:careful"]}
    assert summary.judges[0].judgments == found.judgments
    (said_so,) = [caution for caution in summary.cautions if caution.code == "presentation"]
    assert "and not what was heard" in said_so.text
    view = page(store)
    assert {agent.name: agent.whole.rating.elo.value for agent in view.agents} == {n: expected[n] for n in ("quick", "slow")}
    assert [r.ratings["all"].elo.value for r in view.references] == [expected["ref:careful"]]
    assert view.agents[0].whole.cell.p_best_within_budget == summary.whole[0].p_best_within_budget is not None
    assert view.agents[0].against["ref:careful"].verdicts == 9
    told = CliRunner().invoke(app, ["report", str(store.folder), "--export", str(tmp_path / "out")])
    assert told.exit_code == 0, told.output
    assert f"{expected['quick']:.0f}" in told.output
    with (tmp_path / "out" / "systems.csv").open(encoding="utf-8", newline="") as lines:
        rows = {row["system"]: row for row in csv.DictReader(lines) if row["subset"] == "all"}
    assert float(rows["quick"]["elo"]) == pytest.approx(expected["quick"], abs=1e-3)


def test_runs_judged_as_written_are_ranked_together_and_never_with_one_judged_as_heard(run: Run) -> None:
    one, two = run("one", {"quick": 400.0}, reads="written"), run("two", {"slow": 900.0}, reads="written")
    alike = page(one, two, run("unjudged", {"mute": 600.0}, judge=None))
    assert all(a.whole.rating.elo.value is not None for a in alike.agents if a.name != "mute")
    assert [a.whole.latency("ttfa").n for a in alike.agents] == [9, 9, 9]
    heard = page(one, run("three", {"late": 900.0}))
    assert all(agent.whole.rating.elo.value is None for agent in heard.agents)
    assert "one was judged on written, and the page is of heard_text" in said(heard)[NOT_JOINT]


def test_a_judge_that_hears_has_a_board_of_its_own_beside_the_quoted_one(run: Run) -> None:
    store = run("one", {"quick": 400.0}, reads="written")
    alone = summarise(store).whole[0].elo
    put(store, verdicts(list(store.contexts()), ["quick"], "tester@1", "ref:careful", "audio"))
    summary = summarise(store)
    assert alone is not None
    assert (summary.quoted("clean"), summary.whole[0].elo) == ("written", alone)
    assert {board.presentation for board in summary.boards} == {"written", "audio"}


def test_a_board_that_holds_the_delay_is_never_quoted_beside_it(run: Run) -> None:
    summary = summarise(run("one", {"quick": 400.0}, reads="audio_with_delay"))
    assert summary.whole[0].elo is None
    assert {board.presentation for board in summary.boards} == {"audio_with_delay"}


def _votes(store: RunStore, agents: Sequence[str], against: str, rate: float | None = 1.0) -> None:
    rows = verdicts(store.contexts(), agents, "human:ada", against)
    put(store, (row.model_copy(update={"source": "human", "condition": "clean", "draw_rate": rate}) for row in rows))


def test_votes_on_all_runs_give_one_axis_of_people_though_their_judges_differ(run: Run) -> None:
    one, two = run("one", {"quick": 400.0}), run("two", {"slow": 1_200.0, "late": 3_000.0}, judge="other@1")
    assert NOT_JOINT in said(page(one, two))
    _votes(one, ["quick"], "ref:careful")
    _votes(two, ["slow", "late"], "ref:careful")
    view = page(one, two)
    assert NOT_JOINT not in said(view)
    assert {agent.whole.cell.quality_state for agent in view.agents} == {"people"}
    assert all(agent.whole.cell.p_frontier is not None for agent in view.agents)
    assert view.quality[0].startswith("Quality is people's: 27 votes by 1 person")


def test_votes_on_one_run_leave_a_page_of_two_to_its_judges_and_say_so(run: Run) -> None:
    one, two = run("one", {"quick": 400.0}), run("two", {"slow": 1_200.0}, check=AN_OPINION)
    _votes(one, ["quick"], "ref:careful")
    view = page(one, two)
    assert {agent.whole.cell.quality_state for agent in view.agents} == {"opinion"}
    assert {agent.whole.cell.p_frontier for agent in view.agents} == {None}
    assert view.quality[1].startswith("No people's ratings yet: nobody voted on a pair with slow")


def test_a_run_that_nobody_judged_says_the_way_to_peoples_ratings_or_why_there_is_none_yet(run: Run) -> None:
    judged_by_nobody, why, *way = page_of_one(run("nine", {"quick": 400.0, "slow": 900.0}, judge=None)).quality
    assert judged_by_nobody == "Quality is not known: nothing was judged."
    assert "no better than counting words" in why
    assert "harness listen" in way[0]
    assert re.search(r"7 votes, about \d+ minutes?, say which of the two is preferred .* ± \d+ Elo takes \d+", way[0])
    few = run("four", {"quick": 400.0, "slow": 900.0}, judge=None, contexts=4)
    assert page_of_one(few).quality[2].startswith("People's answer needs 6 conversations ")


def test_a_run_whose_only_judge_failed_its_check_says_so(run: Run) -> None:
    failed = AN_OPINION.model_copy(update={"excluded": True, "accuracy": 0.4, "accuracy_interval": (0.3, 0.5)})
    state, way = page_of_one(run("one", {"quick": 400.0, "slow": 900.0}, check=failed)).quality
    assert state == "Quality is not known: tester@1 failed its check on pairs with known answers."
    assert "harness listen" in way


def test_a_page_of_several_runs_says_in_each_state_how_its_ratings_become_peoples(run: Run) -> None:
    one, two = run("one", {"quick": 400.0}), run("two", {"slow": 1_200.0}, check=AN_OPINION)
    way = (
        "For people's own ratings vote on {} on replies to read, or run harness listen RUN --medium text: "
        "reference replies connect the runs, and have no sound."
    )
    both = way.format("the pages of one and two")
    state, *more = page(one, two).quality
    assert state.startswith("Quality is a judge's opinion")
    assert more == [both]
    borne_out = page(one, run("three", {"late": 3_000.0})).quality
    assert borne_out[0].startswith("Quality is a judge's, borne out")
    assert borne_out[1:] == (way.format("the pages of one and three"),)
    apart = page(one, run("four", {"late": 3_000.0}, judge="other@1")).quality
    assert apart == ("Quality is not known: these runs have no ranking in common.", way.format("the pages of one and four"))
    nobody, why, its_way = page(*(run(name, {name: 400.0}, judge=None) for name in ("five", "six"))).quality
    assert nobody == "Quality is not known: nothing was judged."
    assert "no better than counting words" in why
    assert its_way == way.format("the pages of five and six")
    _votes(one, ["quick"], "ref:careful")
    assert page(one, two).quality[-1] == way.format("the page of two")
    _votes(two, ["slow"], "ref:careful")
    (peoples,) = page(one, two).quality
    assert peoples.startswith("Quality is people's")


def test_a_page_of_runs_that_no_vote_can_rate_together_says_so_in_place_of_the_way(run: Run) -> None:
    few = page(*(run(name, {name: 400.0}, contexts=4) for name in ("one", "two")))
    assert few.quality[-1] == "People's ratings need 8 conversations, and these runs have 4 conversations."
    apart = page(run("three", {"quick": 400.0}), run("four", {"late": 3_000.0}, against="ref:other", judge=None))
    assert apart.quality[-1] == "People's votes cannot rate three and four together: they have no reference reply in common."


def test_a_reference_of_the_same_name_to_other_conversations_connects_no_votes(run: Run) -> None:
    one, two = run("one", {"quick": 400.0}, judge=None), run("two", {"slow": 900.0}, judge=None, first=20)
    for store, agent in ((one, "quick"), (two, "slow")):
        _votes(store, [agent], "ref:careful")
    view = page(one, two)
    assert {agent.whole.cell.elo for agent in view.agents} == {None}
    assert view.quality[-1] == "People's votes cannot rate one and two together: they have no reference reply in common."


@pytest.mark.parametrize("on_reference", [0, 2])
def test_an_agent_that_people_always_prefer_has_its_bound_at_every_door(run: Run, on_reference: int) -> None:
    """Also where a reference was met too seldom to place it."""
    store = run("one", {"kind": 400.0, "curt": 500.0}, contexts=12, judge=None)
    contexts = list(store.contexts())
    met = [("kind", "curt", c) for c in contexts] + [("kind", "ref:careful", c) for c in contexts[:on_reference]]
    put(
        store,
        [
            Judgment(
                context=c.id, subset=c.subset, system_a=one, system_b=other, source="human", judge="ida", winner="a",
                presentation="heard_text", condition="clean", draw_rate=1.0,
            )
            for one, other, c in met
        ],
    )  # fmt: skip
    cells = {cell.agent: cell for cell in summarise(store).whole}
    # ½ logit(0.05^(1/12)) in Elo, from the middle of the two.
    ends = [None if end is None else round(end) for name in ("kind", "curt") for end in cells[name].elo_interval or ()]
    assert ends == [1609, None, None, 1391]
    printed = CliRunner().invoke(app, ["rank", str(store.folder)]).output
    assert "≥ 1609" in printed
    assert "≤ 1391" in printed
