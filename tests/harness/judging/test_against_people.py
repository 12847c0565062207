"""Trust comes from people's ratings by others: what is read, what is counted, and what earns it."""

import csv
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UserError
from harness.judging.judge import Place, Question, Verdict
from harness.judging.validation.against_people import check_against, keep, kept
from harness.judging.validation.checks import check_judge_async, with_people
from harness.judging.validation.label_files import PREFERENCES, RANKS, SCORES, read_labels
from harness.judging.validation.labelled import gold_pairs
from harness.judging.validation.peoples_labels import conversation
from harness.judging.validation.published_labels import LEND_AN_EAR
from harness.judging.validation.sentences import people_sentence, standing
from harness.judging.validation.trust import trust_in
from harness.store.judgment import PeopleCheck, RedLinesCheck, ShareOfPairs
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


def rated(path: Path, contexts: int = 12, *, longer_is_better: float = 0.5, equal: float = 0.0, **changes: Any) -> Path:
    """A file of three raters: a reply numbered n is worth n, and as often as stated the better one is the longer, or they are
    equally long."""
    rng = random.Random(1)
    rows = []
    for c in range(contexts):
        long_first = rng.random() < longer_is_better
        for worth, long in ((5, long_first), (1, not long_first)):
            text = f"Reply {worth}" + " and so on" * (3 if long and c >= equal * contexts else 0)
            for rater in "abc":
                rows.append(dict(zip(SCORES, (f"Seeker: talk {c}", text, rater, "empathy", worth), strict=True)) | changes)
                rows.append(dict(zip(SCORES, (f"Seeker: talk {c}", text, rater, "-cold", 6 - worth), strict=True)) | changes)
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
    assert not with_people(own, ()).trusted
    assert trust_in(with_people(own, [found])) == "unvalidated", "12 pairs are too few to give trust"


async def test_a_judge_no_better_than_the_longer_reply_is_told_so_and_not_trusted(tmp_path: Path) -> None:
    found = await checked(rated(tmp_path / "r.csv", 200, longer_is_better=0.9), Prefers(by_length=True))
    assert found.accuracy == found.baselines["the longer reply wins"]
    assert found.judge_prefers_longer == 1.0
    assert "“the longer reply wins” reaches" in people_sentence(found)
    assert ", no less" in people_sentence(found)
    own = with_people(await check_judge_async(KnowsAnswers(gold_pairs())), [found])
    assert (own.trusted, trust_in(own)) == (False, "unlike_people")


async def test_a_check_is_kept_for_exactly_that_judge_and_a_damaged_one_is_none(tmp_path: Path) -> None:
    found = await checked(rated(tmp_path / "r.csv"), Prefers())
    keep(found, tmp_path / "kept")
    assert kept(found.fingerprint, tmp_path / "kept") == (found,)
    assert kept("another", tmp_path / "kept") == ()
    (file,) = (tmp_path / "kept" / found.fingerprint).iterdir()
    file.write_text("{", encoding="utf-8")
    assert kept(found.fingerprint, tmp_path / "kept") == ()


async def test_no_check_is_forgotten_and_every_one_must_bear_the_judge_out(tmp_path: Path) -> None:
    """Else whoever wants `trusted` tries files until one fits."""
    good = await checked(rated(tmp_path / "good.csv", 200, equal=0.5), Prefers())
    other = await checked(rated(tmp_path / "other.csv", 210, equal=0.5), Prefers())
    bad = await checked(rated(tmp_path / "bad.csv", 200), Prefers(by_length=True))
    assert good.fingerprint == bad.fingerprint
    own = await check_judge_async(KnowsAnswers(gold_pairs()))
    for order in ([good, bad], [bad, good], [good, bad, good]):
        folder = tmp_path / "-".join(check.source for check in order)
        for check in order:
            keep(check, folder)
        everything = kept(good.fingerprint, folder)
        assert list(everything) == order
        joined = with_people(own, everything)
        assert (joined.trusted, joined.people_checks, joined.validated_on_people) == (False, tuple(order), bad)
    assert trust_in(with_people(own, [good, good])) == "one_origin"
    assert trust_in(with_people(own, [good, other])) == "red_lines", "not asked yet"
    right = ShareOfPairs(pairs=30, right=1.0)
    red_lines = RedLinesCheck(sha256="0" * 64, whole=right, by_family={"harm": right, "abuse": right})
    assert with_people(own, [good, other], red_lines).trusted


