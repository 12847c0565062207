"""A step's waits for model servers: each call is measured with its own part of the samples, and a row has the mean parts."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.made_recordings import Said, make_recording, voice
from harness.agents import marks
from harness.caller import SessionOutcome
from harness.caller.exchange import write_raw
from harness.figures.server_waits import HEAD, waits_notes, waits_rows
from harness.figures.steps import step_figures
from harness.load.measuring import Call, Offered, measured_step
from harness.load.result import Step
from harness.load.steps import numbered
from harness.reports.load_words import STRETCHES, served
from harness.servers.samples import ServerSample
from harness.servers.split import ServerSplit
from harness.store.load_part import Used
from harness.store.session import UnrecordedCall
from tests.harness.load.made_turns import result_of, step, turn, written
from tests.harness.servers.test_served_turns import marked, sample

SPLIT = ServerSplit(
    "llm", "vllm", 200.0, 20.0, "request", queue_ms=50.0, compute_ms=120.0, prefill_ms=110.0, first_decode_ms=10.0,
    idle_ms=10.0, running=4.0, waiting=3.0,
)  # fmt: skip


def queued_behind(others: int) -> ServerSplit:
    more_ms = 100.0 * others
    assert SPLIT.queue_ms is not None
    return replace(SPLIT, whole_ms=SPLIT.whole_ms + more_ms, queue_ms=SPLIT.queue_ms + more_ms)


async def test_a_call_is_measured_with_the_samples_of_its_own_time(tmp_path: Path) -> None:
    made = make_recording()
    write_raw(
        make_recording(Said(1.050, voice(1.0)), marks=marked(made, (marks.LLM_DONE, 0.79, {"request": 1}))).recording, tmp_path
    )
    one = {"queue_ms": 30.0, "queue_n": 1.0, "prefill_ms": 150.0, "prefill_n": 1.0, "finished": 1.0, "work": 9.0}
    free = {"running": 0.0, "waiting": 0.0}
    series = (sample(made, 0.5, **dict.fromkeys(one, 0.0), **free), sample(made, 0.95, **one, **free))
    asked: list[tuple[int, int]] = []

    def samples(from_ns: int, until_ns: int) -> Sequence[ServerSample]:
        asked.append((from_ns, until_ns))
        return series

    began_ns = made.ms(-2.5)
    call = Call(0, numbered(0), SessionOutcome("replied", begun_ns=began_ns), tmp_path)
    used = Used(processes=1, cores_a_caller=0, busiest_process=0, machine=0, mib_a_caller=0)
    record, rows = await measured_step(Offered(callers=1), [call], None, lambda _: used, samples=samples)
    ((from_ns, until_ns),) = asked
    assert from_ns < began_ns
    ((timing,),) = (row.turn_timings for row in rows)
    assert until_ns > rows[0].started_ns + (timing.spoken_end_ms + (timing.reply_end_ms or 0)) * 1e6
    (split,) = timing.servers
    assert (split.source, split.queue_ms, split.prefill_ms) == ("counters", 30, 150)
    (told,) = Step(record, step_figures(rows)).to_json()["servers"]
    assert (told["stage"], told["split"], told["turns"]) == ("llm", 1, 1)
    assert told["queue_ms"]["mean"] == pytest.approx(30)
    store = written(tmp_path / "load", result_of(), rows)
    assert next(store.calls_of("1 at once")).turn_timings[0].servers == (split,)


def waiting(others: int, calls: int = 40) -> list[UnrecordedCall]:
    """Calls that waited behind so many others."""
    return [turn(k, 5.0 * k, rate=1.0 + others, servers=(queued_behind(others),)) for k in range(calls)]


def test_a_row_says_which_part_grows_with_the_load() -> None:
    steps = served(result_of(*(step(waiting(others), rate=1.0 + others) for others in (0, 4))))
    rows = [dict(zip(HEAD, row, strict=True)) for row in waits_rows(steps)]
    assert [row["Agent"] for row in rows] == ["1 calls/s", "5 calls/s"]
    assert [row["Queue"].splitlines()[0] for row in rows] == ["50 ms", "450 ms"]
    assert {row["Turns"] for row in rows} == {"40/40"}
    assert len(rows[0]["Queue"].splitlines()) == 2, "an interval over stretches of time"
    note = waits_notes(steps, STRETCHES)[0]
    assert note.startswith("1 calls/s, TTFT: ")
    assert "prefill 110 ms, first decode 10 ms" in note
    assert "at most 4 requests ran and 3 waited at once" in note


def test_few_stretches_give_no_interval_and_a_step_that_says_nothing_has_no_row() -> None:
    few = served(result_of(step(waiting(0, calls=10))))
    assert "too few stretches of time for intervals" in waits_notes(few, STRETCHES)[0]
    late = step(waiting(0), late="callers came late")
    assert waits_rows(served(result_of(late, step([turn(k, k) for k in range(9)])))) == ()
    assert late.to_json()["servers"] is None


def test_turns_that_do_not_count_or_were_discarded_take_no_part() -> None:
    slow = (queued_behind(9),)
    others = [turn(20, 100.0, counted=False, servers=slow), turn(21, 9.0, discarded="echo", servers=slow)]
    (row,) = step_figures([*waiting(0, calls=10), *others]).servers
    assert (row.queue_ms.mean, row.left_out) == (50.0, 1)
