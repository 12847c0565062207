"""The endpointing of a cell: shares by length and kind, dead air and decision delay, with an honest n."""

import json
from dataclasses import replace

import pytest

from harness.figures.endpointing import (
    BANDS_MS,
    ENDS_HEAD,
    EVERY_LENGTH,
    PAUSES_HEAD,
    EndpointingSummary,
    OpenPause,
    PauseShare,
    cut_by_law,
    ends_rows,
    pauses_rows,
    summarise_endpointing,
)
from harness.scenarios.pause_law import LAWS, PauseLaw
from harness.statistics.interval import TAIL
from harness.statistics.share_bounds import clopper_pearson
from harness.store.selection import NOT_TIMED
from harness.timing.figures import Endpointing, Fate, InnerPause, TurnTiming
from harness.turn_taking.detectors import DETECTORS
from tests.present import ends, present

TEXT = "I went, <pause 300> home. <pause 900> Then it was late."
LOST = TurnTiming(NOT_TIMED, 0.0, None, no_reply=True)


def pause(length_ms: float, fate: Fate = "kept", place: int = 0, decided: bool | None = None) -> InnerPause:
    return InnerPause(-3_000, -3_000 + length_ms, fate, True, place, decided)


def turn(*pauses: InnerPause, dead_air_ms: float | None = 500.0, **fields: object) -> TurnTiming:
    found = Endpointing("e", pauses, dead_air_ms, **fields)  # type: ignore[arg-type]
    return TurnTiming("m", 0.0, dead_air_ms, pauses_marked=2, no_reply=dead_air_ms is None, endpointing=found)


def summarise(*turns: TurnTiming, contexts: int | None = None, text: str | None = TEXT) -> EndpointingSummary:
    by_context: dict[str, list[TurnTiming]] = {}
    for k, one in enumerate(turns):
        by_context.setdefault(f"c{k % (contexts or len(turns))}", []).append(one)
    texts = {c: [text] * len(group) for c, group in by_context.items()}
    return summarise_endpointing(by_context, texts, seed=1)


def row(found: EndpointingSummary, kind: str, band: tuple[float, float | None] = EVERY_LENGTH) -> PauseShare:
    (wanted,) = (r for r in found.endpointing if r.kind == kind and r.pause_ms == band)
    return wanted


def test_pauses_are_counted_by_length_and_by_the_words_before_them() -> None:
    found = summarise(turn(pause(300), pause(900, "cut", 1)), turn(pause(400, "cut"), pause(1_600, "cut", 1)))
    assert found.inner_pauses_cut == (3, 4)
    assert found.pauses_cut_share == 0.75
    assert [(row(found, "all", band).cut, row(found, "all", band).of) for band in BANDS_MS] == [(0, 1), (1, 1), (1, 1), (1, 1)]
    assert (row(found, "mid_sentence").cut, row(found, "mid_sentence").of) == (1, 2)
    assert (row(found, "after_sentence").cut, row(found, "after_sentence").of) == (2, 2)
    assert row(found, "after_sentence", BANDS_MS[0]).share is None
    assert {r.kind for r in found.endpointing} == {"all", "mid_sentence", "after_sentence"}
    assert {r.kind for r in summarise(turn(pause(300)), text=None).endpointing} == {"all", "unknown"}


def test_intervals_are_over_conversations_and_absent_under_eight() -> None:
    turns = [turn(pause(300, "cut" if k % 4 == 0 else "kept"), dead_air_ms=400 + 10 * k) for k in range(16)]
    few, many = summarise(*turns, contexts=7), summarise(*turns)
    assert few.pauses_cut_interval is None
    assert few.dead_air_ms.mean_interval is None
    low, high = ends(many.pauses_cut_interval)
    assert low < 0.25 < high
    low, high = ends(many.dead_air_ms.mean_interval)
    assert low < present(many.dead_air_ms.mean) < high
    # Where no pause was cut at all, nobody knows that none ever will be.
    assert summarise(*[turn(pause(300))] * 8).pauses_cut_interval == pytest.approx(clopper_pearson(0, 8, TAIL))


def test_no_reply_and_a_lost_turn_count_as_15_s_and_rank_last() -> None:
    found = summarise(turn(dead_air_ms=500), turn(dead_air_ms=None), LOST)
    assert found.dead_air_ms.n == 3
    assert found.dead_air_ms.mean == pytest.approx((500 + 15_000 + 15_000) / 3)
    assert found.dead_air_ms.p50_over_limit
    assert found.endpointing_untimed == 0