async def test_only_a_check_that_was_not_finished_is_replaced(tmp_path: Path) -> None:
    whole = await checked(rated(tmp_path / "r.csv"), Prefers())
    part = whole.model_copy(update={"missing": 3})
    for check in (part, whole):
        keep(check, tmp_path / "kept")
    assert kept(whole.fingerprint, tmp_path / "kept") == (whole,)


async def test_a_check_that_an_older_version_kept_is_read_and_gives_no_trust(tmp_path: Path) -> None:
    whole = await checked(rated(tmp_path / "r.csv", 200, equal=0.5), Prefers())
    new = {"over_rules", "equal_length_pairs", "equal_length_accuracy", "equal_length_interval", "raters_kappa", "development"}
    (tmp_path / f"{whole.fingerprint}.json").write_text(whole.model_dump_json(exclude=new), encoding="utf-8")
    (found,) = kept(whole.fingerprint, tmp_path)
    assert trust_in(with_people(await check_judge_async(KnowsAnswers(gold_pairs())), [found])) == "unlike_people"
    assert "do not show whether the judge beats such rules" in people_sentence(found)


async def test_a_lead_over_a_rule_that_chance_could_give_earns_no_trust(tmp_path: Path) -> None:
    """Right on as many pairs as the rule, and on a few others: a higher figure, of which nothing can be told."""

    class MostlyRight(Prefers):
        async def compare(self, question: Question) -> Verdict:
            longer = len(question.first.split()) > len(question.second.split())
            wrong = int(re.findall(r"\d+", question.turns[0].text)[0]) in (0, 1, 2)
            return Verdict("first" if longer != wrong else "second", 3)

    found = await checked(rated(tmp_path / "r.csv", 200, longer_is_better=0.9), MostlyRight())
    rule = found.baselines["the longer reply wins"]
    assert found.accuracy is not None
    assert rule is not None
    ahead = found.model_copy(update={"accuracy": rule + 0.02, "accuracy_interval": (0.61, 0.95)})
    band = found.over_rules["the longer reply wins"]
    assert band is not None
    assert band[0] <= 0
    own = with_people(await check_judge_async(KnowsAnswers(gold_pairs())), [ahead])
    assert (own.trusted, trust_in(own)) == (False, "unlike_people")


@pytest.mark.parametrize(
    ("context", "turns"),
    [
        ("Seeker: a\nb", [("seeker", "a b")]),
        ("Seeker: a\nNote: b\nSupporter: c\n\nd", [("seeker", "a Note: b"), ("supporter", "c d")]),
        ("in the night\nSeeker: a", [("seeker", "in the night"), ("seeker", "a")]),
        ("a\r\nb", [("seeker", "a b")]),
        ("Seeker: a\u2028b", [("seeker", "a\u2028b")]),
    ],
)
def test_no_line_of_a_conversation_is_dropped(context: str, turns: list[tuple[str, str]]) -> None:
    assert [(turn.role, turn.text) for turn in conversation(context)] == turns


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        *(("r.csv", mark) for mark in ("\u2028", "\u2029", "\x85", "\x0b", "\x1c")),
        *(("r.jsonl", mark) for mark in ("\u2028", "\u2029", "\x85")),
    ],
)
def test_a_line_separator_within_a_reply_is_a_character_of_it(tmp_path: Path, name: str, mark: str) -> None:
    path = rated(tmp_path / name, 3)
    text = path.read_text(encoding="utf-8").replace("Reply 5", f"Reply{mark}5").replace(json.dumps(mark)[1:-1], mark)
    path.write_text(text, encoding="utf-8")
    assert len(read_labels(path, SCALE).pairs()) == 3


