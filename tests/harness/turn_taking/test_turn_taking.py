"""What a pack gives away about the end of a turn: areas that are known, a pack that is unfit, bad input."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.audio.speech import RenderedTurn
from harness.commands.turn_taking import draw, table
from harness.errors import UserError
from harness.figures.circumstances import unfit_callers
from harness.scenarios import load_pack
from harness.scenarios.context import Context, Turn
from harness.scenarios.mark_pack import write_people_pauses
from harness.scenarios.pack import Pack
from harness.scenarios.turn_ends import Instant, InstantKind, instants
from harness.statistics.auc import separation
from harness.turn_taking.detectors import DETECTORS
from harness.turn_taking.packs import hear, listen_for_ends
from harness.turn_taking.scores import Heard, length_gives_it_away, summarised, words_separation
from harness.voices.choice import open_voices

RATE_HZ = 16_000


def context(name: str, text: str) -> Context:
    turn = Turn(role="seeker", text=text)
    return Context(id=name, subset="regular", emotion="anxiety", problem="exams", turns=(turn,), source="t", licence="t")


def of_length(lengths: Sequence[int]) -> list[Context]:
    """Turns of these many words, each with a pause in its middle."""
    return [
        context(f"c{k}", " ".join([*["word"] * (n // 2), "<pause 400>", *["word"] * (n - n // 2 - 1), "end."]))
        for k, n in enumerate(lengths)
    ]


def test_the_area_is_that_of_all_pairs_with_ties_at_one_half() -> None:
    rng = np.random.default_rng(0)
    ends = {f"c{k}": [float(v) for v in rng.integers(0, 9, 3)] for k in range(12)}
    pauses = {f"c{k}": [float(v) for v in rng.integers(0, 9, 5)] for k in range(10)}
    found = separation(ends, pauses, seed=0)
    e, p = (np.array([v for group in side.values() for v in group]) for side in (ends, pauses))
    assert found.auc == pytest.approx((e[:, None] > p).mean() + 0.5 * (e[:, None] == p).mean())
    assert found.interval is not None
    assert found.auc is not None
    assert found.interval[0] < found.auc < found.interval[1]
    assert (found.ends, found.pauses) == (36, 50)
    assert separation(ends, {}, seed=0).auc is None
    assert separation({"a": [1.0]}, {"a": [0.0]}, seed=0).interval is None


def test_the_interval_covers_an_area_that_is_known() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(60):
        shared = rng.normal(size=30)
        ends = {f"c{k}": list(shared[k] + rng.normal(size=2)) for k in range(30)}
        pauses = {f"c{k}": list(shared[k] + rng.normal(size=4)) for k in range(30)}
        found = separation(ends, pauses, seed=0)
        assert found.interval is not None
        covered += found.interval[0] <= 0.5 <= found.interval[1]
    assert covered >= 51  # 57 expected; fewer than 51 has a chance of one in two hundred


def test_each_instant_holds_what_was_said_by_then() -> None:
    found = instants([context("one", "It ended. <pause 300> And I, <pause 700> um, left.")], every_turn=False)
    assert [(i.kind, len(i.said), i.pause_ms) for i in found] == [
        ("after_sentence", 2, 300),
        ("mid_sentence", 4, 700),
        ("end", 6, None),
    ]


def test_a_narrow_band_of_lengths_is_unfit_and_a_wide_one_is_not() -> None:
    narrow, wide = of_length([40, 42, 44] * 6), of_length([4, 8, 16, 32, 64, 128, 256] * 3)
    said = length_gives_it_away(words_separation(narrow, every_turn=False))
    assert said is not None
    assert "unfit for comparing endpointing" in said
    assert length_gives_it_away(words_separation(wide, every_turn=False)) is None
    (told,) = unfit_callers(narrow, ["seeded"])
    assert told.endswith("Measured on the last turns of 18 conversations.")
    assert list(unfit_callers(wide, ["seeded"])) == []
    assert list(unfit_callers([context("one", "No pause here.")], ["seeded", "replay"])) == []


def voiced(seconds: float, hz: float, level: float) -> NDArray[np.float64]:
    at = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    tones = np.stack([np.sin(2 * np.pi * hz * n * at) / n for n in range(1, 6)])
    return np.asarray(tones.sum(axis=0) * level * 8_000)


def test_falls_are_held_against_the_speakers_own_voice_just_before() -> None:
    first = np.concatenate([voiced(1.0, 180, 1.0), voiced(0.3, 180, 1.0)])
    last = np.concatenate([voiced(1.0, 180, 1.0), voiced(0.3, 120, 0.5)])
    silence = np.zeros(RATE_HZ // 2)
    samples = np.concatenate([first, silence, last]).astype(np.int16)
    rendered = RenderedTurn(samples, RATE_HZ, ((first.size, first.size + silence.size),), "a b")
    asked: list[int] = []

    def ear(audio: NDArray[np.float32]) -> float:
        asked.append(audio.size)
        return 0.5

    held, yielding = hear(
        rendered,
        instants([context("one", "a <pause 500> b")], every_turn=False),
        ear,
    )
    assert abs(held.pitch_fall_st or 9) < 0.5
    assert abs(held.level_fall_db or 9) < 1
    assert yielding.pitch_fall_st == pytest.approx(12 * np.log2(180 / 120), abs=1)
    assert yielding.level_fall_db == pytest.approx(6, abs=1.5)
    assert asked == [first.size + RATE_HZ // 5, samples.size + RATE_HZ // 5]


def invented(contexts: int) -> list[Heard]:
    """Ends that every cue tells perfectly, in turns of one pause."""
    found = []
    for k in range(contexts):
        pause = Instant(f"c{k}", 0, "mid_sentence", ("I", "and"), 300)
        end = Instant(f"c{k}", 0, "end", ("I", "and", "left."), None)
        found += [Heard(pause, 1.0, -1.0, -1.0, 0.1), Heard(end, 2.0, 3.0, 3.0, 0.9)]
    return found


def test_words_pauses_and_turns_are_counted_by_hand() -> None:
    def heard(k: int, kind: InstantKind, words: int, pause_ms: int | None = None) -> Heard:
        return Heard(Instant(f"c{k}", 0, kind, ("word",) * words, pause_ms), 1.0, None, None, 0.4 if pause_ms else 0.6)

    ends = [heard(k, "end", words) for k, words in enumerate((1, 2, 3, 4, 6, 9, 13, 18, 24, 31, 39))]
    pauses = [heard(0, "mid_sentence", 1, 300), heard(0, "after_sentence", 1, 700), heard(1, "mid_sentence", 1, 2_000)]
    found = summarised([*ends, *pauses], every_turn=True, recordings=2)
    assert (found.turns, found.without_pause, found.recordings, found.every_turn) == (11, 9, 2, True)
    assert found.words == (2.0, 3.5, 9.0, 21.0, 31.0)
    assert found.pauses_ms == (300, 700, 2_000)
    assert {kind: (share.value, share.of) for kind, share in found.finished.items()} == {
        "end": (1.0, 11), "mid_sentence": (0.0, 2), "after_sentence": (0.0, 1),
    }  # fmt: skip
    assert [round(3 * (share.value or 0)) for share in found.longer.values()] == [2, 2, 1, 1]


def test_published_curves_fall_from_many_pauses_cut_to_few() -> None:
    for detector in DETECTORS:
        times, shares = zip(*detector.points, strict=True)
        assert all(250 <= ms <= 1_600 for ms in times), detector.name
        assert all(0.04 < share < 0.6 for share in shares), detector.name
        assert list(shares) == sorted(shares, reverse=True), detector.name
        assert {0.10, 0.05} <= {*shares}, detector.name
    assert DETECTORS[0].points == ((295, 0.10), (300.0, 0.099), (543, 0.05), (600.0, 0.045))


def test_the_table_and_the_picture_say_every_figure(tmp_path: Path) -> None:
    found = summarised(invented(10), every_turn=False)
    assert {cue: one.auc for cue, one in found.auc.items()} == dict.fromkeys(found.auc, 1.0)
    told = found.as_json()
    assert told["auc"].keys() >= {"words", "seconds", "last_word", "closing_punctuation", "level_fall", "pitch_fall"}
    assert (told["smart_turn"]["ends"], told["smart_turn"]["mid_sentence"]) == (1.0, 0.0)
    assert told["smart_turn"]["after_sentence"] is None
    low, high = told["smart_turn"]["intervals"]["ends"]
    assert low < 0.9 < high
    assert told["pauses"]["over_300_ms"] == 0.0
    assert told["words"]["p50"] == 3
    assert not told["fit_for_endpointing"]
    lines = "\n".join(table(found))
    assert "people 0.845" in lines
    draw(found, "invented", tmp_path / "told.svg")
    assert "<svg" in (tmp_path / "told.svg").read_text()
    draw(found, "invented", tmp_path / "told.png")
    assert (tmp_path / "told.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UserError, match=r"ends in \.svg or \.png"):
        draw(found, "invented", tmp_path / "told.gif")
    few = summarised(invented(1), every_turn=False)
    assert few.auc["words"].interval is None
    assert "every figure here is weak" in "\n".join(table(few))


def test_what_says_nothing_about_ends_is_refused_in_one_line(tmp_path: Path) -> None:
    silent = Pack("silent", (context("one", "No pause here."),), "0" * 64, tmp_path / "silent.yaml")
    with pytest.raises(UserError, match="no pause is marked"):
        listen_for_ends(silent, open_voices(silent), lambda _audio: 0.5)
    turn = Turn(role="seeker", text="Hello.", audio="me.wav")
    taped = silent.contexts[0].model_copy(update={"turns": (turn,)})
    recorded = Pack("recorded", (taped,), "0" * 64, tmp_path / "recorded.yaml")
    with pytest.raises(UserError, match="its callers are recordings"):
        listen_for_ends(recorded, open_voices(recorded), lambda _audio: 0.5)


@pytest.mark.models
def test_smart_turn_and_a_real_voice_over_a_pack(tmp_path: Path) -> None:
    from harness.turn_taking.packs import smart_turn

    pack = load_pack(write_people_pauses(load_pack("heart-mini"), tmp_path / "mini.yaml", seed=0))
    two = Pack(pack.name, pack.contexts[:2], pack.hash, pack.path)
    found = listen_for_ends(two, open_voices(two), smart_turn())
    assert found.finished["end"].of == found.turns == 2
    assert found.auc["seconds"].auc is not None
    assert found.smart_turn.pauses == len(found.pauses_ms)