def test_discarded_turns_take_no_part_and_too_many_of_them_take_everything() -> None:
    turns = [turn(pause(300), dead_air_ms=400.0)] * 40
    spoilt = replace(turn(pause(300, "cut"), dead_air_ms=9_000.0), discarded="no pitch")
    few = summarise(*turns, spoilt)
    assert few.inner_pauses_cut == (0, 40)
    assert few.dead_air_ms.mean == 400
    many = summarise(*turns, *[spoilt] * 5)
    assert many == EndpointingSummary()


def test_decisions_are_known_of_agents_that_tell_them() -> None:
    silent = summarise(turn(pause(300)))
    assert silent.decision_delay_ms.n == 0
    assert row(silent, "all").decided is None
    told = turn(pause(300, decided=False), pause(900, "cut", 1, decided=True), decision_ms=300.0, says_decisions=True)
    found = summarise(told, told, turn(pause(300)))
    assert found.decision_delay_ms.mean == 300
    assert found.decision_delay_ms.n == 2  # of the third the reply is there, and no word of its decision
    assert (row(found, "all").decided, row(found, "all").of) == (2, 5)
    deaf = summarise(told, turn(pause(300), dead_air_ms=None))
    assert deaf.decision_delay_ms.mean == pytest.approx((300 + 15_000) / 2)


def test_tables_have_a_cell_under_every_head() -> None:
    found = summarise(turn(pause(300, decided=True), pause(900, "cut", 1), decision_ms=200.0, says_decisions=True), LOST)
    (ends_row,) = ends_rows([("a", found)])
    assert len(ends_row) == len(ENDS_HEAD)
    assert ends_row[:3] == ("a", "2", "7.75 s")
    rows = pauses_rows([("a", found)])
    assert {len(r) for r in rows} == {len(PAUSES_HEAD)}
    assert [r[:3] for r in rows] == [
        ("a", "all", "1/2 50 %"),
        ("a", "mid-sentence", "0/1 0 %"),
        ("a", "after sentence", "1/1 100 %"),
    ]
    json.loads(found.model_dump_json())


def waited(law: PauseLaw, wait_ms: float, n: int) -> list[OpenPause]:
    """What an agent cuts that waits so long, on a pack whose pauses follow a law; one conversation for every four pauses."""
    lengths = [law.length_ms((k + 0.5) / n) for k in range(n)]
    return [OpenPause(f"c{k % (n // 4)}", ms, ms >= wait_ms) for k, ms in enumerate(lengths)]


@pytest.mark.parametrize("wait_ms", [400, 800])
def test_a_pack_of_one_law_tells_the_share_of_the_other(wait_ms: int) -> None:
    for drawn in LAWS.values():
        for found in cut_by_law(waited(drawn, wait_ms, 400)):
            # An agent that waits to the edge of a band cuts all or none in it, and the share is the law's own.
            assert found.share == pytest.approx(LAWS[found.law].longer_than(wait_ms), abs=0.002)
            low, high = ends(found.interval)
            assert low < present(found.share) < high
            many = present(found.effective_pauses)
            assert many == pytest.approx(400, abs=1) if found.law == drawn.name else many < 390


def test_a_band_without_a_pause_leaves_the_law_unknown() -> None:
    short = [OpenPause(f"c{k}", 300, False) for k in range(20)]
    assert [(found.share, found.effective_pauses) for found in cut_by_law(short)] == [(None, None)] * 2
    assert cut_by_law([]) == []
    never = cut_by_law([OpenPause(f"c{k % 10}", ms, False) for k, ms in enumerate((300, 500, 900, 2_000) * 10)])
    # Not narrower than ten conversations with one pause each, whatever the weights.
    lows, highs = zip(*(ends(found.interval) for found in never), strict=True)
    assert lows == (0, 0)
    assert min(highs) > clopper_pearson(0, 10, TAIL)[1]


def test_published_curves_fall() -> None:
    for detector in DETECTORS:
        waits, cut = zip(*detector.points, strict=True)
        assert list(waits) == sorted(waits)
        assert list(cut) == sorted(cut, reverse=True)
