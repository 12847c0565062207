"""The second red lines are what they claim to be, and a look at them happens once and is written down."""

import json
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from benchmarks import judging_last_look
from benchmarks.judging_last_look import PAIRS, RECORD, RedLine, in_words, look, read_looks, read_red_lines, share_of
from benchmarks.judging_sets import Set, hashes, text_hash
from harness.errors import UserError
from harness.statistics.interval import TAIL
from harness.statistics.share_bounds import clopper_pearson

JudgeOf = Callable[..., Any]
FEWEST = {
    "harm": 30, "abuse": 30, "unsafe_medical_advice": 7, "misinformation": 7, "blame": 7, "minimising": 7, "secrecy": 7,
    "sexual_content": 7, "contradiction": 7, "somebody_else": 7, "padding": 7, "echo": 7, "filler": 7,
    "flattery_of_judge": 7, "other_language": 7,
}  # fmt: skip


def words(text: str) -> int:
    return len(text.split())


def made_up(folder: Path, replies: list[tuple[str, str, str]]) -> tuple[Path, Path]:
    """A set of (family, better, worse), and an empty record."""
    pairs, record = folder / "pairs.jsonl", folder / "looks.json"
    lines = [
        {
            "id": f"p-{n}", "family": family, "length": "equal", "better": better, "worse": worse,
            "turns": [{"role": "seeker", "text": f"The lift is broken again, day {n}."}],
        }
        for n, (family, better, worse) in enumerate(replies)
    ]  # fmt: skip
    pairs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    record.write_text("[]")
    return pairs, record


def test_every_family_has_its_pairs_and_a_third_of_each_length() -> None:
    lines = read_red_lines(PAIRS)
    families = Counter(line.family for line in lines)
    assert set(families) == set(FEWEST)
    assert all(families[name] >= least for name, least in FEWEST.items())
    for family, n in families.items():
        lengths = Counter(line.length for line in lines if line.family == family)
        assert len(lengths) == 3
        assert max(lengths.values()) - n / 3 <= 1


def test_the_length_class_of_every_pair_is_true() -> None:
    for line in read_red_lines(PAIRS):
        better, worse = words(line.better), words(line.worse)
        if line.length == "short_right":
            assert 2 * better <= worse, line.id
        elif line.length == "long_right":
            assert better >= 2 * worse, line.id
        else:
            assert abs(better - worse) <= 0.15 * min(better, worse), line.id


def test_pairs_are_well_formed_and_repeat_nothing() -> None:
    lines = read_red_lines(PAIRS)
    assert len({line.id for line in lines}) == len(lines)
    texts = [text_hash(t) for line in lines for t in (line.turns[-1].text, line.better, line.worse)]
    assert len(set(texts)) == len(texts)
    for line in lines:
        roles = [turn.role for turn in line.turns]
        assert roles[-1] == "seeker"
        assert all(a != b for a, b in pairwise(roles))


@pytest.mark.parametrize("name", ["gold", "fit", "heldout"])
def test_no_text_is_in_a_set_that_a_judge_was_fitted_or_measured_on(name: Set) -> None:
    lines = read_red_lines(PAIRS)
    assert hashes(name).isdisjoint(text_hash(t) for line in lines for t in (line.turns[-1].text, line.better, line.worse))


@pytest.mark.parametrize("measure", [words, lambda t: t.count("?"), lambda t: t.count("!")])
def test_length_and_punctuation_win_nothing(measure: Callable[[str], int]) -> None:
    sides = [(measure(line.better), measure(line.worse)) for line in read_red_lines(PAIRS)]
    won = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in sides) / len(sides)
    assert 0.42 <= won <= 0.58


def test_the_record_that_ships_can_be_read() -> None:
    read_looks(RECORD)


def test_a_look_gives_each_familys_share_and_is_recorded(tmp_path: Path, rule_judge: JudgeOf) -> None:
    pairs, record = made_up(
        tmp_path, [("echo", "a good thing", "a thing"), ("echo", "a thing", "a good thing"), ("blame", "so good", "so")]
    )
    found = look(rule_judge(), pairs, record, "2026-01-02")
    assert {name: (s.pairs, s.accuracy) for name, s in found.families.items()} == {"echo": (2, 0.5), "blame": (1, 1.0)}
    assert found.overall.pairs == 3
    assert found.families["blame"].interval == clopper_pearson(1, 1, TAIL)
    assert read_looks(record) == (found,)
    text = in_words(found)
    assert all(name in text for name in ("echo", "blame", "2026-01-02", "rule@1"))


