"""The names under `harness`: light to import, true to the commands, and clear about what is wrong."""

import asyncio
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from scripted_sound import Piece, render

import harness
from harness.judging import Question, Verdict
from harness.scenarios.context import Context, Reference, Turn

RATE_HZ = 16_000


def test_importing_harness_loads_nothing_heavy() -> None:
    script = "import harness, sys; print([m for m in ('numpy', 'pydantic', 'pipecat', 'harness.run') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_every_name_is_there_and_listed() -> None:
    for name in harness.__all__:
        assert getattr(harness, name) is not None
        assert name in dir(harness)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = harness.nothing


def call(path: Path, gap_ms: float) -> Path:
    """A stereo file in which the agent's voice begins `gap_ms` after its caller's last sample."""
    said, reply = render([Piece(kind="voice", ms=1200)], RATE_HZ), render([Piece(kind="voice", ms=1000)], RATE_HZ)
    lead, gap = round(0.5 * RATE_HZ), round(gap_ms / 1e3 * RATE_HZ)
    sides = np.zeros((lead + len(said) + gap + len(reply) + RATE_HZ, 2), np.int16)
    sides[lead : lead + len(said), 0] = said
    sides[lead + len(said) + gap :][: len(reply), 1] = reply
    soundfile.write(path, sides, RATE_HZ)
    return path


@pytest.mark.parametrize("gap_ms", [200.0, 900.0])
def test_a_recorded_call_is_timed_from_its_sound(tmp_path: Path, gap_ms: float) -> None:
    (turn,) = harness.measure_recording(call(tmp_path / "call.wav", gap_ms))
    assert turn.ttfa_ms == pytest.approx(gap_ms, abs=15)
    assert turn.ttft_ms is None
    assert not turn.no_reply


def test_a_reply_before_the_end_counts_for_the_turn_that_is_named(tmp_path: Path) -> None:
    path = call(tmp_path / "call.wav", 400)
    (turn,) = harness.measure_recording(path, [(0.4, 1.8)])
    assert turn.ttfa_ms == pytest.approx(400, abs=15)


@pytest.mark.parametrize(
    ("turns", "says"),
    [([(2.0, 1.0)], "in order"), ([(0.0, 99.0)], "in the file"), ([], "no turn"), ([(0.0, 0.3)], "says nothing")],
)
def test_wrong_turns_are_refused(tmp_path: Path, turns: list[tuple[float, float]], says: str) -> None:
    with pytest.raises(harness.UserError, match=says):
        harness.measure_recording(call(tmp_path / "call.wav", 400), turns)


def test_files_that_are_no_call_are_refused(tmp_path: Path) -> None:
    with pytest.raises(harness.UserError, match="cannot be read as sound"):
        harness.measure_recording(tmp_path / "nothing.wav")
    mono = tmp_path / "mono.wav"
    soundfile.write(mono, np.zeros(RATE_HZ, np.int16), RATE_HZ)
    with pytest.raises(harness.UserError, match="has 1 channels"):
        harness.measure_recording(mono)
    silent = tmp_path / "silent.wav"
    soundfile.write(silent, np.zeros((RATE_HZ, 2), np.int16), RATE_HZ)
    with pytest.raises(harness.UserError, match="the other way round"):
        harness.measure_recording(silent)


class First:
    """Says whichever stands first."""

    id = "first@1"
    family = "rule"
    fingerprint = "first@1"
    concurrency = 2
    orders_itself = False

    async def compare(self, question: Question) -> Verdict:
        del question
        return Verdict("first", 1)

    async def __aenter__(self) -> harness.Judge:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None


def contexts(count: int = 10) -> list[Context]:
    return [
        Context(
            id=f"c{k}", subset="regular", emotion="worry", problem="exams", source="tests", licence="Apache-2.0",
            turns=(Turn(role="seeker", text="It is tomorrow already."),),
            references=(Reference(id="good", author="authored", quality=5, text=f"What weighs most, of {k} things?"),),
        )
        for k in range(count)
    ]  # fmt: skip


def completions() -> list[harness.Completion]:
    return [harness.Completion(f"c{k}", name, f"{name} says {k}") for k in range(10) for name in ("a", "b")]


def test_a_judge_may_be_used_in_a_loop_that_runs(tmp_path: Path) -> None:
    """A notebook has a loop: the same verdicts come out there, and a kept answer is not asked for twice."""
    plain = harness.judge_pairs(contexts(), completions(), First(), seed=3)

    async def inside() -> object:
        return harness.judge_pairs(contexts(), completions(), First(), seed=3, cache=tmp_path / "kept.sqlite")

    assert asyncio.run(inside()) == plain
    again = harness.judge_pairs(contexts(), completions(), First(), seed=3, cache=tmp_path / "kept.sqlite")
    assert again.calls == 0
    assert again.cached == plain.calls


def test_rows_and_their_file_are_rated_alike(tmp_path: Path) -> None:
    rows = harness.judge_pairs(contexts(), completions(), First()).judgments
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(row.model_dump_json() + "\n" for row in rows), encoding="utf-8")
    of_rows, of_file = (harness.rank_judgments(source, draws=50).board for source in (rows, path))
    assert [(s.system, s.elo) for s in of_rows.systems] == [(s.system, s.elo) for s in of_file.systems]


def test_wrong_words_are_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(harness.UserError, match="unknown agent"):
        harness.run_agents("polaris-lik", out=tmp_path / "run")
    with pytest.raises(harness.UserError, match="unknown agent"):
        harness.run_agents(harness.Experiment(agents=("polaris-lik",)), seed=2, out=tmp_path / "run")
    with pytest.raises(harness.UserError, match="repeat: a run has no such option; did you mean repeats"):
        harness.run_agents("baseline", repeat=2, out=tmp_path / "run")
    with pytest.raises(harness.UserError, match="no such judge"):
        harness.judge_pairs(contexts(), completions(), "salomon")
    with pytest.raises(harness.UserError, match="at least one run"):
        harness.write_report([])
    assert not (tmp_path / "run").exists()
