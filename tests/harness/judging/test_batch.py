"""Running a plan: blind, complete, own family kept apart, failures missing and never guessed."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from harness.judging import Completion, Design, JudgeFailure, VerdictCache, judge_pairs, reference_completions
from harness.judging.judge import Question, Verdict
from harness.scenarios.context import Context, Reference
from tests.harness.judging.conftest import RuleJudge

QUALITY = {"strong": "good good good", "middling": "good good", "weak": "good"}


def completions(contexts: Sequence[Context], **families: str) -> list[Completion]:
    return [
        Completion(c.id, system, f"{words} ({c.id} {system})", families.get(system))
        for c in contexts
        for system, words in QUALITY.items()
    ]


def test_every_pair_is_judged_and_the_better_side_wins_whatever_the_order(
    contexts: list[Context], rule_judge: type[RuleJudge]
) -> None:
    out = judge_pairs(contexts, completions(contexts), rule_judge(), Design(swapped_share=0, repeat_share=0), seed=4)
    assert len(out.judgments) == 3 * len(contexts)
    order = list(QUALITY)
    for row in out.judgments:
        better = min(row.system_a, row.system_b, key=order.index)
        assert {"a": row.system_a, "b": row.system_b}[row.winner] == better
    assert {row.shown_first for row in out.judgments} == {"a", "b"}
    assert {row.subset for row in out.judgments} == {"regular", "adversarial"}


def test_what_a_judge_reads_never_names_a_system(contexts: list[Context], rule_judge: type[RuleJudge]) -> None:
    judge = rule_judge()
    replies = [Completion(c.id, s, w) for c in contexts for s, w in QUALITY.items()]
    judge_pairs(contexts, replies, judge, seed=1)
    assert judge.asked
    assert not any(s in repr(q) for q in judge.asked for s in QUALITY)


def test_the_same_seed_gives_the_same_plan_and_another_gives_another(
    contexts: list[Context], rule_judge: type[RuleJudge]
) -> None:
    def orders(seed: int) -> list[tuple[object, ...]]:
        out = judge_pairs(contexts, completions(contexts), rule_judge(), seed=seed)
        return [(r.context, r.system_a, r.system_b, r.shown_first, r.purpose) for r in out.judgments]

    assert orders(7) == orders(7)
    assert orders(7) != orders(8)


def test_same_replies_are_a_tie_without_a_call(contexts: list[Context], rule_judge: type[RuleJudge]) -> None:
    judge = rule_judge()
    pair = [Completion("c-0", "x", "I'm here. Tell me more…"), Completion("c-0", "y", "i’m here; tell me MORE")]
    out = judge_pairs(contexts, pair, judge)
    assert [row.winner for row in out.judgments] == ["tie"] * len(out.judgments)
    assert out.calls == 0
    assert judge.asked == []


def test_a_failure_is_missing_and_every_question_is_in_exactly_one_box(
    contexts: list[Context], rule_judge: type[RuleJudge]
) -> None:
    judge = rule_judge(breaks_on="(c-1 weak)")
    out = judge_pairs(contexts, completions(contexts), judge, seed=2)
    assert {m.comparison.context_id for m in out.missing} == {"c-1"}
    assert all("weak" in (m.comparison.system_a, m.comparison.system_b) for m in out.missing)
    assert len(out.judgments) + len(out.missing) == out.comparisons
    assert out.calls + out.cached + out.ties_without_call == out.comparisons


def test_a_judge_keeps_off_pairs_with_one_side_of_its_family_while_another_can_judge(
    contexts: list[Context], rule_judge: type[RuleJudge]
) -> None:
    kin, stranger = rule_judge("kin@1", "llama"), rule_judge("stranger@1", "qwen")
    rows = judge_pairs(contexts, completions(contexts, strong="llama"), [kin, stranger], seed=1).judgments
    for row in rows:
        if row.judge == "kin@1":
            assert "strong" not in (row.system_a, row.system_b)
        assert not row.own_family
    assert any(r.judge == "stranger@1" and "strong" in (r.system_a, r.system_b) for r in rows)


def test_where_no_judge_remains_the_pair_is_judged_and_flagged(contexts: list[Context], rule_judge: type[RuleJudge]) -> None:
    rows = judge_pairs(contexts, completions(contexts, strong="llama"), rule_judge("kin@1", "llama"), seed=1).judgments
    assert {r.own_family for r in rows if "strong" in (r.system_a, r.system_b)} == {True}
    assert {r.own_family for r in rows if "strong" not in (r.system_a, r.system_b)} == {False}


def test_both_sides_of_the_judges_family_is_no_conflict(contexts: list[Context], rule_judge: type[RuleJudge]) -> None:
    families = dict.fromkeys(QUALITY, "llama")
    rows = judge_pairs(contexts, completions(contexts, **families), rule_judge("kin@1", "llama"), seed=1).judgments
    assert not any(r.own_family for r in rows)


def test_a_second_run_asks_nothing_and_a_killed_one_goes_on(
    contexts: list[Context], rule_judge: type[RuleJudge], tmp_path: Path
) -> None:
    first, second = rule_judge(), rule_judge()
    with VerdictCache(tmp_path / "v.sqlite") as cache:
        half = judge_pairs(contexts[:2], completions(contexts[:2]), first, Design(), seed=1, cache=cache)
    with VerdictCache(tmp_path / "v.sqlite") as cache:
        again = judge_pairs(contexts[:2], completions(contexts[:2]), second, Design(), seed=1, cache=cache)
    assert half.calls > 0
    assert again.calls == 0
    assert again.judgments == half.judgments


def test_repeats_are_really_asked_again(contexts: list[Context], rule_judge: type[RuleJudge]) -> None:
    judge = rule_judge()
    out = judge_pairs(contexts, completions(contexts), judge, Design(swapped_share=0, repeat_share=0.5), seed=1)
    repeats = [r for r in out.judgments if r.purpose == "repeat"]
    assert len(repeats) == 6
    assert len(judge.asked) == 18


def test_references_compete_by_name(contexts: list[Context], rule_judge: type[RuleJudge]) -> None:
    ref = Reference(id="good", author="authored", text="good good good good")
    with_ref = [Context.model_validate({**c.model_dump(), "references": (ref,)}) for c in contexts]
    field = completions(with_ref) + reference_completions(with_ref)
    rows = judge_pairs(with_ref, field, rule_judge(), seed=3).judgments
    against_ref = [r for r in rows if "ref:good" in (r.system_a, r.system_b)]
    assert against_ref
    assert all({"a": r.system_a, "b": r.system_b}[r.winner] == "ref:good" for r in against_ref)


def test_progress_counts_up_to_the_plan(contexts: list[Context], rule_judge: type[RuleJudge]) -> None:
    seen = []
    out = judge_pairs(contexts, completions(contexts), rule_judge(), seed=1, progress=lambda d, t, _: seen.append((d, t)))
    assert seen == [(n + 1, out.comparisons) for n in range(out.comparisons)]


def test_beside_a_fast_judge_the_progress_is_the_slow_ones(contexts: list[Context], rule_judge: type[RuleJudge]) -> None:
    fast, slow = rule_judge("fast@1"), rule_judge("slow@1")
    fast.concurrency, slow.concurrency = 1, 1
    seen: list[tuple[int, int]] = []
    ahead = asyncio.Event()

    def progress(done: int, total: int, _: str) -> None:
        seen.append((done, total))
        if len(seen) == 10:
            ahead.set()

    async def after_ten(question: Question) -> Verdict:
        await ahead.wait()
        return await RuleJudge.compare(slow, question)

    slow.compare = after_ten  # type: ignore[method-assign]
    judge_pairs(contexts, completions(contexts), [fast, slow], seed=1, progress=progress)
    each = len(slow.asked)
    assert set(seen[:10]) == {(0, each)}, "what the fast judge did was counted as the slow one's"
    assert seen[-1] == (each, each)


def test_a_judge_failure_carries_its_kind() -> None:
    assert JudgeFailure("timeout", "x", attempts=3).attempts == 3
