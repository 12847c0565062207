"""The load at which stages are isolated, and what a reader is told."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from harness.agents.cascade.settings import ComputingStage
from harness.agents.connections import ConnectionSpec
from harness.calibrate.agent_process import metrology_agent
from harness.caller import SessionPlan
from harness.errors import AgentError
from harness.experiment import Experiment
from harness.figures.interference import ORDER, STAGES, Interference, Ratio, Slowing, StageTime, interference
from harness.load.agent import LoadRequest, _isolated, _Prepared
from harness.load.arrivals import Arrivals
from harness.load.ceiling import LoadResult
from harness.load.isolate import _marked, isolate
from harness.load.isolated import HIGHEST, KNEE, LOWEST, ONLY, Isolated, Play, load_to_isolate
from harness.load.result import LoadStep
from harness.load.steps import Load
from harness.progress import RunProgress
from harness.reports.isolated_words import as_text, rows, sentences
from harness.run.caller_turns import render_turns
from harness.run.plan import make_plan
from harness.store.load_files import LoadMade, LoadTurn
from harness.timing.quantiles import Quantiles
from harness.wording import UNKNOWN_TEXT
from tests.harness.load.made_plays import plays
from tests.harness.load.made_turns import turn
from tests.harness.load.test_load import _calls


def step(callers: int, *, held: bool = True, rate: float | None = None, p95_ms: float = 400.0) -> LoadStep:
    return LoadStep(
        callers, 80, 0, 0, 0.3, 2.0, 1.0, 1.5, Quantiles(p50=300.0, p95=p95_ms, n=80), () if held else ("frames left late",),
        rate=rate, calls_at_once=callers, ttfa_by_stretch={str(k): [p95_ms] * 10 for k in range(8)},
    )  # fmt: skip


def test_the_load_is_the_ceiling_of_a_closed_loop() -> None:
    assert load_to_isolate(LoadResult((step(1), step(2), step(5, held=False)), "")) == (2, HIGHEST)
    assert load_to_isolate(LoadResult((step(5, held=False),), "")) == (5, ONLY)
    assert load_to_isolate(LoadResult((step(4, held=False), step(2, held=False)), "")) == (2, LOWEST)


def test_the_load_is_the_knee_of_an_open_loop_and_else_its_ceiling() -> None:
    arrivals = Arrivals("poisson", 8, 180.0, 1)
    bent = [step(1, rate=1), step(2, rate=2), step(4, rate=4, p95_ms=2_000.0), step(8, rate=8, p95_ms=9_000.0)]
    assert load_to_isolate(LoadResult(tuple(bent), "", None, arrivals)) == (2, KNEE)
    straight = LoadResult((step(1, rate=1), step(2, rate=2), step(4, rate=4)), "", None, arrivals)
    assert load_to_isolate(straight) == (4, HIGHEST)
    falling = LoadResult(tuple(step(n, rate=n, p95_ms=300.0 * n**2) for n in (1, 2, 4)), "", None, arrivals)
    assert load_to_isolate(falling) == (4, HIGHEST), "a knee before the first step is no load that was played"


def found(turns: list[LoadTurn], played: int = len(ORDER)) -> Isolated:
    return Isolated(2, HIGHEST, tuple(Play(one, 12, 0) for one in ORDER[:played]), interference(turns))


def test_what_slows_what_is_said_first_and_what_does_not_is_no_clear_change() -> None:
    said = list(sentences(found(plays({("tts", "llm"): 1.5})), is_open=False))
    assert said[0].startswith("Each stage alone and with the others, at 2 at once: the highest load within every bound.")
    assert sum(one.startswith("llm slows tts: ") for one in said) == 1
    assert " in the median, × 1." in next(one for one in said if one.startswith("llm slows tts: "))
    (unclear,) = [one for one in said if one.startswith("No clear change: ")]
    assert "asr beside tts" in unclear
    assert "tts beside llm" not in unclear
    assert max(place for place, one in enumerate(said) if " slows " in one) < said.index(unclear)


def test_few_turns_left_out_plays_and_missing_ones_are_said() -> None:
    turns = plays({}, stretches=1, turns=2, order=ORDER[:5])
    few = replace(found(turns, 5), plays=(*found(turns, 4).plays, Play(("llm", "tts"), 4, 1, "the machine: frames left late")))
    said = "\n".join(sentences(few, is_open=False))
    assert "an interval needs 8" in said
    assert "a p95 needs 60" in said
    assert "9 plays of 14 missing" in said
    assert "One play of llm and tts is left out: the machine: frames left late." in said
    assert "1 of 52 calls failed" in said


def test_a_machine_that_changed_between_the_two_plays_is_said() -> None:
    rows_of = plays({}, stretches=2)
    assert "changed meanwhile" not in "\n".join(sentences(found(rows_of), is_open=False))
    slow = [row.model_copy(update={"own_ms": {"asr": 900.0}}) if row.step == 3 else row for row in rows_of]
    said = [one for one in sentences(found(slow), is_open=False) if "changed meanwhile" in one]
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
    row = turn(0, 0, ttft_ms=100.0, own_ms={"llm": 100.0, "tts": 50.0}, stages={"llm": (0.0, 100.0), "tts": (100.0, 50.0)})
    spoken = _marked(row.model_copy(update={"stages": {**row.stages, "first_clause": (90.0, 10.0)}}), ("tts",), counts=True)
    assert set(spoken.stages) == {"tts"}, "clauses of a scripted reply are no measurement either"
    asked = _marked(row.model_copy(update={"stages": {**row.stages, "endpointing": (-9.0, 9.0)}}), ("llm",), counts=True)
    assert set(asked.stages) == {"llm", "endpointing"}
    assert asked.ttft_ms == 100.0
    assert not _marked(row.model_copy(update={"counted": False}), ("tts",), counts=True).counted
    marked = _marked(row, ("tts",), counts=True)
    assert marked.own_ms == {"tts": 50.0}
    assert set(marked.stages) == {"tts"}
    assert marked.ttft_ms is None
    assert marked.computing == ("tts",)
    assert not _marked(row, ("tts",), counts=False).counted


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


def test_what_is_clear_comes_before_what_may_be_chance() -> None:
    said = list(sentences(Isolated(0.5, KNEE, (), BY_HAND), is_open=True))
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
    assert "more --rounds gives" in "\n".join(sentences(Isolated(2, KNEE, (), BY_HAND), is_open=False))


def test_a_cell_has_its_figure_its_interval_and_its_shade() -> None:
    matrix = {row.stage: row.cells for row in rows(Isolated(2, KNEE, (), BY_HAND))}
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

    def context(self, number: int) -> str:
        return f"context {number}"


async def test_finished_plays_are_stored_when_the_agent_fails_later() -> None:
    stored: list[LoadResult] = []
    rows: list[LoadTurn] = []
    started: list[list[ComputingStage]] = []
    async with metrology_agent(1, 9, keep_arrivals=False, delay_ms=300) as agent:
        calls = ToOneAgent(agent.url)

        @asynccontextmanager
        async def running(stand_ins: Sequence[ComputingStage]) -> AsyncIterator[ToOneAgent]:
            started.append(list(stand_ins))
            if len(started) == 3:
                raise AgentError("it died")
            yield calls

        each = Load(calls.plan, rows=rows.extend, finished=stored.append)
        with pytest.raises(AgentError, match="it died"):
            await isolate(each, LoadResult((step(1),), ""), (), 1, running, lambda _: None)
    assert started == [["llm", "tts"], ["asr", "tts"], ["asr", "llm"]]
    last = stored[-1].isolated
    assert last is not None
    assert (len(last.plays), last.missing) == (2, 12)
    assert [(row.step, row.computing, row.context) for row in rows] == [
        (1, ("asr",), "context 0"),
        (2, ("llm",), "context 0"),
    ]
    assert stored[-1].steps == stored[0].steps, "plays are no steps"
    alone = last.matrix.alone("asr")
    assert alone is not None
    assert alone.turns == 0
    assert "1 of 1 turn stamped no asr where asr computed." in list(sentences(last, is_open=False))


async def test_a_play_of_an_open_loop_that_came_late_is_stored_and_in_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.load.isolate.ORDER", (("asr",),))
    monkeypatch.setattr("harness.load.measuring.late_arrivals", lambda _: "callers came late")
    stored: list[LoadResult] = []
    rows: list[LoadTurn] = []
    async with metrology_agent(1, 9, keep_arrivals=False, delay_ms=300) as agent:
        calls = ToOneAgent(agent.url)

        @asynccontextmanager
        async def running(_: Sequence[ComputingStage]) -> AsyncIterator[ToOneAgent]:
            yield calls

        arrivals = [Arrivals("poisson", rate, 4.0, 1) for rate in (2, 0.5)]
        each = Load(calls.plan, rows=rows.extend, finished=stored.append)
        await isolate(each, LoadResult((step(1, rate=0.5),), ""), arrivals, 1, running, lambda _: None)
    assert len(rows) == len(arrivals[1].offsets_ns()) > 0
    assert all((row.rate, row.computing, row.counted) == (0.5, ("asr",), False) for row in rows)
    last = stored[-1].isolated
    assert last is not None
    (play,) = last.plays
    assert (play.calls, play.failed) == (len(rows), 0)
    assert "callers came late" in play.left_out
    assert last.matrix.times == () or last.matrix.times[0].turns == 0


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
    rows: list[LoadTurn] = []
    with RunProgress() as progress:
        plan = make_plan(experiment)
        made, sampled = LoadMade(agent="scripted", pack="two-words"), tmp_path / "telemetry.jsonl"
        ready = _Prepared(plan, {}, render_turns(plan, progress), made, sampled)
        each = Load(_not_planned, rows=rows.extend, within=tmp_path)
        await _isolated(ready, request, progress, each, LoadResult((step(1),), ""))
    assert len(rows) == 1
    assert all(row.failure is None for row in rows)
    samples = [json.loads(line) for line in sampled.read_text(encoding="utf-8").splitlines()]
    during = [sample for sample in samples if rows[0].begin_ns < sample["at_ns"] < rows[-1].end_ns]
    assert any({"cpu_percent", "scripted.cpu_percent", "harness caller.cpu_percent"} <= sample.keys() for sample in during)
    assert "metrics of" not in capfd.readouterr().err, "a server that has a stand-in is not looked for"


def _not_planned(number: int) -> SessionPlan:
    raise AssertionError(f"call {number} has no agent")
