"""A step's waits for model servers: each call is measured with its own part of the samples, and a row has the mean parts."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.made_recordings import Said, make_recording, voice
from harness.agents import marks
from harness.caller import SessionOutcome
from harness.caller.exchange import write_raw
from harness.figures.load_steps import load_figures
from harness.load.measuring import Call, Offered, measured_step
from harness.load.result import LoadStep, Used
from harness.reports.load_servers import HEAD, servers_notes, servers_rows
from harness.servers.samples import ServerSample
from harness.servers.split import ServerSplit
from harness.store.load_files import LoadTurn, append_turns, read_turns
from tests.harness.load.made_turns import turn
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
    call = Call(0, "c", SessionOutcome("replied", begun_ns=began_ns), tmp_path)
    step, rows = await measured_step(
        Offered(0, callers=1), [call], None, lambda _: Used(1, 0.0, 0.0, 0.0, 0.0), samples=samples
    )
    ((from_ns, until_ns),) = asked
    assert from_ns < began_ns
    assert until_ns > rows[0].end_ns
    ((split,),) = (row.servers for row in rows)
    assert (split.source, split.queue_ms, split.prefill_ms) == ("counters", 30, 150)
    (told,) = step.to_json()["servers"]
    assert (told["stage"], told["split"], told["turns"]) == ("llm", 1, 1)
    assert told["queue_ms"]["mean"] == pytest.approx(30)
    append_turns(tmp_path, rows)
    assert next(iter(read_turns(tmp_path))).servers == (split,)


def served(number: int, waiting: int) -> LoadTurn:
    return turn(number, 5.0 * number, rate=1.0 + waiting, servers=(queued_behind(waiting),))


def step(turns: Sequence[LoadTurn], *, late: str = "") -> LoadStep:
    found = load_figures(turns)
    return LoadStep(
        9, len(turns), 0, 0, 0.3, 2.0, 1.0, 1.5, found.ttfa_ms, (late,) if late else (), rate=turns[0].rate, figures=found
    )  # fmt: skip


def test_a_row_says_which_part_grows_with_the_load() -> None:
    steps = [step([served(k, waiting) for k in range(40)]) for waiting in (0, 4)]
    rows = [dict(zip(("rate", *HEAD), row, strict=True)) for row in servers_rows(steps)]
    assert [row["rate"] for row in rows] == ["1", "5"]
    assert [row["Queue"].splitlines()[0] for row in rows] == ["50 ms", "450 ms"]
    assert {row["Prefill"].splitlines()[0] for row in rows} == {"110 ms"}
    assert {row["First decode"].splitlines()[0] for row in rows} == {"10 ms"}
    assert {row["Turns"] for row in rows} == {"40/40"}
    assert len(rows[0]["Queue"].splitlines()) == 2, "an interval over stretches of time"
    assert servers_notes(steps)[0].startswith("1 calls/s, TTFT: ")
    assert "at most 4 requests ran and 3 waited at once" in servers_notes(steps)[0]


def test_few_stretches_give_no_interval_and_a_step_that_says_nothing_has_no_row() -> None:
    few = step([served(k, 0) for k in range(10)])
    assert "too few stretches of time for intervals" in servers_notes([few])[0]
    late = step([served(k, 0) for k in range(40)], late="callers came late")
    assert servers_rows([late, step([turn(k, k) for k in range(9)])]) == []
    assert late.to_json()["servers"] is None


def test_turns_that_do_not_count_or_were_discarded_take_no_part() -> None:
    counted = [served(k, 0) for k in range(10)]
    others = [served(20, 9).model_copy(update={"counted": False}), served(21, 9).model_copy(update={"discarded": "echo"})]
    (row,) = load_figures([*counted, *others]).servers
    assert (row.queue_ms.mean, row.left_out) == (50.0, 1)
