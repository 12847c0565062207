"""The load at which stages are isolated, and what a reader is told."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from harness.agents.cascade.settings import ComputingStage
from harness.agents.connections import ConnectionSpec
from harness.calibrate.agent_process import metrology_agent
from harness.caller import SessionPlan
from harness.errors import AgentError
from harness.experiment import Experiment
from harness.figures.interference import ORDER, STAGES, Interference, Ratio, Slowing, StageTime, interference
from harness.figures.steps import step_figures
from harness.load.agent import LoadRequest, _isolated, _Prepared
from harness.load.arrivals import Arrivals
from harness.load.isolate import HIGHEST, KNEE, LOWEST, ONLY, _without_stand_ins, isolate, load_to_isolate
from harness.load.result import LoadResult, Step
from harness.load.steps import Load, numbered
from harness.progress import RunProgress
from harness.reports.isolated_words import as_text, rows, sentences
from harness.run.caller_turns import render_turns
from harness.run.plan import make_plan, new_manifest
from harness.store.load_part import LoadPart, StepRecord
from harness.store.session import SessionKey, UnrecordedCall
from harness.timing.quantiles import Quantiles
from harness.wording import UNKNOWN_TEXT
from tests.harness.load.made_plays import Plays, plays
from tests.harness.load.made_turns import result_of, turn
from tests.harness.load.test_load import _calls


def one(callers: int, *, held: bool = True, rate: float | None = None, p95_ms: float = 400.0) -> Step:
    record = StepRecord(
        callers=callers, rate=rate, calls_at_once=callers, sessions=80, out_of_bounds=() if held else ("frames left late",),
        says_of_agent=held,
    )  # fmt: skip
    ttfa = {str(k): np.full(10, p95_ms) for k in range(8)}
    waits = Quantiles(p50=300.0, p95=p95_ms, n=80)
    return Step(record, replace(step_figures([]), ttfa_ms=waits, ttfa_by_stretch=ttfa))


def test_the_load_is_the_ceiling_of_a_closed_loop() -> None:
    def closed(*steps: Step) -> LoadResult:
        return LoadResult(LoadPart(), steps)

    assert load_to_isolate(closed(one(1), one(2), one(5, held=False))) == (2, HIGHEST)
    assert load_to_isolate(closed(one(5, held=False))) == (5, ONLY)
    assert load_to_isolate(closed(one(4, held=False), one(2, held=False))) == (2, LOWEST)


def test_the_load_is_the_knee_of_an_open_loop_and_else_its_ceiling() -> None:
    bent = [one(1, rate=1), one(2, rate=2), one(4, rate=4, p95_ms=2_000.0), one(8, rate=8, p95_ms=9_000.0)]
    assert load_to_isolate(result_of(*bent)) == (2, KNEE)
    assert load_to_isolate(result_of(one(1, rate=1), one(2, rate=2), one(4, rate=4))) == (4, HIGHEST)
    falling = result_of(*(one(n, rate=n, p95_ms=300.0 * n**2) for n in (1, 2, 4)))
    assert load_to_isolate(falling) == (4, HIGHEST), "a knee before the first step is no load that was played"


def record_of(computing: Sequence[str], late: str = "", sessions: int = 12, failed: int = 0) -> StepRecord:
    out = (late,) if late else ()
    return StepRecord(computing=tuple(computing), says_of_agent=not late, out_of_bounds=out, sessions=sessions, failed=failed)


def found(turns: Plays, *more: StepRecord, law: Literal["poisson"] | None = None) -> LoadResult:
    records = (*(record_of(computing) for computing, _ in turns), *more)
    part = LoadPart(law=law, records=records, isolated_at=2, isolated_why=HIGHEST)
    return LoadResult(part, (), interference(turns))


def test_what_slows_what_is_said_first_and_what_does_not_is_no_clear_change() -> None:
    said = list(sentences(found(plays({("tts", "llm"): 1.5}))))
    assert said[0].startswith("Each stage alone and with the others, at 2 at once: the highest load within every bound.")
    assert sum(one.startswith("llm slows tts: ") for one in said) == 1
    assert " in the median, × 1." in next(one for one in said if one.startswith("llm slows tts: "))
    (unclear,) = [one for one in said if one.startswith("No clear change: ")]
    assert "asr beside tts" in unclear
    assert "tts beside llm" not in unclear
    assert max(place for place, one in enumerate(said) if " slows " in one) < said.index(unclear)


def test_few_turns_left_out_plays_and_missing_ones_are_said() -> None:
    turns = plays({}, stretches=1, turns=2, order=ORDER[:5])
    late = record_of(("llm", "tts"), "the machine: frames left late", sessions=4, failed=1)
    said = "\n".join(sentences(found(turns[:4], late)))
    assert "an interval needs 8" in said
    assert "a p95 needs 60" in said
    assert "9 plays of 14 missing" in said
    assert "One play of llm and tts is left out: the machine: frames left late." in said
    assert "1 of 52 calls failed" in said


def test_a_machine_that_changed_between_the_two_plays_is_said() -> None:
    rows_of = plays({}, stretches=2)
    assert "changed meanwhile" not in "\n".join(sentences(found(rows_of)))
    slow: Plays = [(rows_of[0][0], {"0": [{"asr": 900.0}] * 4}), *rows_of[1:]]
    said = [one for one in sentences(found(slow)) if "changed meanwhile" in one]
    assert len(said) == 1
    assert said[0].startswith("asr took 900 ms in the first and ")


def test_the_matrix_has_the_slowed_as_rows_and_by_whom_as_columns() -> None:
    matrix = {row.stage: row.cells for row in rows(found(plays({("tts", "llm"): 1.5})))}
    assert tuple(matrix) == STAGES
    alone, _, by_llm, itself, _ = matrix["tts"]
    assert alone.text.endswith(" ms")
    assert by_llm.text.startswith("× 1.")
    assert by_llm.shade >= 2
    assert itself.text == "itself"
    assert all(cell.shade == 0 for cell in matrix["asr"])


def test_times_of_a_stand_in_are_no_measurement() -> None:
    stages = {"endpointing": (-9.0, 9.0), "llm": (0.0, 90.0), "first_clause": (90.0, 10.0), "tts": (100.0, 50.0)}
    (timing,) = turn(0, 0, ttft_ms=100.0, own_ms=(("llm", 100.0), ("tts", 50.0)), stages=stages).turn_timings
    spoken, asked = _without_stand_ins(timing, ("tts",)), _without_stand_ins(timing, ("llm",))
    assert spoken.waterfall is not None
    assert [stage.name for stage in spoken.waterfall.stages] == ["endpointing", "tts"], "clauses of a scripted reply are none"
    assert (spoken.own_ms, spoken.ttft_ms) == ((("tts", 50.0),), None)
    assert asked.waterfall is not None
    assert [stage.name for stage in asked.waterfall.stages] == ["endpointing", "llm", "first_clause"]
    assert (asked.own_ms, asked.ttft_ms) == ((("llm", 100.0),), 100.0)


CLEAR = Ratio(100.0, 130.0, 1.3, (1.1, 1.5))
BY_HAND = Interference(
    times=(StageTime("tts", ("tts",), 70, 0, 100.0, None), StageTime("llm", ("llm",), 0, 3, None, None)),
    slowings=(
        Slowing("asr", ("llm",), Ratio(50.0, 150.0, 3.0), None),
        Slowing("tts", ("llm",), CLEAR, CLEAR),
        Slowing("tts", ("asr",), Ratio(100.0, 80.0, 0.8, (0.7, 0.9)), None),
        Slowing("tts", ("asr", "llm"), replace(CLEAR, value=2.1), None),
        Slowing("llm", ("tts",), Ratio(100.0, 190.0, 1.9, (0.9, 3.0)), None),
    ),
    stretches=3,
)


BY_CALLERS = LoadResult(LoadPart(isolated_at=2, isolated_why=KNEE), (), BY_HAND)


def test_what_is_clear_comes_before_what_may_be_chance() -> None:
    open_loop = LoadResult(LoadPart(law="poisson", isolated_at=0.5, isolated_why=KNEE), (), BY_HAND)
    said = list(sentences(open_loop))
    assert said[0].startswith("Each stage alone and with the others, at 0.5 calls a second: the knee.")
    assert said[1:6] == [
        "asr and llm slow tts: 100 ms → 130 ms in the median, × 2.10 [1.10, 1.50].",
        "llm slows tts: 100 ms → 130 ms in the median, × 1.30 [1.10, 1.50]; at p95 × 1.30 [1.10, 1.50].",
        "tts is faster beside asr: 100 ms → 80 ms in the median, × 0.80 [0.70, 0.90].",
        "asr beside llm: 50 ms → 150 ms in the median, × 3.00.",
        "No clear change: llm beside tts.",
    ]
    rest = "\n".join(said[6:])
    assert "14 plays of 14 missing" in rest
    assert "3 of 3 turns stamped no llm where llm computed." in rest
    assert "3 stretches of 15 s in the shortest configuration" in rest
    assert "a ratio without one may be chance; a longer --for gives intervals." in rest
    assert "a p95 needs" not in rest, "the stage that has turns has enough"
    assert " failed" not in rest
    assert "more --rounds gives" in "\n".join(sentences(BY_CALLERS))


def test_a_cell_has_its_figure_its_interval_and_its_shade() -> None:
    matrix = {row.stage: row.cells for row in rows(BY_CALLERS)}
    assert as_text(matrix["tts"]) == [
        "100 ms\n70 turns",
        "× 0.80\n[0.70, 0.90]\n80 ms",
        "× 1.30\n[1.10, 1.50]\n130 ms\np95 × 1.30 [1.10, 1.50]",
        "itself",
        "× 2.10\n[1.10, 1.50]\n130 ms",
    ]
    assert [cell.shade for cell in matrix["tts"]] == [0, 0, 2, 0, 4]
    alone, _, _, by_tts, _ = matrix["llm"]
    assert alone.text == UNKNOWN_TEXT
    assert (by_tts.small[-1], by_tts.shade) == ("no clear change", 0)
    assert as_text(matrix["asr"])[2] == "× 3.00\n150 ms", "without an interval nothing is said of it"
    assert matrix["asr"][2].shade == 0


@dataclass(frozen=True)
class ToOneAgent:
    """Calls to a programmed agent, which has no stages."""

    url: str

    def plan(self, number: int) -> SessionPlan:
        return _calls(lambda k: ConnectionSpec("raw-pcm", f"{self.url}/{k}"))(number)

    def key(self, number: int) -> SessionKey:
        return numbered(number)


async def test_finished_plays_are_stored_when_the_agent_fails_later() -> None:
    stored: list[LoadResult] = []
    rows: list[UnrecordedCall] = []

    def finished(calls: Sequence[UnrecordedCall], result: LoadResult) -> None:
        rows.extend(calls)
        stored.append(result)

    started: list[list[ComputingStage]] = []
    async with metrology_agent(1, 9, keep_arrivals=False, delay_ms=300) as agent:
        calls = ToOneAgent(agent.url)

        @asynccontextmanager
        async def running(stand_ins: Sequence[ComputingStage]) -> AsyncIterator[ToOneAgent]:
            started.append(list(stand_ins))
            if len(started) == 3:
                raise AgentError("it died")
            yield calls

        each = Load(calls.plan, finished=finished)
        with pytest.raises(AgentError, match="it died"):
            await isolate(each, LoadResult(LoadPart(), (one(1),)), (), 1, running, lambda _: None)
    assert started == [["llm", "tts"], ["asr", "tts"], ["asr", "llm"]]
    last = stored[-1]
    assert last.matrix is not None
    assert (len(last.part.plays), last.missing) == (2, 12)
    assert [(row.key.step, row.key.context_id) for row in rows] == [("asr computing (1)", "0"), ("llm computing (2)", "0")]
    assert stored[-1].steps == stored[0].steps, "plays are no steps"
    alone = last.matrix.alone("asr")
    assert alone is not None
    assert alone.turns == 0
    assert "1 of 1 turn stamped no asr where asr computed." in list(sentences(last))


async def test_a_play_of_an_open_loop_that_came_late_is_stored_and_in_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.load.isolate.ORDER", (("asr",),))
    monkeypatch.setattr("harness.load.measuring.late_arrivals", lambda _: "callers came late")
    stored: list[LoadResult] = []
    rows: list[UnrecordedCall] = []

    def finished(calls: Sequence[UnrecordedCall], result: LoadResult) -> None:
        rows.extend(calls)
        stored.append(result)

    async with metrology_agent(1, 9, keep_arrivals=False, delay_ms=300) as agent:
        calls = ToOneAgent(agent.url)

        @asynccontextmanager
        async def running(_: Sequence[ComputingStage]) -> AsyncIterator[ToOneAgent]:
            yield calls

        arrivals = [Arrivals("poisson", rate, 4.0, 1) for rate in (2, 0.5)]
        each = Load(calls.plan, finished=finished)
        await isolate(each, result_of(one(1, rate=0.5)), arrivals, 1, running, lambda _: None)
    assert len(rows) == len(arrivals[1].offsets_ns()) > 0
    assert {row.key.step for row in rows} == {"asr computing (1)"}
    (play,) = stored[-1].part.plays
    assert (play.sessions, play.failed, play.rate) == (len(rows), 0, 0.5)
    assert "callers came late" in play.why_nothing
    assert stored[-1].matrix is not None
    assert stored[-1].matrix.times == ()


@pytest.mark.models
async def test_plays_are_sampled_like_the_steps(
    pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # A play in which nothing computes needs no weights; the agent, its calls and the samples are the real ones.
    monkeypatch.setattr("harness.load.isolate.ORDER", ((),))
    profile = tmp_path / "scripted.toml"
    profile.write_text('name = "scripted"\nkind = "cascade"\n[metrics]\nstage = "llm"\n', encoding="utf-8")
    experiment = Experiment(agents=(str(profile),), pack=str(pack))
    request = LoadRequest(experiment, tmp_path, callers=(1,), isolate=True)
    rows: list[UnrecordedCall] = []
    with RunProgress() as progress:
        plan = make_plan(experiment)
        ready = _Prepared(plan, {}, render_turns(plan, progress), tmp_path, new_manifest(plan))
        each = Load(_not_planned, finished=lambda calls, _: rows.extend(calls), within=tmp_path)
        await _isolated(ready, request, progress, each, LoadResult(LoadPart(), (one(1),)))
    (call,) = rows
    assert call.failure_kind is None
    samples = [json.loads(line) for line in (tmp_path / "telemetry.jsonl").read_text(encoding="utf-8").splitlines()]
    over_ns = call.started_ns + call.turn_timings[0].spoken_end_ms * 1e6
    during = [sample for sample in samples if call.started_ns < sample["at_ns"] < over_ns]
    assert any({"cpu_percent", "scripted.cpu_percent", "harness caller.cpu_percent"} <= sample.keys() for sample in during)
    assert "metrics of" not in capfd.readouterr().err, "a server that has a stand-in is not looked for"


def _not_planned(number: int) -> SessionPlan:
    raise AssertionError(f"call {number} has no agent")
