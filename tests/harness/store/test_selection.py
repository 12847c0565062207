"""One home for what counts: distinct replies and timings for each condition and repeat, so that no mix-up can hide."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import get_args

import pytest

from harness.figures.rank import measured
from harness.figures.summarise import summarise
from harness.ranking.board_rows import of_one_board
from harness.store.judgment import JudgeCheck, Judgment, Presentation
from harness.store.run_store import RunStore
from harness.store.selection import (
    HEARD,
    MACHINES_DIFFER,
    NOT_TIMED,
    Selection,
    is_agents_fault,
    quoted_presentation,
    reply_of,
)
from harness.timing.figures import Contention, TurnTiming
from harness.verdicts.batches import competitors
from tests.judged import put
from tests.made_run import agent, conversation, made_run, play

CONDITIONS = ("telephone", "clean")
TIMED = TurnTiming(method="m", spoken_end_ms=1000.0, ttfa_ms=None)
Play = Callable[..., None]


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    contexts = [conversation(name, references={"good": "That sounds hard."}) for name in ("one", "two")]
    made = made_run(tmp_path / "run", contexts, "left", "right", conditions=list(CONDITIONS), repeats=2)
    for name, at, condition, repeat in product(("left", "right"), range(2), CONDITIONS, range(2)):
        _play(made, contexts[at].id, name, condition, repeat, _ttfa_ms(name, at, condition, repeat))
    return made


def _ttfa_ms(agent: str, context: int, condition: str, repeat: int) -> float:
    """A figure that no other session has."""
    return 100.0 + 1000 * (condition == "telephone") + 200 * (agent == "right") + 20 * context + repeat


def _play(
    store: RunStore, context: str, agent: str, condition: str, repeat: int, ttfa_ms: float | None, failure: str | None = None
) -> None:
    timing = None if failure else replace(TIMED, ttfa_ms=ttfa_ms, no_reply=ttfa_ms is None)
    heard = None if failure else "" if ttfa_ms is None else f"{agent} on {context}, {condition}, {repeat}"
    play(store, context, agent, condition, repeat, heard=heard, timing=timing, failure_kind=failure)


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("repeat", [0, 1])
def test_judges_read_the_very_replies_that_the_latency_is_of(store: RunStore, condition: str, repeat: int) -> None:
    read = {(c.context_id, c.system): c.text for c in competitors(Selection(store), condition, repeat, HEARD)}
    assert read == {(c, a): f"{a} on {c}, {condition}, {repeat}" for c in ("one", "two") for a in ("left", "right")}
    found = measured(Selection(store), condition, HEARD)
    assert found.latencies["ttfa"]["right"]["two"][repeat] == _ttfa_ms("right", 1, condition, repeat)
    assert found.texts["two", "right", repeat] == read["two", "right"]
    assert found.texts["two", "ref:good", repeat] == "That sounds hard."


def test_each_condition_has_a_cell_of_its_own_and_the_agent_none(store: RunStore) -> None:
    summary = summarise(store)
    assert [(c.agent, c.condition) for c in summary.whole] == [(a, c) for c in CONDITIONS for a in ("left", "right")]
    p50 = {(c.agent, c.condition): c.ttfa_ms.p50 for c in summary.whole}
    assert p50["left", "clean"] == 110.5
    assert p50["left", "telephone"] == 1110.5
    assert summary.agents["left"]["ttfa_ms"] is None
    assert summary.agents["left"]["kind"] == "cascade"


@pytest.mark.parametrize("failure", [None, "agent_died", "refused", "closed_early"])
def test_a_silent_or_failing_cell_loses_on_both_axes_and_the_other_is_untouched(store: RunStore, failure: str | None) -> None:
    before = summarise(store)
    for context in ("one", "two"):
        for repeat in range(2):
            _play(store, context, "left", "telephone", repeat, None, failure)
    after = summarise(store)
    cells = {(c.agent, c.condition): c for c in after.whole}
    assert cells["left", "telephone"].ttfa_ms.p50_over_limit
    assert cells["left", "telephone"].within_budget.ttfa == 0.0
    untouched = [c for c in after.whole if (c.agent, c.condition) != ("left", "telephone")]
    assert untouched == [c for c in before.whole if (c.agent, c.condition) != ("left", "telephone")]
    lost = [c for c in competitors(Selection(store), "telephone", 0, HEARD) if c.lost]
    assert {(c.context_id, c.system) for c in lost} == {("one", "left"), ("two", "left")}


@pytest.mark.parametrize("failure", ["caller_died", "caller_error", "defect", "something new"])
def test_a_fault_of_the_harness_is_missing_and_costs_the_agent_nothing(store: RunStore, failure: str) -> None:
    _play(store, "one", "left", "clean", 0, None, failure)
    selection = Selection(store)
    assert {c.system for c in competitors(selection, "clean", 0, HEARD) if c.context_id == "one"} == {"right"}
    assert [t.ttfa_ms for t in selection.turns("left", "clean")["one"]] == [_ttfa_ms("left", 0, "clean", 1)]


def test_every_turn_has_beside_it_what_was_to_be_said_and_a_lost_one_nothing(store: RunStore) -> None:
    _play(store, "one", "left", "clean", 0, None, "agent_died")
    _play(store, "two", "left", "clean", 0, None, "caller_died")
    selection = Selection(store)
    texts, turns = selection.turn_texts("left", "clean"), selection.turns("left", "clean")
    assert texts == {"one": [None, "I don't know."], "two": ["I don't know."]}
    assert [t.method for t in turns["one"]] == [NOT_TIMED, "m"]
    assert {c: len(group) for c, group in turns.items()} == {c: len(group) for c, group in texts.items()}


def test_a_text_agent_loses_a_comparison_but_no_turn(store: RunStore) -> None:
    manifest = store.manifest
    manifest.agents[0].kind = "text"
    store.set_manifest(manifest)
    _play(store, "one", "left", "clean", 0, None, "endpoint_failed")
    selection = Selection(store)
    assert all(t.method != NOT_TIMED for group in selection.turns("left", "clean").values() for t in group)
    assert [c.system for c in competitors(selection, "clean", 0, HEARD) if c.lost] == ["left"]


def test_a_reply_without_a_word_is_missing_not_replaced_by_what_was_written(store: RunStore) -> None:
    session = next(s for s in store.sessions() if s.key.agent == "left")
    store.set_heard(session.id, " ", ())
    selection = Selection(store)
    fates = {r.session.id: r.fate for r in selection.replies(session.key.condition, session.key.repeat, HEARD)}
    assert fates[session.id] == "missing"


def test_a_verdict_is_of_the_condition_it_names(store: RunStore) -> None:
    row = Judgment(
        context="one", subset="regular", system_a="left", system_b="right", source="judge", judge="j", winner="a",
        presentation=HEARD,
    )  # fmt: skip
    put(store, [row.model_copy(update={"condition": c, "purpose": p}) for c in CONDITIONS for p in ("main", "swapped")])
    put(store, [row])
    selection = Selection(store)
    assert [r.condition for r in selection.rows("clean", HEARD)] == ["clean"]
    assert [r.condition for r in selection.rows("telephone", HEARD)] == ["telephone"]
    assert len(selection.verdicts) == 4


def test_verdicts_of_an_excluded_judge_count_nowhere_unless_they_are_asked_for(store: RunStore) -> None:
    def row(judge: str, context: str) -> Judgment:
        return Judgment(
            context=context, subset="regular", system_a="left", system_b="right", source="judge", judge=judge, winner="a",
            presentation=HEARD, condition="clean",
        )  # fmt: skip

    put(store, [row(judge, context) for judge in ("sound", "guessing") for context in ("one", "two")])
    for judge, excluded in (("sound", False), ("guessing", True)):
        store.add_judge_check(
            JudgeCheck(
                judge=judge, family="none", pairs=40, accuracy=0.4 if excluded else 0.9, accuracy_interval=None, flip_rate=0.1,
                trusted=not excluded, excluded=excluded,
            )
        )  # fmt: skip
    selection = Selection(store)
    assert selection.excluded_judges == {"guessing"}
    assert {r.judge for r in selection.verdicts} == {"sound"}
    assert {r.judge for r in selection.rows("clean", HEARD)} == {"sound"}
    assert next(b for b in summarise(store).boards if b.condition == "clean").judgments == 2
    everybody = Selection(store, keep_excluded=True)
    assert {r.judge for r in everybody.rows("clean", HEARD)} == {"sound", "guessing"}


PICKS = re.compile(r"\.key\.(condition|repeat)\b\s*(==|!=|in\b)|\.repeat == 0")
QUEUES = {
    "harness/api/runs.py",
    "harness/calls/as_run.py",
    "harness/known/formats.py",
    "harness/calls/words.py",
    "harness/shards/merge.py",
    "harness/shards/merge_checks.py",
    "harness/measuring/transcribe.py",
    "harness/measuring/remeasure.py",
    "harness/traces/export.py",
    "harness/figures/summarise.py",
    "harness/run/resuming.py",
    "harness/run/sessions.py",
    "harness/fleet/collect.py",
    "harness/fleet/run.py",
    "reports/shown_runs.py",
    "reports/play.py",
}
"""Work on every session alike (transcribe it, time it, show it, lay it beside others), and so read them all."""


def test_no_reader_of_the_store_picks_sessions_by_itself() -> None:
    root = Path(__file__).parents[3]
    found = []
    for path in [p for room in ("harness", "reports") for p in (root / room).rglob("*.py")]:
        name, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        if name in ("harness/store/selection.py", "harness/store/run_store.py"):
            continue
        if PICKS.search(text) or (".sessions()" in text and name not in QUEUES):
            found.append(name)
    assert found == []


@pytest.mark.parametrize(
    ("kind", "agents"),
    [
        *((k, True) for k in ("refused", "open_timeout", "garbage", "flood", "overflow", "closed_early", "agent_died")),
        ("endpoint_timeout", True),
        *((k, False) for k in ("no_history", "codec", "no_media", "not_found", "unauthorised", "defect", "caller_died")),
        *((k, False) for k in ("recording_unreadable", None)),
    ],
)
def test_whose_fault_a_failure_is(kind: str | None, agents: bool) -> None:
    assert is_agents_fault(kind) == agents


@pytest.mark.parametrize(
    ("judged", "quoted"),
    [
        ((), HEARD),
        (("heard_text",), HEARD),
        (("written",), "written"),
        (("written", "heard_text"), HEARD),
        (("written", "audio"), HEARD),
        (("audio_with_delay",), HEARD),
        (("audio_with_delay", "audio"), "audio"),
    ],
)
def test_a_run_is_quoted_on_what_was_heard_or_on_the_only_other_board(judged: tuple[str, ...], quoted: str) -> None:
    assert quoted_presentation(judged) == quoted


def _verdict(**other: object) -> Judgment:
    return Judgment.model_validate({
        "context": "one", "subset": "regular", "system_a": "left", "system_b": "right", "source": "judge", "judge": "j",
        "winner": "a", "strength": 1, "presentation": HEARD, "condition": "clean", **other,
    })  # fmt: skip


def test_what_was_judged_is_of_a_condition_and_without_audits(store: RunStore) -> None:
    put(store, [
        _verdict(), _verdict(presentation="written"), _verdict(presentation="audio", purpose="swapped"),
        _verdict(presentation="audio_with_delay", condition="telephone"),
    ])  # fmt: skip
    selection = Selection(store)
    assert selection.presentations("clean") == ("heard_text", "written")
    assert selection.presentations("telephone") == ("audio_with_delay",)
    assert [(row.presentation, row.purpose) for row in selection.rows("clean", "audio")] == []
    assert len(selection.rows("clean", "written")) == 1
    assert selection.quoted("clean") == HEARD
    assert len(selection.quoted_table({"clean": "audio"})) == 0
    assert len(selection.quoted_table({"clean": "written", "telephone": "audio_with_delay"})) == 2
    for place in product(CONDITIONS, get_args(Presentation)):
        in_columns = of_one_board(selection.table, place[1], place[0])
        assert selection.rows(*place) == [row for row, mine in zip(selection.verdicts, in_columns, strict=True) if mine]


def test_a_vote_that_names_no_condition_is_of_the_only_one_or_counts_nowhere(store: RunStore, tmp_path: Path) -> None:
    vote = _verdict(source="human", judge="rater:a", condition="")
    put(store, [_verdict(condition="")])
    several = Selection(store, [vote])
    assert (several.verdicts, len(several.table)) == ((), 0)
    alone = RunStore.create(tmp_path / "alone", store.manifest.model_copy(update={"conditions": ["clean"]}), store.contexts())
    put(alone, [_verdict(condition="")])
    one = Selection(alone, [vote])
    assert [row.condition for row in one.verdicts] == ["clean", "clean"]
    assert [one.table.conditions[k] for k in one.table["condition"]] == ["clean", "clean"]


def test_silence_while_others_had_the_machine_is_missing_and_without_it_lost(store: RunStore) -> None:
    silent = replace(TIMED, no_reply=True)
    lost = Contention(1.0, 1.0, 0.0, None, None, at_most_ms={"ttfa": 15_000.0})
    for contention, fate in ((None, "lost"), (lost, "missing")):
        (session, *_) = Selection(store).of("left", "clean", 0)
        store.set_timing(session.id, [replace(silent, contention=contention)])
        store.set_heard(session.id, "", ())
        again = next(s for s in Selection(store).of("left", "clean", 0) if s.id == session.id)
        assert reply_of(again, HEARD).fate == fate


def test_turns_of_machines_that_differ_give_no_figure_together(store: RunStore) -> None:
    assert {t.discarded for group in Selection(store).turns("left", "clean").values() for t in group} == {None}
    selection = Selection(store)
    selection.apart = True
    found = [t for group in selection.turns("left", "clean").values() for t in group]
    assert {t.discarded for t in found} == {MACHINES_DIFFER}
    assert len(found) == 4


def test_people_beyond_the_repeats_are_lent_the_replies_of_the_repeats_in_turn(store: RunStore) -> None:
    people = agent("people", "person", runs_here=False)
    store.set_manifest(store.manifest.model_copy(update={"agents": [*store.manifest.agents, people]}))
    for repeat in (0, 1, 3):  # the third of them has withdrawn
        _play(store, "one", "people", "clean", repeat, 500.0)
    selection = Selection(store)
    assert selection.replicates == (0, 1, 2, 3)
    assert len(selection.of_the_plan) == 16

    def read(replicate: int) -> set[tuple[str, str]]:
        return {(c.system, c.text) for c in competitors(selection, "clean", replicate, HEARD)}

    assert {system for system, _ in read(0)} == {"left", "right", "people"}
    assert read(2) == set()
    assert read(3) == {(a, f"{a} on one, clean, 1") for a in ("left", "right")} | {("people", "people on one, clean, 3")}
    assert selection.seat_alone(1) == frozenset()
    assert selection.seat_alone(3) == {"people"}
    assert competitors(selection, "telephone", 3, HEARD) == []
    assert selection.reply_texts("clean", HEARD)["one", "left", 3] == "left on one, clean, 1"
