"""Who slows whom, on rows whose interference is known: factors are found, none is found where there is none."""

import pytest

from harness.figures.interference import CONFIGURATIONS, ORDER, STAGES, interference
from tests.harness.load.made_plays import ALONE_MS, plays
from tests.harness.load.made_turns import turn


def test_every_subset_is_played_twice_and_at_the_same_time_on_average() -> None:
    assert len(CONFIGURATIONS) == 7
    places = {one: [place for place, other in enumerate(ORDER) if other == one] for one in CONFIGURATIONS}
    assert {sum(found) for found in places.values()} == {len(ORDER) - 1}


def test_a_known_factor_is_found_in_the_pair_and_in_all_together() -> None:
    found = interference(plays({("tts", "llm"): 1.5}))
    slowed = found.slowing("tts", ["llm"])
    assert slowed is not None
    assert slowed.p50 is not None
    assert slowed.p50.interval is not None
    assert slowed.p50.interval[0] < 1.5 < slowed.p50.interval[1]
    assert slowed.p50.is_clear
    assert slowed.p50.alone_ms == pytest.approx(ALONE_MS["tts"], rel=0.1)
    assert slowed.p95 is not None, "120 turns are enough"
    assert slowed.p95.value == pytest.approx(1.5, rel=0.15)
    both = found.slowing("tts", ["asr", "llm"])
    assert both is not None
    assert both.p50 is not None
    assert both.p50.value == pytest.approx(1.5, rel=0.15)
    other_way = found.slowing("llm", ["tts"])
    assert other_way is not None
    assert other_way.p50 is not None
    assert other_way.p50.value == pytest.approx(1, rel=0.1)


def test_without_interference_intervals_cover_one_about_as_often_as_they_promise() -> None:
    ratios = [one.p50 for seed in range(6) for one in interference(plays({}, seed=seed)).slowings]
    wrong = sum(ratio is not None and ratio.is_clear for ratio in ratios)
    assert len(ratios) == 6 * 9
    assert wrong <= 0.15 * len(ratios)


def test_a_drift_of_the_machine_is_no_interference() -> None:
    drifting = [
        row.model_copy(update={"own_ms": {stage: ms * (1 + 0.03 * (row.step - 3)) for stage, ms in row.own_ms.items()}})
        for row in plays({}, seed=5)
    ]
    for one in interference(drifting).slowings:
        assert one.p50 is not None
        assert one.p50.value == pytest.approx(1, rel=0.12)


def test_few_turns_have_a_ratio_and_neither_interval_nor_p95() -> None:
    found = interference(plays({("tts", "llm"): 1.5}, stretches=2, turns=2))
    slowed = found.slowing("tts", ["llm"])
    assert slowed is not None
    assert slowed.p50 is not None
    assert slowed.p50.interval is None
    assert not slowed.p50.is_clear
    assert slowed.p95 is None
    assert found.stretches < 8


def test_turns_without_stamps_are_counted_and_those_of_steps_or_stand_ins_take_no_part() -> None:
    rows = plays({})
    bare = [row.model_copy(update={"own_ms": {}}) for row in rows if row.computing == ("asr",)][:5]
    of_steps = [turn(k, k, own_ms=dict.fromkeys(STAGES, 9000000000.0)) for k in range(50)]
    uncounted = [row.model_copy(update={"counted": False, "own_ms": {"asr": 9e9}}) for row in rows if row.computing == ("asr",)]
    alone = interference([*rows, *bare, *of_steps, *uncounted]).alone("asr")
    assert alone is not None
    assert alone.without == 5
    assert alone.p50_ms == pytest.approx(ALONE_MS["asr"], rel=0.1)


def test_what_was_not_played_yet_is_absent() -> None:
    found = interference(plays({}, order=ORDER[:4]))
    assert found.alone("llm") is not None
    assert found.slowing("asr", ["llm"]) is not None
    assert found.slowing("tts", ["llm"]) is None
    assert interference([]).times == ()