def test_a_judge_that_follows_the_order_is_half_right_and_flips(tmp_path: Path, rule_judge: JudgeOf) -> None:
    pairs, record = made_up(tmp_path, [("echo", "a good thing", "a thing"), ("echo", "good", "bad")])
    found = look(rule_judge(always_first=True), pairs, record, "2026-01-02")
    assert found.overall.accuracy == 0.5
    assert found.flip_rate == 1.0


def test_half_right_pairs_widen_the_interval_on_both_sides() -> None:
    assert share_of([1, 0.5, 0]).interval == (clopper_pearson(1, 3, TAIL)[0], clopper_pearson(2, 3, TAIL)[1])


def test_a_second_look_at_the_same_judge_is_refused_before_it_is_asked(tmp_path: Path, rule_judge: JudgeOf) -> None:
    pairs, record = made_up(tmp_path, [("echo", "good", "bad")])
    look(rule_judge(), pairs, record, "2026-01-02")
    before, again = record.read_bytes(), rule_judge()
    with pytest.raises(UserError, match="was asked on 2026-01-02"):
        look(again, pairs, record, "2026-03-04")
    assert again.asked == []
    assert record.read_bytes() == before


def test_another_judge_is_added_after_the_first(tmp_path: Path, rule_judge: JudgeOf) -> None:
    pairs, record = made_up(tmp_path, [("echo", "good", "bad")])
    for name in ("rule@1", "rule@2"):
        look(rule_judge(name), pairs, record, "2026-01-02")
    assert [seen.judge for seen in read_looks(record)] == ["rule@1", "rule@2"]


def test_pairs_without_an_answer_are_counted_and_in_no_share(tmp_path: Path, rule_judge: JudgeOf) -> None:
    pairs, record = made_up(tmp_path, [("echo", "good", "bad"), ("echo", "good bang", "bad")])
    found = look(rule_judge(breaks_on="bang"), pairs, record, "2026-01-02")
    assert (found.missing, found.overall.pairs, found.overall.accuracy) == (1, 1, 1.0)


def test_a_judge_that_answers_nothing_has_not_looked(tmp_path: Path, rule_judge: JudgeOf) -> None:
    pairs, record = made_up(tmp_path, [("echo", "good", "bad")])
    with pytest.raises(UserError, match="answered no pair"):
        look(rule_judge(breaks_on="good"), pairs, record, "2026-01-02")
    assert read_looks(record) == ()


def test_a_lost_record_is_not_begun_anew(tmp_path: Path, rule_judge: JudgeOf) -> None:
    pairs, record = made_up(tmp_path, [("echo", "good", "bad")])
    record.unlink()
    with pytest.raises(UserError, match="restore it"):
        look(rule_judge(), pairs, record, "2026-01-02")
    assert not record.exists()


def test_a_bad_line_is_named_with_its_number(tmp_path: Path) -> None:
    pairs, _ = made_up(tmp_path, [("echo", "good", "bad"), ("echo", "fine", "bad")])
    first, second = pairs.read_text().splitlines()
    pairs.write_text(f"{first}\n{second.replace('better', 'best')}\n")
    with pytest.raises(UserError, match=r"pairs.jsonl, line 2: better: .* correct the line"):
        read_red_lines(pairs)


def test_the_command_ends_with_one_line_and_2_on_an_unknown_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs, record = made_up(tmp_path, [("echo", "good", "bad")])
    monkeypatch.setattr(sys, "argv", ["look", "nobody", "--pairs", str(pairs), "--record", str(record)])
    with pytest.raises(SystemExit) as ended:
        judging_last_look.main()
    assert ended.value.code == 2
    assert "nobody" in capsys.readouterr().err.strip().splitlines()[-1]


def test_a_pair_needs_a_turn() -> None:
    with pytest.raises(ValueError, match="at least 1 item"):
        RedLine(id="x", family="echo", length="equal", turns=(), better="a", worse="b")
