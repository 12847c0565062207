"""Who slows whom, on rows whose interference is known: factors are found, none is found where there is none."""

import pytest

from harness.figures.interference import CONFIGURATIONS, ORDER, Ratio, Stretches, interference
from tests.harness.load.made_plays import ALONE_MS, Plays, plays


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
    drifting: Plays = [
        (one, {k: [{stage: ms * (1 + 0.03 * n) for stage, ms in turn.items()} for turn in group] for k, group in of.items()})
        for n, (one, of) in enumerate(plays({}, seed=5))
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


def test_turns_without_stamps_are_counted() -> None:
    alone = interference([*plays({}), (("asr",), {"0": [{}] * 5})]).alone("asr")
    assert alone is not None
    assert alone.without == 5
    assert alone.p50_ms == pytest.approx(ALONE_MS["asr"], rel=0.1)


def test_what_was_not_played_yet_is_absent() -> None:
    found = interference(plays({}, order=ORDER[:4]))
    assert found.alone("llm") is not None
    assert found.slowing("asr", ["llm"]) is not None
    assert found.slowing("tts", ["llm"]) is None
    assert interference([]).times == ()


def of_asr(values: list[float], *, computing: tuple[str, ...] = ("asr",)) -> tuple[tuple[str, ...], Stretches]:
    return computing, {"0": [{"asr": ms} for ms in values]}


def test_a_time_is_of_both_plays_and_each_has_its_median() -> None:
    alone = interference([of_asr([10.0, 20.0, 90.0]), of_asr([30.0, 40.0, 110.0])]).alone("asr")
    assert alone is not None
    assert (alone.turns, alone.p50_ms, alone.p95_ms, alone.plays_ms) == (6, 35.0, None, (20.0, 40.0))


def test_a_p95_needs_sixty_turns() -> None:
    for count, p95_ms in ((59, None), (60, pytest.approx(57.05))):
        alone = interference([of_asr([float(k) for k in range(1, count + 1)])]).alone("asr")
        assert alone is not None
        assert alone.p95_ms == p95_ms


def test_stages_have_one_order_whatever_order_was_stored() -> None:
    found = interference([of_asr([10.0] * 3), of_asr([20.0] * 3, computing=("tts", "llm", "asr"))])
    (slowing,) = found.slowings
    assert slowing.by == ("llm", "tts")
    assert slowing.p50 is not None
    assert (slowing.p50.alone_ms, slowing.p50.beside_ms, slowing.p50.value) == (10.0, 20.0, 2.0)


def test_a_stage_without_a_time_alone_has_no_ratio() -> None:
    for alone in ([0.0] * 3, []):
        found = interference([of_asr(alone), of_asr([20.0] * 3, computing=("asr", "llm"))])
        assert all(slowing.p50 is None for slowing in found.slowings)


def test_stretches_are_those_of_the_shortest_configuration() -> None:
    short = [(one, of if one != ("llm",) else {"0": of["0"]}) for one, of in plays({})]
    assert interference(plays({})).stretches > 8
    assert interference(short).stretches == 2, "one in each play"


@pytest.mark.parametrize(
    ("interval", "clear"), [((1.1, 1.4), True), ((0.6, 0.9), True), ((0.9, 1.2), False), ((1.0, 1.2), False), (None, False)]
)
def test_a_change_is_clear_where_the_interval_excludes_one(interval: tuple[float, float] | None, clear: bool) -> None:
    assert Ratio(100.0, 120.0, 1.2, interval).is_clear is clear
