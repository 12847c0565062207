"""Their figures against a truth whose errors are known beforehand."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import UserError
from harness.known.behaviours import BEHAVIOURS
from harness.known.picture import chart, draw
from harness.known.score import ALL, Errors, Score, Theirs, score
from harness.known.truth import Figure, TurnTruth


def _truth(
    call: str, behaviour: str = "fixed", condition: str = "clean", turn: int = 1, *, speech_ms: float | None = None,
    sound_ms: float | None = None, cut_ms: float | None = None,
) -> TurnTruth:  # fmt: skip
    return TurnTruth(call, behaviour, condition, turn, 2.0, sound_ms=sound_ms, speech_ms=speech_ms, cut_ms=cut_ms)


def _row(found: Score, behaviour: str, figure: Figure = "speech", condition: str = ALL) -> Errors:
    (row,) = [row for row in found.rows if (row.figure, row.behaviour, row.condition) == (figure, behaviour, condition)]
    return row


def test_an_offset_is_the_bias_and_one_wild_turn_the_largest_error() -> None:
    truths = [_truth(f"c{k}", speech_ms=800.0, sound_ms=700.0) for k in range(60)]
    theirs = [Theirs(f"c{k}", 1, "speech", 800.0 - 7 + (-1) ** k) for k in range(59)] + [Theirs("c59", 1, "speech", 3_800.0)]
    found = score(truths, theirs)
    figures = _row(found, "fixed").statistics
    assert figures["bias_ms"] == pytest.approx(-6.0)  # 29 of −8, 30 of −6 and one of +3,000
    assert figures["p50_ms"] == pytest.approx(7.0, abs=1.0)
    assert figures["largest_ms"] == 3_000.0
    assert figures["p95_ms"] is not None
    # Sound was never reported: no row of it, and nothing missing.
    assert found.not_claimed == ("sound", "answer", "yield", "cut", "gap")
    assert {row.figure for row in found.rows} == {"speech"}


def test_a_p95_needs_sixty_turns() -> None:
    truths = [_truth(f"c{k}", behaviour, speech_ms=800.0) for k, behaviour in enumerate(["fixed", "click"] * 30)]
    found = score(truths, [Theirs(truth.call, 1, "speech", 801.0) for truth in truths])
    assert _row(found, ALL).statistics["p95_ms"] == 1.0
    assert _row(found, "click").statistics["p95_ms"] is None


def test_missing_and_invented_are_counted_apart_and_are_no_errors() -> None:
    truths = [_truth("a", speech_ms=500.0), _truth("a", turn=2, speech_ms=500.0), _truth("b", "no-reply")]
    found = score(truths, [Theirs("a", 1, "speech", 510.0), Theirs("a", 2, "speech", None), Theirs("b", 1, "speech", 90.0)])
    whole = _row(found, ALL)
    assert (whole.turns, whole.errors_ms, whole.missing, whole.invented) == (3, (10.0,), 1, 1)
    assert (_row(found, "no-reply").invented, _row(found, "fixed").missing) == (1, 1)


@pytest.mark.parametrize("name", [each.name for each in BEHAVIOURS.values() if each.mistake])
def test_a_tool_may_refuse_sound_that_is_stated_wrongly(name: str) -> None:
    truths = [_truth("a", name, speech_ms=800.0), _truth("b", name, speech_ms=800.0), _truth("c", speech_ms=800.0)]
    found = score(truths, [Theirs("b", 1, "speech", 400.0)])
    assert (_row(found, name).missing, _row(found, name).errors_ms) == (0, (-400.0,))
    assert _row(found, "fixed").missing == 1
    assert found.unreported == ("a", "c")


def test_a_negative_onset_is_the_cut_and_a_clipped_one_misses_it() -> None:
    cut = _truth("a", "cut-over", speech_ms=800.0, cut_ms=-900.0)
    truths = [cut, replace(cut, call="b"), _truth("c", speech_ms=800.0)]
    found = score(truths, [Theirs("a", 1, "speech", -890.0), Theirs("b", 1, "speech", 0.0), Theirs("c", 1, "speech", 800.0)])
    of_cut, of_speech = _row(found, "cut-over", "cut"), _row(found, "cut-over")
    assert (of_cut.errors_ms, of_cut.missing, of_cut.invented) == ((10.0,), 1, 0)
    assert (of_speech.errors_ms, of_speech.missing) == ((-800.0,), 0)
    # One who says that a caller was cut off who was not has invented it.
    assert _row(score(truths, [Theirs("c", 1, "cut", -100.0)]), "fixed", "cut").invented == 1


def test_conditions_have_rows_of_their_own() -> None:
    truths = [_truth(f"{of}{k}", condition=of, speech_ms=800.0) for of in ("clean", "noisy") for k in range(2)]
    theirs = [Theirs(truth.call, 1, "speech", 801.0 if truth.condition == "clean" else 830.0) for truth in truths]
    found = score(truths, theirs)
    assert _row(found, ALL).turns == 4
    for of, error in (("clean", 1.0), ("noisy", 30.0)):
        assert _row(found, ALL, condition=of).errors_ms == _row(found, "fixed", condition=of).errors_ms == (error, error)


def test_output_without_names_has_the_turns_in_order_and_files_are_calls() -> None:
    truths = [_truth("a", speech_ms=100.0), _truth("a", turn=2, speech_ms=200.0), _truth("b", speech_ms=300.0)]
    unnamed = [Theirs("", k, "speech", 100.0 * k) for k in (1, 2, 3, 4)]
    found = score(truths, unnamed)
    assert (_row(found, ALL).errors_ms, found.unmatched) == ((0.0, 0.0, 0.0), 1)
    assert _row(score(truths, [Theirs("out/b.wav", 1, "speech", 301.0)]), ALL).errors_ms == (1.0,)


def test_what_the_truth_does_not_have_is_counted_and_nothing_in_common_is_an_error() -> None:
    truths = [_truth("a", speech_ms=100.0)]
    found = score(truths, [Theirs("a", 1, "speech", 100.0), Theirs("a", 7, "speech", 1.0), Theirs("z", 1, "speech", 1.0)])
    assert found.unmatched == 2
    assert any("2 figures in calls or turns" in note for note in found.notes)
    with pytest.raises(UserError, match=r"its first is \(.a., 1\), theirs is \(.z., 1\); name calls as it does"):
        score(truths, [Theirs("z", 1, "speech", 1.0)])
    with pytest.raises(UserError, match="call a, turn 1 has the figure speech twice"):
        score(truths, [Theirs("a", 1, "speech", 1.0)] * 2)


def test_a_row_without_errors_shows_no_zero() -> None:
    found = score([_truth("a", "no-reply"), _truth("b", speech_ms=5.0)], [Theirs("b", 1, "speech", 3.5)])
    assert _row(found, "no-reply").cells == ("no-reply", "1", "—", "—", "—", "—", "0", "0")
    assert _row(found, "fixed").cells == ("fixed", "1", "−1.5", "1.5", "—", "1.5", "0", "0")
    rows = found.as_object()["rows"]
    assert rows[0] | {"bias_ms": -1.5, "p95_ms": None} == rows[0]
    assert "errors_ms" not in rows[0]


def test_the_picture_has_a_mark_for_each_error_and_says_what_is_missing(tmp_path: Path) -> None:
    truths = [_truth("a", speech_ms=100.0), _truth("b", "click", speech_ms=100.0), _truth("c", "no-reply")]
    found = score(truths, [Theirs("a", 1, "speech", 103.0), Theirs("c", 1, "speech", 40_000.0)])
    drawn = json.dumps(chart(found, "theirs").spec)
    assert drawn.count('"ms": 3.0') == 1
    assert "1 missing" in drawn
    assert "1 invented" in drawn
    draw(found, "theirs", tmp_path / "p.svg")
    assert "speech: theirs minus true, ms" in (tmp_path / "p.svg").read_text()
    with pytest.raises(UserError, match="cannot be written"):
        draw(found, "theirs", tmp_path / "none" / "p.png")
