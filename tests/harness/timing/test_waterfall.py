"""The waterfall against marks whose every time is programmed."""

from collections.abc import Sequence
from typing import Any

import pytest

from benchmarks.made_recordings import Said, make_recording, onset_ms, voice
from harness.agents import marks
from harness.agents.connection import Mark
from harness.timing import measure
from harness.timing.figures import TurnTiming, Waterfall
from tests.present import present

PLAIN = (
    (marks.SILENCE_SEEN, 0.200, None),
    (marks.ASR_STARTED, 0.201, None),
    (marks.ASR_DONE, 0.550, None),
    (marks.TURN_DECIDED, 0.555, None),
    (marks.LLM_REQUESTED, 0.557, 1),
    (marks.LLM_FIRST_TOKEN, 0.757, 1),
    (marks.FIRST_CLAUSE, 0.900, 1),
    (marks.TTS_STARTED, 0.902, 1),
    (marks.TTS_FIRST_AUDIO, 1.040, 1),
    (marks.AUDIO_SENT, 1.047, 1),
)
ARRIVED_S = 1.050
STAGES_MS = {
    "endpointing": 201, "asr": 349, "turn_decision": 5, "llm": 200, "first_clause": 143,
    "tts": 138 + onset_ms(voice(1.0)), "transport": 10, "unexplained": 4,
}  # fmt: skip


Steps = tuple[tuple[str, float, int | None], ...]