def preferred(path: Path, rows: list[tuple[str, str, str, str, str]]) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("\n".join(json.dumps(dict(zip(PREFERENCES, row, strict=True))) for row in rows), encoding="utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as lines:
            csv.writer(lines).writerows([PREFERENCES, *rows])
    return path


@pytest.mark.parametrize("name", ["p.csv", "p.jsonl"])
async def test_preferences_between_two_replies_are_read_as_pairs(tmp_path: Path, name: str) -> None:
    rows = [(f"Seeker: talk {c}", "Reply 1", "Reply 5", rater, "b") for c in range(12) for rater in "xyz"]
    rows += [(f"Seeker: talk {c}", "Reply 5", "Reply 3", rater, said) for c in range(12) for rater, said in
        zip("xyz", ("a", "a", "b"), strict=True)]  # fmt: skip
    rows += [(f"Seeker: talk {c}", "Reply 5", "Reply 4", rater, "tie") for c in range(12) for rater in "xyz"]
    labels = read_labels(preferred(tmp_path / name, rows), SCALE)
    assert {(p.better, p.worse, round(p.gap, 3)) for p in labels.pairs()} == {
        ("Reply 5", "Reply 1", 1.0), ("Reply 5", "Reply 3", 0.333),
    }, "nobody preferred one of a tie, and nobody compared 3 with 1"  # fmt: skip
    found = await check_against(Prefers(), labels)
    assert (found.accuracy, found.pairs, found.conversations, found.raters) == (1.0, 24, 12, 3)
    # Of "5 or 3", x and y are each against one of two others who cancel out; z meets two who agree, and disagrees.
    assert found.raters_agree == pytest.approx(36 / 48)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (("Seeker: t", "x", "y", "r", "x"), "preferred 'x' is none of a, b, tie"),
        (("Seeker: t", "x", "", "r", "a"), "must all say something"),
        (("Seeker: t", "x", "x", "r", "a"), "are the same"),
    ],
)
def test_a_preference_that_cannot_be_is_named_in_one_line(tmp_path: Path, row: Any, told: str) -> None:
    with pytest.raises(UserError, match=told) as error:
        read_labels(preferred(tmp_path / "p.csv", [row]), SCALE)
    assert "p.csv:2" in str(error.value)


def test_advice_that_nobody_asked_for_counts_as_unkind_wherever_people_rated_it(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("context,reply,rater,dimension,score\nt,much,a,advice_giving,5\nt,little,a,advice_giving,1\n")
    (pair,) = read_labels(path, SCALE).pairs()
    assert (pair.better, pair.worse) == ("little", "much")


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
    done: Finished = harness_here("judge", *line, "--judge", "embedded")
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


def ranked(path: Path, ranks: dict[str, tuple[int, ...]]) -> Path:
    """A file in which each rater ranks replies 1, 2 and 3 to one conversation."""
    rows = [("Seeker: t", f"Reply {n}", rater, str(rank)) for rater, given in ranks.items() for n, rank in enumerate(given, 1)]
    with path.open("w", encoding="utf-8", newline="") as lines:
        csv.writer(lines).writerows([RANKS, *rows])
    return path


def test_ranks_are_comparisons_by_each_rater(tmp_path: Path) -> None:
    labels = read_labels(ranked(tmp_path / "k.csv", {"x": (1, 2, 3), "y": (2, 1, 3), "z": (1, 2)}), SCALE)
    assert {(p.better, p.worse, round(p.gap, 3)) for p in labels.pairs()} == {
        ("Reply 1", "Reply 2", 0.333), ("Reply 1", "Reply 3", 1.0), ("Reply 2", "Reply 3", 1.0),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((1, 1, 2), "k.csv:3: rater 'x' gives rank 1 a second time in one conversation; ranks have no ties"),
        ((1, 2, 4), "k.csv:4: rater 'x' gives ranks 1, 2, 4 in one conversation and no 3"),
        ((2, 3), "gives ranks 2, 3 in one conversation and no 1"),
        ((0, 1), "rank '0' is none of 1"),
    ],
)
def test_ranks_with_ties_or_gaps_are_named_in_one_line(tmp_path: Path, given: tuple[int, ...], told: str) -> None:
    with pytest.raises(UserError, match=re.escape(told)) as error:
        read_labels(ranked(tmp_path / "k.csv", {"x": given}), SCALE)
    assert "\n" not in str(error.value)


def chat(rating: int, *bots: str) -> dict[str, Any]:
    """One of iEval's chats."""
    return {"chat_log": "\n".join(f"- I passed !\n- {said}" for said in bots), "Rating": rating, "P": 4}


def ieval(path: Path, people: int = 9) -> Path:
    """A file in iEval's layout: the bot that scores n says n, and two are rated alike."""
    event = {"Pink": chat(1, "Reply 1 .", "Oh"), "Purple": chat(3, "Reply 3", "that ' s great !"), "Yellow": chat(2, "Reply 2"),
             "Green": chat(2, "Reply 2 too"), "prompt": "p", "emotion": "e", "conv_id": "c"}  # fmt: skip
    path.write_text(json.dumps([{"part": n, "positive": event, "negative": event, "TEQ_agg": 4} for n in range(people)]))
    return path


