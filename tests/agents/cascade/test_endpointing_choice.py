"""The choice of a policy for its promise: cuts under the laws of pauses, and answers as heard."""

import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.endpointing import VOICED_AFTER_MS, Seen, SeenPause, arrays
from benchmarks.endpointing_choice import Waits, Way, averaged, choose, expected, oracle, swept
from harness.scenarios.pause_law import BETWEEN_PEOPLE, TO_AGENTS

AT_ONCE = Way(ready_p50_ms=10, ready_p95_ms=20, transport_ms=30)


def always(wait_ms: float) -> Waits:
    return Waits(0.0, wait_ms, wait_ms, -math.inf)


def pause(number: int, start: float, length: float | None, kind: str = "mid_sentence", cue: str = "drawn_out") -> SeenPause:
    marked = None if length is None else length
    scores = {"llm": 0.5, "smart-turn": 0.5, "last-word": 1.0}
    return SeenPause(f"c{number}", 0, "joe", "clean", start, length, marked, kind, "so I left", 1_000, scores, (cue,))


def turns(lengths: list[float]) -> Seen:
    rows = []
    for number, length in enumerate(lengths):
        rows += [pause(number, -3_000, length), pause(number, 10, None, "unmarked", "falling_pitch")]
    return arrays(rows)


def test_a_pause_counts_with_the_share_of_its_law_that_is_longer_than_the_wait() -> None:
    # Lengths as drawn play no part: only the law says which of them would have been cut.
    short, long = (expected(always(600), np.zeros(8), turns([length] * 4), AT_ONCE) for length in (220.0, 4_000.0))
    assert short.cut == long.cut == pytest.approx(TO_AGENTS.longer_than(600 - VOICED_AFTER_MS), abs=0.002)
    assert long.cut_between == pytest.approx(BETWEEN_PEOPLE.longer_than(600 - VOICED_AFTER_MS), abs=0.002)


def test_a_silence_that_nobody_marked_has_its_own_length() -> None:
    seen = turns([300.0, 300.0])
    unmarked = replace(seen, marked_ms=np.full(4, np.nan))
    assert expected(always(400), np.zeros(4), unmarked, AT_ONCE).cut == 0
    assert expected(always(300), np.zeros(4), unmarked, AT_ONCE).cut == 1


def test_an_answer_is_heard_after_the_later_of_decision_and_reply_and_after_its_way() -> None:
    seen = turns([300.0])
    waited = expected(always(440), np.zeros(2), seen, AT_ONCE)
    assert waited.p50_ms == waited.mean_ms == 10 + 440 + 30
    assert waited.within == 1
    assert expected(always(470), np.zeros(2), seen, AT_ONCE).within == 0
    late = expected(always(300), np.zeros(2), seen, Way(ready_p50_ms=480, ready_p95_ms=481, transport_ms=30))
    assert late.within == 0
    assert late.p50_ms == pytest.approx(10 + 480 + 30, abs=1)


def test_the_choice_keeps_its_share_of_cuts_and_answers_more_ends_if_more_may_be_cut() -> None:
    seen = turns([300.0] * 40)
    odds = np.where(seen.final, 1.0, -1.0) + np.random.default_rng(0).normal(0, 1, seen.final.size)
    worked = swept([(odds, seen)], Way())
    (_, few), (_, many) = choose(worked, 0.03), choose(worked, 0.10)
    assert few.cut <= 0.03 < many.cut <= 0.10
    assert few.within < many.within
    assert few.mean_ms > many.mean_ms


def test_every_set_has_the_same_weight() -> None:
    few, many = turns([300.0]), turns([300.0] * 9)
    both = [(np.zeros(2), few), (np.where(many.final, 9.0, -9.0), many)]
    waits = Waits(2.0, 350.0, 2_350.0, 8.0)
    alone = [averaged(waits, [each], AT_ONCE) for each in both]
    together = averaged(waits, both, AT_ONCE)
    assert alone[0].cut > alone[1].cut
    assert together.cut == pytest.approx((alone[0].cut + alone[1].cut) / 2)
    assert together.mean_ms == pytest.approx((alone[0].mean_ms + alone[1].mean_ms) / 2)


def test_the_oracle_knows_all_but_what_callers_leave_open() -> None:
    rows = [
        pause(0, -2_000, 300),
        pause(0, 0, None, "unmarked", "falling_pitch"),
        pause(1, -2_000, 300, "after_sentence", "as_read"),
        pause(1, 0, None, "unmarked", "plateau"),
        pause(2, 0, None, "unmarked", "falling_pitch"),
    ]
    held, fallen, as_read, plateau, _ = oracle(arrays(rows))
    assert fallen == as_read
    assert held == plateau
    assert fallen > held