def _measured(
    steps: Steps, arrived_s: float = ARRIVED_S, detailed: Sequence[tuple[str, float, dict[str, Any]]] = (), grid_s: float = 1e-9
) -> TurnTiming:
    """A turn of an agent whose clock moves in steps of a grid. `detailed`: further marks, each with what it says."""
    made, grid_ns = make_recording(), round(grid_s * 1e9)
    every = [*((name, at_s, {} if request is None else {"request": request}) for name, at_s, request in steps), *detailed]
    stamped = [Mark(name, made.ms(at_s) // grid_ns * grid_ns, made.ms(at_s + 0.001), says) for name, at_s, says in every]
    return measure(make_recording(Said(arrived_s, voice(1.0)), marks=stamped).recording)


def _waterfall(steps: Steps, arrived_s: float = ARRIVED_S, grid_s: float = 1e-9) -> tuple[Waterfall, float]:
    timing = _measured(steps, arrived_s, grid_s=grid_s)
    return present(timing.waterfall), present(timing.ttfa_ms)


def _stages(waterfall: Waterfall) -> dict[str, float]:
    return {stage.name: stage.duration_ms for stage in waterfall.stages}


def test_every_stage_has_its_time_and_they_sum_to_ttfa() -> None:
    waterfall, ttfa_ms = _waterfall(PLAIN, ARRIVED_S)
    stages = _stages(waterfall)
    for name, expected_ms in STAGES_MS.items():
        assert stages[name] == pytest.approx(expected_ms, abs=1.5), name
    assert sum(stages.values()) == pytest.approx(ttfa_ms, abs=1e-6)
    assert waterfall.stages[-1].name == "unexplained"
    assert waterfall.hidden == ()


@pytest.mark.parametrize(
    ("from_mark", "stage"),
    [(1, "endpointing"), (2, "asr"), (5, "llm"), (6, "first_clause"), (8, "tts"), (10, "transport")],
)
def test_a_slower_stage_moves_its_own_bar_alone(from_mark: int, stage: str) -> None:
    before = _stages(_waterfall(PLAIN, ARRIVED_S)[0])
    slower = tuple((name, at + 0.2 * (k >= from_mark), r) for k, (name, at, r) in enumerate(PLAIN))
    after = _stages(_waterfall(slower, ARRIVED_S + 0.2)[0])
    for name, was_ms in before.items():
        assert after[name] - was_ms == pytest.approx(200 if name == stage else 0, abs=1), name


HELD = (
    (marks.SILENCE_SEEN, 0.078, None),
    (marks.ASR_STARTED, 0.079, None),
    (marks.ASR_DONE, 0.134, None),
    (marks.LLM_REQUESTED, 0.136, 2),
    (marks.LLM_FIRST_TOKEN, 0.228, 2),
    (marks.FIRST_CLAUSE, 0.296, 2),
    (marks.TTS_STARTED, 0.297, 2),
    (marks.TTS_FIRST_AUDIO, 0.379, 2),
    (marks.TURN_DECIDED, 0.465, None),
    (marks.AUDIO_SENT, 0.468, 2),
)


def test_work_behind_a_wait_is_hidden_and_not_summed() -> None:
    waterfall, ttfa_ms = _waterfall(HELD, 0.470)
    stages = _stages(waterfall)
    assert stages["endpointing"] == pytest.approx(78, abs=0.1)
    assert stages["turn_decision"] == pytest.approx(387, abs=0.1)
    assert set(stages) == {"endpointing", "turn_decision", "transport", "tts", "unexplained"}
    assert stages["unexplained"] == pytest.approx(0, abs=0.1)
    assert sum(stages.values()) == pytest.approx(ttfa_ms, abs=1e-6)
    assert {work.name for work in waterfall.hidden} == {"asr", "llm 2", "tts 2"}


def test_the_request_that_was_heard_is_followed_not_the_one_that_was_dropped() -> None:
    dropped = (
        (marks.LLM_REQUESTED, -0.500, 1),
        (marks.LLM_FIRST_TOKEN, -0.400, 1),
        (marks.FIRST_CLAUSE, -0.300, 1),
        (marks.TTS_STARTED, -0.300, 1),
        (marks.TTS_FIRST_AUDIO, -0.200, 1),
        (marks.SPECULATION_DROPPED, -0.100, 1),
    )
    renumbered = tuple((name, at, r and 2) for name, at, r in PLAIN)
    waterfall, _ = _waterfall(dropped + renumbered, ARRIVED_S)
    stages = _stages(waterfall)
    assert stages["llm"] == pytest.approx(200, abs=0.1)
    assert {"llm 1", "tts 1"} == {work.name for work in waterfall.hidden}


def test_a_draft_before_the_spoken_revision_is_part_of_the_model_s_time() -> None:
    draft = ((marks.LLM_REQUESTED, 0.557, 1), (marks.LLM_DONE, 1.057, 1))
    later = tuple((n, at + 0.502 * (r is not None), r and 2) for n, at, r in PLAIN)
    waterfall, _ = _waterfall(draft + later, ARRIVED_S + 0.502)
    stages = _stages(waterfall)
    assert stages["llm"] == pytest.approx(700, abs=0.1)
    assert stages["unexplained"] == pytest.approx(6, abs=0.5)


SCORED = (
    (marks.SILENCE_SEEN, 0.080, None),
    (marks.ASR_STARTED, 0.110, None),
    (marks.ASR_DONE, 0.200, None),
    (marks.TURN_SCORED, 0.450, None),
    (marks.LLM_REQUESTED, 0.453, 3),
    (marks.LLM_FIRST_TOKEN, 0.600, 3),
    (marks.FIRST_CLAUSE, 0.750, 3),
    (marks.TTS_STARTED, 0.751, 3),
    (marks.TTS_FIRST_AUDIO, 0.900, 3),
    (marks.AUDIO_SENT, 0.905, 3),
)


def _held(cause: str, scored_s: float) -> dict[str, float]:
    steps = tuple(step for step in HELD if step[0] != marks.TURN_DECIDED)
    decided: list[tuple[str, float, dict[str, Any]]] = [
        (marks.TURN_SCORED, scored_s, {}),
        (marks.ENDPOINT_REACHED, 0.462, {"cause": cause}),
        (marks.TURN_DECIDED, 0.465, {}),
    ]
    return _stages(present(_measured(steps, 0.470, decided).waterfall))


def test_what_the_endpoint_says_it_waited_for_outweighs_how_close_things_lie() -> None:
    for_silence = _held(marks.SILENCE_SEEN, scored_s=0.450)
    assert for_silence["turn_decision"] == pytest.approx(387, abs=0.1)
    assert "turn_score" not in for_silence
    for_score = _held(marks.TURN_SCORED, scored_s=0.400)
    assert for_score["turn_score"] == pytest.approx(266, abs=0.1)
    assert for_score["turn_decision"] == pytest.approx(65, abs=0.1)
    assert for_score["asr"] == pytest.approx(55, abs=0.1)


def test_waiting_for_a_busy_recogniser_is_recognition_and_not_silence() -> None:
    earlier = ((marks.ASR_STARTED, -0.400, None), (marks.ASR_DONE, 0.150, None))
    later = tuple((n, at + 0.060 * (n != marks.SILENCE_SEEN), r) for n, at, r in SCORED)
    stages = _stages(_waterfall(earlier + later, 0.967)[0])
    assert stages["endpointing"] == pytest.approx(80, abs=0.1)
    assert stages["asr"] == pytest.approx(180, abs=0.1)


def test_a_recogniser_that_waits_for_the_silence_to_last_is_not_busy() -> None:
    earlier = ((marks.ASR_STARTED, -0.400, None), (marks.ASR_DONE, 0.090, None))
    later = tuple((n, at + 0.060 * (n != marks.SILENCE_SEEN), r) for n, at, r in SCORED)
    stages = _stages(_waterfall(earlier + later, 0.967)[0])
    assert (stages["endpointing"], stages["asr"]) == pytest.approx((170, 90), abs=0.1), "idle from 90 ms on, begun at 170"


def test_an_effect_before_its_cause_is_refused_by_name() -> None:
    wrong = tuple((n, 0.5 if n == marks.TTS_FIRST_AUDIO else at, r) for n, at, r in PLAIN)
    waterfall, ttfa_ms = _waterfall(wrong, ARRIVED_S)
    assert waterfall.refused == ("tts_first_audio stamped before tts_started",)
    assert all(stage.duration_ms >= 0 for stage in waterfall.stages)
    assert sum(_stages(waterfall).values()) == pytest.approx(ttfa_ms, abs=1e-6)


@pytest.mark.parametrize(
    ("requested_s", "why"),
    [(-2.2, "before the turn began: longer than the turn"), (-30.0, "before the session began")],
)
def test_a_stage_longer_than_the_turn_is_refused_by_name(requested_s: float, why: str) -> None:
    wrong = tuple((n, requested_s if n == marks.LLM_REQUESTED else at, r) for n, at, r in PLAIN)
    timing = _measured(wrong)
    assert timing.refused == (f"llm_requested stamped {why}",)
    assert timing.ttft_ms is None
    stages = _stages(present(timing.waterfall))
    assert "llm" not in stages
    assert sum(stages.values()) == pytest.approx(timing.ttfa_ms)


def test_streaming_figures_are_those_of_the_request_that_was_spoken() -> None:
    done: list[tuple[str, float, dict[str, Any]]] = [
        (marks.LLM_DONE, 2.0, {"request": 1, "tokens_per_s": 40.0, "inter_token_gap_p95_ms": 30}),
        (marks.LLM_DONE, 2.0, {"request": 2, "tokens_per_s": 1.0}),
        (marks.TTS_DONE, 2.0, {"request": 1, "piece": 1, "audio_ms": 1_000, "real_time_factor": 0.1}),
        (marks.TTS_DONE, 2.0, {"request": 1, "piece": 2, "audio_ms": 3_000, "real_time_factor": 0.5}),
    ]
    timing = _measured(PLAIN, detailed=done)
    assert timing.tokens_per_s == 40
    assert timing.inter_token_gap_p95_ms == 30
    assert timing.tts_real_time_factor == pytest.approx(0.4)


CACHED = (
    *PLAIN[:4],
    (marks.LLM_REQUESTED, 0.557, 1),
    (marks.LLM_DONE, 0.557, 1),
    (marks.LLM_FIRST_TOKEN, 0.557, 1),
    *PLAIN[6:],
)


@pytest.mark.parametrize("grid_s", [0.001, 0.010, 0.100, 1.0])
@pytest.mark.parametrize("steps", [PLAIN, CACHED, HELD, SCORED])
def test_a_clock_of_any_grid_gives_stages_that_sum_to_ttfa(grid_s: float, steps: Steps) -> None:
    waterfall, ttfa_ms = _waterfall(steps, grid_s=grid_s)
    exact = _stages(_waterfall(steps)[0])
    assert all(stage.duration_ms >= 0 for stage in waterfall.stages)
    assert sum(_stages(waterfall).values()) == pytest.approx(ttfa_ms, abs=1e-6)
    if not waterfall.refused and grid_s < 0.1:
        assert all(abs(ms - exact.get(name, 0)) <= 2_000 * grid_s for name, ms in _stages(waterfall).items())


def test_of_stamps_that_all_bear_one_time_each_is_walked_through_once() -> None:
    one_now = tuple((n, 0.5, r) for n, _, r in (*CACHED, (marks.TURN_SCORED, 0, None), (marks.ENDPOINT_REACHED, 0, None)))
    waterfall, ttfa_ms = _waterfall(one_now, ARRIVED_S)
    stages = _stages(waterfall)
    assert stages["endpointing"] == pytest.approx(500, abs=0.1)
    assert sum(stages.values()) == pytest.approx(ttfa_ms, abs=1e-6)
    assert all(ms >= 0 for ms in stages.values())


def test_a_path_of_thousands_of_drafts_is_walked_to_its_end() -> None:
    drafts = [
        (name, -0.9 + k * 1e-4, k + 10) for k in range(3_000) for name in (marks.LLM_REQUESTED, marks.LLM_DONE)
    ]  # fmt: skip
    waterfall, ttfa_ms = _waterfall((*drafts, *PLAIN[4:]), ARRIVED_S)
    assert sum(_stages(waterfall).values()) == pytest.approx(ttfa_ms, abs=1e-6)
