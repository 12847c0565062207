"""Completions of any origin: read strictly, judged like a run's, and estimated before they are paid for."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from harness.errors import UserError
from harness.judging import Completion, Design, judge_pairs, load_judge_settings, shipped_judges
from harness.judging.completion import read_completions
from harness.judging.validation.checks import CanaryWatch
from harness.scenarios.context import Context
from harness.verdicts.estimate import estimate
from harness.verdicts.text_board import as_object
from tests.harness.judging.conftest import RuleJudge


def write(path: Path, rows: Iterable[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


def test_times_and_families_come_along(tmp_path: Path, contexts: list[Context]) -> None:
    rows = [{"context": "c-0", "system": "m", "text": "Hm.", "family": "f", "ttft_ms": 300}]
    file = read_completions(write(tmp_path / "c.jsonl", rows), contexts)
    assert file.completions == (Completion("c-0", "m", "Hm.", "f"),)
    assert file.ttft_ms == {"m": {"c-0": 300.0}}


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"context": "c-0", "system": "m"}, "text"),
        ({"context": "c-0", "system": "m", "text": "x", "score": 1}, "score"),
        ({"context": "nowhere", "system": "m", "text": "x"}, "nowhere"),
        ({"context": "c-1", "system": "m", "text": "again"}, "second"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, contexts: list[Context], row: dict[str, object], says: str) -> None:
    path = write(tmp_path / "c.jsonl", [{"context": "c-1", "system": "m", "text": "x"}, row])
    with pytest.raises(UserError, match=rf"c\.jsonl:2: .*{says}"):
        read_completions(path, contexts)


def test_the_estimate_counts_what_would_be_asked(contexts: list[Context], rule_judge: type[RuleJudge]) -> None:
    replies = [Completion(c.id, s, f"{s} for {c.id}") for c in contexts for s in ("x", "y", "z")]
    settings = load_judge_settings("local-server").model_copy(update={"price_in": 1.0, "price_out": 2.0})
    guess = estimate(contexts, replies, settings, Design(), seed=1)
    done = judge_pairs(contexts, replies, rule_judge(), Design(), seed=1)
    assert guess.calls == done.calls
    assert guess.comparisons == done.comparisons
    assert guess.cost_usd == pytest.approx((guess.tokens_in + 2 * guess.tokens_out) / 1e6)
    assert estimate(contexts, replies, load_judge_settings("local-server")).cost_usd is None


def test_the_object_for_programs_has_the_promised_keys(contexts: list[Context], rule_judge: type[RuleJudge]) -> None:
    done = judge_pairs(contexts, [Completion("c-0", s, s) for s in ("x", "y")], rule_judge(), seed=1)
    assert {"schema", "comparisons", "calls", "cached", "missing", "judges"} <= set(as_object([done], []))


def test_enough_ends_a_batch_early_and_says_what_was_left(rule_judge: type[RuleJudge]) -> None:
    from harness.scenarios.context import Context, Turn

    many = [
        Context(
            id=f"c-{n}", subset="regular", emotion="sadness", problem="loss", source="t", licence="x",
            turns=(Turn(role="seeker", text=f"{n}"),),
        )
        for n in range(80)
    ]  # fmt: skip
    replies = [Completion(c.id, s, s) for c in many for s in ("good", "bad")]
    done = judge_pairs(
        many,
        replies,
        rule_judge(),
        Design(swapped_share=0, repeat_share=0),
        seed=1,
        enough=lambda rows: len(rows) >= 10,
    )
    assert len(done.judgments) == 16
    assert done.unasked == 64


def test_canaries_notice_a_judge_that_drifted(contexts: list[Context], rule_judge: type[RuleJudge]) -> None:
    replies = [Completion("c-0", s, s) for s in ("good", "bad")]
    done = judge_pairs(contexts, replies, rule_judge(always_first=True), seed=1, canaries=20)
    (watched,) = done.canaries
    assert watched.asked == 20
    assert watched.drifted(0.95)
    assert not CanaryWatch("j", asked=20, wrong=1, missing=0).drifted(0.95)


def test_every_shipped_judge_loads_and_a_bad_file_is_named(tmp_path: Path) -> None:
    assert "embedded" in shipped_judges()
    for name in shipped_judges():
        load_judge_settings(name)
    path = tmp_path / "j.toml"
    path.write_text('id = "x"\nfamily = "f"\nversion = "1"\ntemprature = 1\n')
    with pytest.raises(UserError, match=r"j\.toml, line 4: temprature is no setting of a judge; did you mean temperature"):
        load_judge_settings(str(path))
    path.write_text("id = \n")
    with pytest.raises(UserError, match="line 1"):
        load_judge_settings(str(path))
    with pytest.raises(UserError, match="no such judge"):
        load_judge_settings("nobody")
