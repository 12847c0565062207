"""The load at which stages are isolated, and what a reader is told."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from harness.agents.cascade.settings import ComputingStage
from harness.agents.connections import ConnectionSpec
from harness.calibrate.agent_process import metrology_agent
from harness.caller import SessionPlan
from harness.errors import AgentError
from harness.figures.interference import ORDER, STAGES, interference
from harness.load.arrivals import Arrivals
from harness.load.ceiling import LoadResult
from harness.load.isolate import _marked, isolate
from harness.load.isolated import HIGHEST, KNEE, LOWEST, ONLY, Isolated, Play, load_to_isolate
from harness.load.result import LoadStep
from harness.load.steps import Load
from harness.ranking.percentiles import Quantiles
from harness.reports.isolated_words import rows, sentences
from harness.store.load_files import LoadTurn
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
    marked = _marked(row, ("tts",), counts=True)
    assert marked.own_ms == {"tts": 50.0}
    assert set(marked.stages) == {"tts"}
    assert marked.ttft_ms is None
    assert marked.computing == ("tts",)
    assert not _marked(row, ("tts",), counts=False).counted


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
