"""What a judge does in the middle of a batch is named and mended by asking again; what it answered before stays."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import harness.verdicts.batches as batches
import harness.verdicts.judge as step
from harness.cli import _run
from harness.figures.summarise import summarise
from harness.judging.completion import Completion
from harness.judging.judge import Question, Verdict
from harness.judging.validation.labelled import gold_pairs
from harness.progress import RunProgress
from harness.reports.write import write_joint_report
from harness.scenarios.context import Context
from harness.store.run_store import RunStore
from harness.store.selection import Reply
from harness.verdicts.judge import RunJudging, judge_run
from tests.endpoint import endpoint
from tests.harness.judging.conftest import RuleJudge, pass_red_lines

CHECK = 2 * len(gold_pairs())
"""Questions of a judge's check: what goes wrong comes after it, among those of the run."""
Serve = Callable[..., str]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts a judge's endpoint in place of the one before, at the same address; gives its address."""
    port = "0"
    with ExitStack() as serving:

        def start(behaviour: str = "answers", after: int = 0) -> str:
            nonlocal port
            serving.close()
            one = endpoint(tmp_path, "--behaviour", behaviour, "--after", after, "--port", port)
            address = serving.enter_context(one)
            port = address.rpartition(":")[2]
            return address

        yield start


def judged(capsys: pytest.CaptureFixture[str], run: Path, judge: Path) -> tuple[int, Any]:
    code = _run(["judge", "run", str(run), "--judge", str(judge), "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("behaviour", "kind"), [("dies", "connection"), ("hangs", "timeout"), ("rubbish", "malformed"), ("floods", "malformed")]
)
def test_an_endpoint_that_fails_in_the_middle_costs_only_what_was_not_answered(
    serve: Serve, played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], behaviour: str, kind: str
) -> None:
    answered = 10
    judge = tmp_path / "far.toml"
    judge.write_text(
        'id = "far"\nfamily = "rules"\nversion = "1"\nmodel = "m"\nattempts = 1\nconcurrency = 20\n'
        f'timeout_s = {2 if kind == "timeout" else 60}\nbase_url = "{serve(behaviour, CHECK + answered)}/run/v1"\n'
    )
    pass_red_lines(judge)
    code, told = judged(capsys, played, judge)
    assert code == 3
    assert set(told["missing_by_kind"]) == {kind}
    assert told["missing"] == told["comparisons"] - len(RunStore.open(played).judgments())
    assert told["missing"] >= told["comparisons"] - answered
    serve()
    code, again = judged(capsys, played, judge)
    assert code == 0
    assert again["missing"] == 0
    assert again["calls"] == told["missing"], "only what had no answer is asked again"


class Breaks(RuleJudge):
    """A judge of ours with a defect that one reply meets."""

    def __init__(self, on: str) -> None:
        super().__init__()
        self.on = on

    async def compare(self, question: Question) -> Verdict:
        if self.on in (question.first + question.second):
            raise ZeroDivisionError("an odd one\n\x1b[31m")
        return await super().compare(question)


async def judge_with(judge: RuleJudge, folder: Path, monkeypatch: pytest.MonkeyPatch) -> RunStore:
    monkeypatch.setattr(step, "open_judge", lambda *_: judge)
    store = RunStore.open(folder)
    await judge_run(store, RunJudging(("embedded",), keep_excluded=True), RunProgress(quiet=True))
    return store


@pytest.fixture(autouse=True)
def no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "weights_for", lambda *_: {})


async def test_a_session_that_a_judge_breaks_on_is_named_and_mended_by_judging_again(
    played: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store = await judge_with(Breaks("good good 3"), played, monkeypatch)
    (failure,) = store.step_failures()
    assert (failure.session, failure.step, failure.kind) == (
        "c-03__kind__seeded__clean__r0", "judging", "analysis_failed",
    )  # fmt: skip
    assert failure.detail.startswith("rule@1: ZeroDivisionError: an odd one")
    assert failure.detail.isprintable()
    sides = {(row.context, row.system_a, row.system_b) for row in store.judgments() if row.context == "c-03"}
    assert sides, "the others of that conversation are judged"
    assert not any("kind" in side for side in sides)
    summary = summarise(store)
    (told,) = summary.failures
    assert told.detail.startswith("judging: rule@1: ZeroDivisionError")
    assert summary.agents["kind"]["failed"] == 0, "the agent is not to blame"
    assert any("through no fault of the agents" in warning for warning in summary.warnings)
    assert "judging: rule@1: ZeroDivisionError" in write_joint_report([(store, summary)], tmp_path / "page").page.read_text()
    store.close()

    mended = await judge_with(RuleJudge(), played, monkeypatch)
    assert not [failure for failure in mended.step_failures() if failure.step == "judging"]
    assert any("kind" in (row.system_a, row.system_b) for row in mended.judgments() if row.context == "c-03")
    assert not [told for told in summarise(mended).failures if told.detail.startswith("judging")]
    mended.close()


async def test_a_session_that_cannot_be_laid_out_for_a_judge_is_named_alone(
    played: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = batches._laid_out

    def breaks(reply: Reply, contexts: Mapping[str, Context], family: str | None) -> Completion:
        if reply.session.key.context_id == "c-05" and reply.session.key.agent == "flat":
            raise LookupError("no such turn")
        return honest(reply, contexts, family)

    monkeypatch.setattr(batches, "_laid_out", breaks)
    store = await judge_with(RuleJudge(), played, monkeypatch)
    (failure,) = store.step_failures()
    assert failure.session == "c-05__flat__seeded__clean__r0"
    assert failure.detail.startswith("LookupError: no such turn")
    assert not any("flat" in (row.system_a, row.system_b) for row in store.judgments() if row.context == "c-05")
    store.close()
    monkeypatch.setattr(batches, "_laid_out", honest)
    assert (await judge_with(RuleJudge(), played, monkeypatch)).step_failures() == []