def test_a_person_who_ranked_four_bots_is_five_comparisons_of_whole_chats(tmp_path: Path) -> None:
    labels = read_labels(ieval(tmp_path / "ieval_data.json", 1), SCALE)
    one, best, two, other = "Reply 1. Oh", "Reply 3 that's great!", "Reply 2", "Reply 2 too"
    assert {(p.better, p.worse) for p in labels.pairs()} == {
        (best, one), (best, two), (best, other), (two, one), (other, one),
    }, "and none of the two that are rated alike"  # fmt: skip
    assert {(p.context, p.bunch) for p in labels.pairs()} == {("Seeker: I passed!", "person 0")}
    assert read_labels(tmp_path, SCALE).sha256 == labels.sha256, "the published folder is the same"


async def test_intervals_of_one_persons_own_conversations_resample_persons(tmp_path: Path) -> None:
    path = ieval(tmp_path / "ieval_data.json")
    tasks = json.loads(path.read_text())
    for task in tasks:
        for event in (task["positive"], task["negative"]):
            for bot in ("Pink", "Purple", "Yellow", "Green"):
                event[bot]["chat_log"] = event[bot]["chat_log"].replace("I passed", f"I passed exam {task['part']}")
    path.write_text(json.dumps(tasks))
    found = await check_against(Prefers(), read_labels(path, SCALE))
    assert (found.pairs, found.conversations, found.bunches) == (45, 9, "rater")
    assert "45 clear pairs of 9 raters" in people_sentence(found)


@pytest.mark.parametrize(
    "line", ['Seeker: a,"' + "x" * 200_000 + '",r,1', "Seeker: a,b,r," + "9" * 5_000], ids=["endless field", "endless rank"]
)
def test_a_table_that_no_program_could_read_is_named_in_one_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "ranks.csv"
    path.write_text(f"{','.join(RANKS)}\n{line}\n")
    with pytest.raises(UserError, match=r"--against .*ranks\.csv:") as raised:
        read_labels(path, SCALE)
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize("ratings", ["conversation_id,kind\n2,5", "conversation_id,kind\n1,much", "other,kind\n1,3"])
def test_a_published_folder_with_a_damaged_file_is_named_in_one_line(tmp_path: Path, ratings: str) -> None:
    place = tmp_path / LEND_AN_EAR
    place.mkdir(parents=True)
    (place / "texts.csv").write_text('conversation_id,full_conversation\n1,"Seeker: a\nSupporter: b"\n')
    (place / "expert_ratings.csv").write_text(f"{ratings}\n")
    with pytest.raises(UserError, match=r"--against .*expert_ratings\.csv:\d+: "):
        read_labels(tmp_path, SCALE)


@pytest.mark.parametrize("content", ["[]", "{}", '[{"part": 1}]', "not JSON", json.dumps([{"part": 1, "positive": {}}])])
def test_json_of_another_layout_is_named_in_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(UserError) as error:
        read_labels(tmp_path / "x.json", SCALE)
    assert "\n" not in str(error.value)


async def test_accuracy_at_equal_length_is_of_pairs_on_which_length_says_nothing(tmp_path: Path) -> None:
    found = await checked(rated(tmp_path / "r.csv", 40, longer_is_better=1.0, equal=0.5), Prefers(by_length=True))
    assert found.accuracy == pytest.approx(0.75), "of equal length neither is longer, and the place decides"
    assert (found.equal_length_pairs, found.equal_length_accuracy) == (20, 0.5)
    assert "of the 20 of equal length on 50 %" in people_sentence(found)


async def test_kappa_of_the_judge_is_beside_that_of_raters_on_the_same_pairs(tmp_path: Path) -> None:
    """One of three raters contradicts the others everywhere, so one pair of raters in three agrees, and two raters with the
    judge."""
    rows = [(f"Seeker: talk {c}", "Reply 1", "Reply 5", rater, said) for c in range(12) for rater, said in
        zip("xyz", "bba", strict=True)]  # fmt: skip
    found = await check_against(Prefers(), read_labels(preferred(tmp_path / "p.csv", rows), SCALE))
    assert found.kappa == pytest.approx(1 / 3)
    assert found.raters_kappa == pytest.approx(-1 / 3)


async def test_a_judge_with_an_opinion_is_said_to_have_one_with_its_figures(tmp_path: Path) -> None:
    own = await check_judge_async(KnowsAnswers(gold_pairs()))
    assert standing(own) == "a judge's opinion: not compared with judgements of people"
    by_words = await checked(rated(tmp_path / "r.csv", 200, longer_is_better=0.9), Prefers(by_length=True))
    share = f"{100 * (by_words.accuracy or 0):.0f} %"
    said = standing(with_people(own, [by_words]))
    assert said == f"a judge's opinion: right on {share} of strangers' clear pairs, no better than counting words"
