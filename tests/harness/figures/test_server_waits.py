"""Waits for model servers over turns: means that sum, and turns that take no part."""

from dataclasses import replace

import pytest

from harness.figures.server_waits import HEAD, server_waits, waits_notes, waits_rows
from harness.servers.split import ServerSplit
from harness.timing.figures import TurnTiming

SPLIT = ServerSplit(
    "llm", "llama.cpp", 200.0, 20.0, "request", queue_ms=50.0, compute_ms=120.0, prefill_ms=110.0, first_decode_ms=10.0,
    idle_ms=10.0, running=2.0, waiting=1.0, prefix_share=0.5,
)  # fmt: skip
TURN = TurnTiming(method="test", spoken_end_ms=1_000.0, ttfa_ms=500.0, ttft_ms=200.0, servers=(SPLIT,))
WHOLE = replace(
    SPLIT, source="none", unexplained_ms=200.0, queue_ms=None, compute_ms=None, prefill_ms=None, first_decode_ms=None,
    idle_ms=None, note="3 requests were in this window, and counters cannot tell them apart",
)  # fmt: skip


def scaled(factor: float) -> TurnTiming:
    names = ("whole_ms", "unexplained_ms", "queue_ms", "compute_ms", "prefill_ms", "first_decode_ms", "idle_ms")
    return replace(TURN, servers=(replace(SPLIT, **{name: factor * getattr(SPLIT, name) for name in names}),))


def test_means_of_the_parts_sum_to_the_mean_wait_and_have_intervals_from_eight_conversations_on() -> None:
    (row,) = server_waits({f"c{k}": [scaled(1 + k / 10)] for k in range(9)}, seed=1)
    parts = [row.queue_ms.mean, row.compute_ms.mean, row.idle_ms.mean, row.unexplained_ms.mean]
    assert row.wait_ms.mean == pytest.approx(280)
    assert sum(p or 0.0 for p in parts) == pytest.approx(row.wait_ms.mean)
    assert row.queue_ms.interval is not None
    assert row.queue_ms.interval[0] < row.queue_ms.mean < row.queue_ms.interval[1]  # type: ignore[operator]
    assert row.explained == pytest.approx(0.9)
    assert row.explained_interval == pytest.approx((0.9, 0.9))
    assert (row.turns, row.split, row.sources, row.left_out) == (9, 9, {"request": 9}, 0)
    (few,) = server_waits({"c": [TURN, scaled(2)]}, seed=1)
    assert few.queue_ms.interval is None
    assert "too few conversations for intervals" in waits_notes([("bot", [few])])[0]


def test_turns_that_cannot_be_split_are_counted_with_their_reason_and_enter_no_mean() -> None:
    (row,) = server_waits({"a": [TURN], "b": [replace(TURN, servers=(WHOLE,))]}, seed=1)
    assert (row.turns, row.split) == (2, 1)
    assert (row.queue_ms.mean, row.explained) == pytest.approx((50.0, 0.9))
    assert row.notes == {WHOLE.note: 1}
    assert f"1 turn: {WHOLE.note}" in waits_notes([("bot", [row])])[0]


def test_a_part_that_nobody_measured_is_absent_and_never_zero() -> None:
    bare = replace(SPLIT, idle_ms=None, queue_ms=None, first_decode_ms=None, unexplained_ms=80.0)
    (row,) = server_waits({"a": [replace(TURN, servers=(bare,))]}, seed=1)
    assert (row.idle_ms.mean, row.queue_ms.mean, row.first_decode_ms.mean) == (None, None, None)
    (cells,) = waits_rows([("bot", [row])])
    assert len(cells) == len(HEAD)
    assert cells[HEAD.index("Idle")] == "—"
    assert "idle time was measured in 0 of 1" in waits_notes([("bot", [row])])[0]


def test_an_interval_below_zero_has_a_minus_and_no_hyphen() -> None:
    (row,) = server_waits(
        {f"c{k}": [replace(TURN, servers=(replace(SPLIT, unexplained_ms=-5.0 - k),))] for k in range(9)}, seed=1
    )
    (cells,) = waits_rows([("bot", [row])])
    assert "−" in cells[HEAD.index("Unexplained")].split("\n")[1]
    assert "-" not in cells[HEAD.index("Unexplained")]
