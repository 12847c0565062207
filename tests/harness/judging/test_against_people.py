"""Trust comes from people's ratings by others: what is read, what is counted, and what earns it."""

import csv
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UserError
from harness.judging.against_people import check_against, keep, kept
from harness.judging.checks import check_judge_async, with_people
from harness.judging.judge import Place, Question, Verdict
from harness.judging.labelled import gold_pairs
from harness.judging.peoples_labels import COLUMNS, read_labels
from harness.judging.trust import people_sentence, trust_in
from harness.store.judgment import PeopleCheck
from tests.harness.conftest import Finished
from tests.harness.judging.test_checks import KnowsAnswers

SCALE = (1.0, 5.0)


class Prefers(KnowsAnswers):
    """Chooses by the number that stands in a reply, or by the number of its words."""

    def __init__(self, *, by_length: bool = False) -> None:
        super().__init__(())
        self.by_length = by_length

    async def compare(self, question: Question) -> Verdict:
        first, second = (self._worth(text) for text in (question.first, question.second))
        winner: Place = "first" if first > second else "second"
        return Verdict(winner, 3)

    def _worth(self, text: str) -> float:
        return len(text.split()) if self.by_length else float(re.findall(r"\d+", text)[0])


def rated(path: Path, contexts: int = 12, *, longer_is_better: float = 0.5, **changes: Any) -> Path:
    """A file of three raters: a reply numbered n is worth n, and as often as stated the better one is the longer."""
    rng = random.Random(1)
    rows = []
    for c in range(contexts):
        long_first = rng.random() < longer_is_better
        for worth, long in ((5, long_first), (1, not long_first)):
            text = f"Reply {worth}" + " and so on" * (3 if long else 0)
            for rater in "abc":
                rows.append(dict(zip(COLUMNS, (f"Seeker: talk {c}", text, rater, "empathy", worth), strict=True)) | changes)
                rows.append(dict(zip(COLUMNS, (f"Seeker: talk {c}", text, rater, "-cold", 6 - worth), strict=True)) | changes)
    if path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as lines:
            writer = csv.DictWriter(lines, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return path


async def checked(path: Path, judge: Prefers) -> PeopleCheck:
    return await check_against(judge, read_labels(path, SCALE))


@pytest.mark.parametrize("name", ["rated.csv", "rated.jsonl"])
async def test_a_judge_that_agrees_with_people_earns_trust_and_only_by_that(tmp_path: Path, name: str) -> None:
    found = await checked(rated(tmp_path / name), Prefers())
    assert (found.accuracy, found.kappa, found.pairs, found.raters, found.raters_agree) == (1.0, 1.0, 12, 3, 1.0)
    assert found.board_correlation is not None
    assert found.board_correlation > 0.8
    own = await check_judge_async(KnowsAnswers(gold_pairs()))
    assert not with_people(own, None).trusted
    assert with_people(own, found).trusted


async def test_a_judge_no_better_than_the_longer_reply_is_told_so_and_not_trusted(tmp_path: Path) -> None:
    found = await checked(rated(tmp_path / "r.csv", 40, longer_is_better=0.9), Prefers(by_length=True))
    assert found.accuracy == found.baselines["the longer reply wins"]
    assert found.judge_prefers_longer == 1.0
    assert "“the longer reply wins” reaches" in people_sentence(found)
    assert ", no less" in people_sentence(found)
    own = with_people(await check_judge_async(KnowsAnswers(gold_pairs())), found)
    assert (own.trusted, trust_in(own)) == (False, "unlike_people")


async def test_a_check_is_kept_for_exactly_that_judge_and_a_damaged_one_is_none(tmp_path: Path) -> None:
    found = await checked(rated(tmp_path / "r.csv"), Prefers())
    keep(found, tmp_path / "kept")
    assert kept(found.fingerprint, tmp_path / "kept") == found
    assert kept("another", tmp_path / "kept") is None
    (tmp_path / "kept" / f"{found.fingerprint}.json").write_text("{", encoding="utf-8")
    assert kept(found.fingerprint, tmp_path / "kept") is None


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"score": 9}, "off the scale 1 to 5"),
        ({"score": "much"}, "is no number"),
        ({"mood": 1}, "has the unknown mood"),
        ({"score": 3, "dimension": "empathy"}, "no two replies that people rated differently"),
        ({"reply": " "}, "must both say something"),
    ],
)
def test_bad_files_are_named_in_one_line(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told) as error:
        read_labels(rated(tmp_path / "r.csv", **changes), SCALE)
    assert "\n" not in str(error.value)


def test_a_file_without_a_column_or_a_folder_of_something_else_is_named(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("context,reply\na,b\n", encoding="utf-8")
    with pytest.raises(UserError, match="lacks rater, dimension, score"):
        read_labels(tmp_path / "r.csv", SCALE)
    with pytest.raises(UserError, match="no folder of published ratings"):
        read_labels(tmp_path, SCALE)


@pytest.mark.parametrize(
    "line", [("--against", "r.csv"), ("--check", "--against", "r.csv", "--scale", "5-1"), ("--check", "--against", "none.csv")]
)
def test_a_line_that_cannot_be_is_refused(harness_here: Any, line: tuple[str, ...]) -> None:
    done: Finished = harness_here("judge", *line)
    assert done.code == 2
    assert "Traceback" not in done.err


async def test_one_reply_a_context_gives_a_rank_correlation_and_no_trust(tmp_path: Path) -> None:
    lines = ["context,reply,rater,dimension,score", *(f"Seeker: talk {n},Reply {n},a,empathy,{1 + n % 5}" for n in range(5))]
    (tmp_path / "r.csv").write_text("\n".join(lines), encoding="utf-8")
    found = await checked(tmp_path / "r.csv", Prefers())
    assert (found.one_reply_a_context, found.accuracy, found.replies) == (True, None, 5)
    assert found.board_correlation is not None
    assert found.board_correlation > 0.7
    assert "one reply a context" in people_sentence(found)


async def test_strength_and_leanings_stand_beside_peoples_own(tmp_path: Path) -> None:
    found = await checked(rated(tmp_path / "r.csv", 40, longer_is_better=0.9), Prefers(by_length=True))
    judge, people = found.leanings["the longer reply wins"]
    assert (judge, people) == (1.0, found.accuracy)
    assert [(p.stated, p.verdicts, p.right) for p in found.reliability] == [("strength 3", 80, found.accuracy)]
    assert found.judge_prefers_first == 0.5
