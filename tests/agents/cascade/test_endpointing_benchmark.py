"""The endpoint benchmark's arithmetic, on turns whose answers are known."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.endpointing import (
    SeenPause,
    area,
    arrays,
    evaluate,
    frontier,
    hazard_rule,
    interval,
    shipped,
    silence_rule,
    threshold_rule,
)
from harness.agents.cascade.hazard import Head


def pause(context: str, start: float, length: float | None, smart: float = 0.5, kind: str = "mid_sentence") -> SeenPause:
    scores = {"llm": 0.5, "smart-turn": smart, "last-word": 1.0}
    return SeenPause(context, 0, "joe", "clean", start, length, None, kind, "so I left", 1_000, scores)


SEEN = arrays(
    [
        pause("one", -3000, 560, 0.1),
        pause("one", -2000, 900, 0.2),
        pause("one", 20, None, 0.9),
        pause("two", -1500, 300, 0.9, "after_sentence"),
        pause("two", 40, 210, 0.8),
        pause("two", 400, None, 0.8),
        pause("three", -900, 460, 0.1),
        pause("three", -600, 490, 0.1),
    ]
)


def test_cuts_and_dead_air_are_counted_as_defined() -> None:
    got = evaluate(silence_rule(500), SEEN)
    # A pause of 490 ms is cut by a wait of 500: its caller goes on too late for the look that precedes a decision.
    assert (got.cut, got.pauses) == (3, 5)
    # A silence near the spoken end that somebody speaks after once more is an end that was missed; the next one counts.
    assert list(got.dead_ms) == [520, 900, math.inf]


def test_audio_that_is_not_ready_is_waited_for() -> None:
    assert evaluate(silence_rule(200), SEEN, ready_ms=450).dead_ms[0] == 20 + 450


def test_a_threshold_waits_least_from_its_score_on() -> None:
    got = evaluate(threshold_rule("smart-turn", 0.0, 250, 2_000), SEEN)
    assert (got.cut, got.pauses) == (1, 5)
    assert got.dead_ms[0] == 270


def test_a_hazard_is_the_policy_of_the_agent() -> None:
    head = Head(0.0, {"smart-turn": 1.0})
    eager, patient = (evaluate(hazard_rule(head, price, 250, 2_400, math.inf), SEEN) for price in (0.0, 6.0))
    assert eager.cut > patient.cut
    assert eager.dead_ms[0] < patient.dead_ms[0]


@pytest.mark.parametrize("name", ["polaris-like", "eager", "patient"])
def test_shipped_profiles_are_worked_out_from_what_was_seen(name: str) -> None:
    got = evaluate(shipped(name), SEEN)
    assert got.pauses == 5
    assert math.isfinite(got.dead_ms[0])


def test_areas_count_ends_over_pauses_of_a_kind() -> None:
    score = SEEN.odds["smart-turn"]
    assert area(SEEN, score, ["mid_sentence"]) == 1.0
    # Ends of 0.9, 0.8, 0.8 against one pause of 0.9: half a win of three.
    assert area(SEEN, score, ["after_sentence"]) == pytest.approx(1 / 6)


def test_intervals_draw_whole_contexts_and_need_eight() -> None:
    assert interval(SEEN, lambda s: float(s.final.mean())) is None
    many: Sequence[SeenPause] = [p for k in range(9) for p in (pause(f"c{k}", -900, 300 + 40 * k), pause(f"c{k}", 0, None))]
    bounds = interval(arrays(many), lambda s: evaluate(silence_rule(450), s).share)
    assert bounds is not None
    assert bounds[0] < evaluate(silence_rule(450), arrays(many)).share < bounds[1]


def test_a_draw_holds_a_context_as_often_as_it_is_drawn() -> None:
    drawn = SEEN.of([0, 0, 2])
    assert drawn.turns == 3
    assert np.isfinite(evaluate(silence_rule(500), drawn).dead_ms).sum() == 2


def test_a_frontier_holds_what_nothing_beats() -> None:
    assert frontier([(0.0, 900.0), (0.1, 500.0), (0.1, 600.0), (0.2, 700.0)]) == [(0.0, 900.0), (0.1, 500.0)]
