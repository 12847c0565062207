"""Contexts and judges that judging tests share."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.cli import _run
from harness.judging.judge import JudgeFailure, Question, Verdict
from harness.judging.load_judge import fingerprint_of
from harness.judging.validation.red_lines import hash_of, keep_answers, shipped_red_lines
from harness.scenarios.context import Context, Turn
from harness.store.manifest import AgentEntry, RunManifest
from harness.store.run_store import RunStore
from harness.store.session import SessionKey
from harness.verdicts.red_lines import validations_folder


class RuleJudge:
    """A judge whose answers are known: it prefers the reply with more of the word `good`, or always the first place."""

    def __init__(
        self, name: str = "rule@1", family: str = "rules", *, always_first: bool = False, breaks_on: str = "\0"
    ) -> None:
        self.id, self.family, self.fingerprint, self.concurrency = name, family, name, 3
        self.orders_itself = False
        self.always_first, self.breaks_on = always_first, breaks_on
        self.asked: list[Question] = []
        self.entered = 0

    async def __aenter__(self) -> "RuleJudge":
        self.entered += 1
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.entered -= 1

    async def compare(self, question: Question) -> Verdict:
        assert self.entered == 1
        self.asked.append(question)
        if self.breaks_on in question.first + question.second:
            raise JudgeFailure("refused", "by rule")
        ahead = question.first.count("good") >= question.second.count("good")
        return Verdict("first" if self.always_first or ahead else "second", 3, rationale="by rule")


def make_context(context_id: str, subset: str = "regular") -> Context:
    return Context(
        id=context_id,
        subset=subset,  # type: ignore[arg-type]
        escalation="always-10" if subset == "adversarial" else None,
        emotion="sadness",
        problem="loss",
        turns=(Turn(role="seeker", text="It has been a long week and nobody rang."),),
        source="test",
        licence="Apache-2.0",
    )


@pytest.fixture
def contexts() -> list[Context]:
    return [make_context(f"c-{n}", "adversarial" if n == 3 else "regular") for n in range(4)]


@pytest.fixture
def rule_judge() -> type[RuleJudge]:
    return RuleJudge


@pytest.fixture
def played(tmp_path: Path) -> Path:
    """A run on disk of two agents that said something written and heard; only the calls themselves were not made."""
    many = [
        Context.model_validate(
            {
                **make_context(f"c-{n:02}", "adversarial" if n % 4 == 3 else "regular").model_dump(),
                "references": [{"id": "good", "author": "authored", "text": f"Nobody rang, all week? {n}"}],
            }
        )
        for n in range(12)
    ]
    agents = [AgentEntry(name=n, kind="text", profile_hash="p" * 64, profile_text="", family=n) for n in ("kind", "flat")]
    manifest = RunManifest(
        created="2026-01-01T00:00:00+00:00", harness_version="0", pack="p", pack_source="p", pack_hash="x",
        context_ids=[c.id for c in many], agents=agents, mode="seeded", conditions=["clean"], repeats=1, seed=1,
    )  # fmt: skip
    store = RunStore.create(tmp_path / "run", manifest, many)
    said = {"kind": "No wonder you are tired. good good", "flat": "Cheer up."}
    for n, context in enumerate(many):
        for agent, words in said.items():
            key = SessionKey(context.id, "h" * 64, agent, "p" * 64, "seeded", "clean", 0)
            partial = store.partial_folder(key)
            (partial / "recording.json").write_text("{}")
            session = store.commit_session(key, partial=partial, written_text=f"{words} {n}", started_ns=n)
            store.set_heard(session.id, f"{words.lower().replace('.', '')} {n}", [])
    store.close()
    return store.folder


def pass_red_lines(judge: Path) -> None:
    """Store that a judge passed the red lines, so that a run does not ask them: `test_red_lines` does."""
    answers = {hash_of([pair]): 1.0 for pair in shipped_red_lines()}
    keep_answers(fingerprint_of(str(judge)), answers, validations_folder())


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = _run([str(a) for a in arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


def told(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, Any]:
    code, out, _ = call(capsys, *arguments, "--json")
    return code, json.loads(out)
