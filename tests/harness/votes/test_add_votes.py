"""People's votes from the command line: taken in, checked, and counted again without the raters who are left out."""

import resource
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from harness.reports.listening.answers import VoteStore
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.plan import Item, Slot
from harness.store.judgment import Judgment
from harness.store.run_store import RunStore
from harness.votes.votes_of_run import add_votes
from tests.harness.judging.conftest import call, told

VOTES = "context,subset,system_a,system_b,rater,vote,seconds,words,check\n"


def votes_file(tmp_path: Path, *, raters: Sequence[str] = ("ann", "ben"), hasty: Sequence[str] = ("hasty",)) -> Path:
    lines = [
        f"c-{n:02},{'adversarial' if n % 4 == 3 else 'regular'},flat,kind,{rater},b_much,{1 if rater in hasty else 20},60,\n"
        for rater in (*raters, *hasty)
        for n in range(12)
    ]
    path = tmp_path / "votes.csv"
    path.write_text(VOTES + "".join(lines))
    return path


def human_rows(run: Path) -> list[Judgment]:
    store = RunStore.open(run)
    rows = [row for row in store.judgments() if row.source == "human"]
    store.close()
    return rows


def test_votes_are_taken_in_and_an_exclusion_can_be_taken_back(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path
) -> None:
    path = votes_file(tmp_path)
    code, first = told(capsys, "add-votes", played, "--add", path, "--presentation", "heard_text")
    assert code == 0
    assert first["counted"] == {"heard_text": 24}
    assert {r["rater"] for r in first["raters"] if r["excluded"]} == {"hasty"}
    assert {row.judge for row in human_rows(played)} == {"votes/ann", "votes/ben"}
    told(capsys, "add-votes", played, "--keep-excluded")
    assert len(human_rows(played)) == 36
    told(capsys, "add-votes", played)
    assert len(human_rows(played)) == 24
    told(capsys, "add-votes", played, "--add", path, "--presentation", "heard_text")
    assert len(human_rows(played)) == 24
    _, board = told(capsys, "rank", played)
    assert board["systems"]["kind"]["elo"] > board["systems"]["flat"]["elo"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nowhere,regular,flat,kind,r,same,,,", "context"),
        ("c-00,adversarial,flat,kind,r,same,,,", "subset"),
        ("c-00,regular,flat,nobody,r,same,,,", "system_b"),
        ("c-00,regular,flat,flat,r,same,,,", "system_b"),
        ("c-00,regular,flat,kind,r,better,,,", "vote"),
        ("c-00,regular,flat,kind,r,same,inf,,", "seconds"),
        ("c-00,regular,flat,kind,r,same,,,,,more", "11 cells where the header has 9"),
    ],
)
def test_a_bad_vote_is_named_by_file_and_line_and_nothing_is_taken_in(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path, line: str, says: str
) -> None:
    path = tmp_path / "v.csv"
    path.write_text(VOTES + "c-00,regular,flat,kind,r,same,,,\n" + line + "\n")
    code, _, error = call(capsys, "add-votes", played, "--add", path)
    assert code == 2
    assert f"{path}:3" in error
    assert says in error
    assert error.count("\n") == 1
    assert human_rows(played) == []


def test_no_votes_and_no_columns_are_said(capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path) -> None:
    assert call(capsys, "add-votes", played)[0] == 2
    for text in ("", VOTES, "a,b\n1,2\n"):
        (tmp_path / "v.csv").write_text(text)
        code, _, error = call(capsys, "add-votes", played, "--add", tmp_path / "v.csv")
        assert code == 2
        assert error.count("\n") == 1


def by_person(path: Path, rater: str, vote: str = "b_much") -> Path:
    path.parent.mkdir(exist_ok=True)
    lines = [f"c-{n:02},{'adversarial' if n % 4 == 3 else 'regular'},flat,kind,{rater},{vote},20,60,\n" for n in range(12)]
    path.write_text(VOTES + "".join(lines))
    return path


def test_two_files_of_one_name_are_two_persons_votes(capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path) -> None:
    anna, ben = by_person(tmp_path / "a" / "votes.csv", "anna"), by_person(tmp_path / "b" / "votes.csv", "ben")
    _, found = told(capsys, "add-votes", played, "--add", anna, "--add", ben)
    assert (found["votes"], sorted(r["rater"] for r in found["raters"])) == (24, ["anna", "ben"])
    assert {row.judge for row in human_rows(played)} == {"votes/anna", "votes/ben"}
    # The same path with the next person's votes, as a browser's folder of downloads has it.
    _, found = told(capsys, "add-votes", played, "--add", by_person(anna, "cara"))
    assert found["votes"] == 36
    assert sorted(file.name for file in (played / "votes").iterdir()) == [f"000{n}-votes.jsonl" for n in (1, 2, 3)]


def test_a_file_that_is_added_again_counts_once_and_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path
) -> None:
    told(capsys, "add-votes", played, "--add", by_person(tmp_path / "votes.csv", "anna"))
    _, found = told(capsys, "add-votes", played, "--add", by_person(tmp_path / "another.csv", "anna"))
    assert (found["votes"], found["counted"]) == (12, {"written": 12})
    assert any("added before" in note for note in found["notes"])


def test_a_corrected_vote_replaces_the_earlier_one_and_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path
) -> None:
    path = by_person(tmp_path / "votes.csv", "anna", "a_much")
    told(capsys, "add-votes", played, "--add", path)
    _, found = told(capsys, "add-votes", played, "--add", by_person(path, "anna", "b_much"))
    assert (found["votes"], found["counted"]) == (24, {"written": 12})
    assert any("12 earlier votes" in note for note in found["notes"])
    assert {(row.winner, row.purpose) for row in human_rows(played)} == {("a", "repeat"), ("b", "main")}
    code, out, _ = call(capsys, "add-votes", played)
    assert (code, "12 earlier votes" in " ".join(out.split())) == (0, True)
    _, board = told(capsys, "rank", played)
    assert any("12 earlier votes" in note for note in board["people_votes"]["warnings"])
    assert board["systems"]["kind"]["elo"] > board["systems"]["flat"]["elo"]


def test_spellings_of_one_rater_are_one_and_are_said(capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path) -> None:
    path = by_person(tmp_path / "votes.csv", "zoe\u0308")
    path.write_text(path.read_text().replace("zoe\u0308", "zo\u00eb ", 6))
    _, found = told(capsys, "add-votes", played, "--add", path)
    assert [r["rater"] for r in found["raters"]] == ["zo\u00eb"]
    assert any("read as one" in note for note in found["notes"])


def test_the_page_says_that_earlier_votes_do_not_count(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path
) -> None:
    path = by_person(tmp_path / "votes.csv", "anna", "a_much")
    told(capsys, "add-votes", played, "--add", path)
    told(capsys, "add-votes", played, "--add", by_person(path, "anna", "b_much"))
    code, out, _ = call(capsys, "report", played, "--json")
    assert code == 0
    assert "12 earlier votes" in out
    assert "12 earlier votes" in (played / "report.html").read_text(encoding="utf-8")


def test_votes_whose_writing_ends_in_the_middle_cost_no_earlier_ones(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path
) -> None:
    told(capsys, "add-votes", played, "--add", votes_file(tmp_path))
    (kept,) = (played / "votes").glob("*.jsonl")
    before, (_, most) = kept.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    many = votes_file(tmp_path, raters=[f"r{n}" for n in range(60)])
    store = RunStore.open(played)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * len(before), most))
    try:
        with pytest.raises(OSError, match="File too large"):
            add_votes(store, many, "written")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        store.close()
    assert kept.read_bytes() == before


def test_files_are_given_one_after_the_other_and_one_that_is_refused_stops_no_other(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path
) -> None:
    anna, ben = by_person(tmp_path / "a" / "votes.csv", "anna"), by_person(tmp_path / "b" / "votes.csv", "ben")
    broken = tmp_path / "broken.csv"
    broken.write_text("\0\0")
    cara = by_person(tmp_path / "c" / "votes.csv", "cara")
    code, found = told(capsys, "add-votes", played, anna, broken, ben, tmp_path / "gone.csv", "--add", cara)
    assert code == 2
    assert sorted(r["rater"] for r in found["raters"]) == ["anna", "ben", "cara"]
    assert [Path(r["file"]).name for r in found["refused"]] == ["broken.csv", "gone.csv"]
    assert {row.judge for row in human_rows(played)} == {"votes/anna", "votes/ben", "votes/cara"}
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in (played / "votes").iterdir())
    code, out, error = call(capsys, "add-votes", played, broken, tmp_path / "gone.csv")
    assert (code, "36 of 36 votes count" in out) == (2, True)
    assert [name for name in ("broken.csv", "gone.csv") if name in error] == ["broken.csv", "gone.csv"]


def test_one_name_in_two_files_is_one_rater_and_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path
) -> None:
    first, second = by_person(tmp_path / "a" / "votes.csv", "anna"), by_person(tmp_path / "b" / "votes.csv", "anna", "same")
    _, found = told(capsys, "add-votes", played, first, second, by_person(tmp_path / "c.csv", "ben"))
    (anna,) = (r for r in found["raters"] if r["rater"] == "anna")
    assert (anna["files"], found["counted"]) == (2, {"written": 24})
    assert [note for note in found["notes"] if note.startswith("anna ") and "2 files" in note and "one rater" in note]
    assert not [note for note in found["notes"] if note.startswith("ben ")]


def test_pairs_that_a_person_skips_are_counted_and_are_neither_votes_nor_ties(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path
) -> None:
    path = by_person(tmp_path / "votes.csv", "anna", "b_slightly")
    text = path.read_text()
    path.write_text(text.replace("b_slightly,20,60", "skip,5,60", 3))
    _, found = told(capsys, "add-votes", played, path, "--presentation", "heard_text")
    (anna,) = found["raters"]
    assert (anna["votes"], anna["skipped"], found["skipped"], found["counted"]) == (9, 3, 3, {"heard_text": 9})
    assert {row.winner for row in human_rows(played)} == {"b"}
    code, out, _ = call(capsys, "add-votes", played)
    assert (code, "3 pairs skipped" in " ".join(out.split())) == (0, True)
    # Whoever skips a pair on which they had voted takes the vote back.
    path.write_text(text.replace("b_slightly,20,60", "skip,6,60"))
    _, found = told(capsys, "add-votes", played, path, "--presentation", "heard_text")
    assert (found["counted"], {row.purpose for row in human_rows(played)}) == ({}, {"repeat"})


def test_skipped_pairs_are_named_beside_people_s_board(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path
) -> None:
    lines = [
        f"c-{n:02},{'adversarial' if n % 4 == 3 else 'regular'},{pair},anna,{answer},,,,1\n"
        for n, answer in enumerate(["a_much", "b_much", "b_much", "a_much", "b_much", "skip"] * 2)
        for pair in ("flat,kind", "flat,ref:good", "kind,ref:good")
        if n != 11
    ]
    path = tmp_path / "votes.csv"
    path.write_text(VOTES.strip() + ",draw_rate\n" + "".join(lines))
    told(capsys, "add-votes", played, path, "--presentation", "heard_text")
    _, board = told(capsys, "rank", played)
    assert board["people_votes"]["skipped"] == 3
    assert [note for note in board["people_votes"]["warnings"] if "3 of 33" in note and "skipped" in note]
    told(capsys, "report", played, "--json")
    assert "3 of 33" in (played / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("judged", [False, True])
def test_votes_that_are_all_excluded_are_there_and_the_way_to_count_them_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path, judged: bool
) -> None:
    if judged:
        store = RunStore.open(played)
        row = {"subset": "regular", "system_a": "flat", "system_b": "kind", "source": "judge", "judge": "j", "winner": "b"}
        rows = [Judgment.model_validate({**row, "context": f"c-{n:02}", "presentation": "heard_text"}) for n in range(12)]
        store.replace_judgments({"j"}, rows, "heard_text", "")
        store.close()
    path = votes_file(tmp_path, raters=(), hasty=("hasty", "hurry"))
    _, found = told(capsys, "add-votes", played, path, "--presentation", "heard_text")
    assert (found["votes"], found["counted"]) == (24, {})
    says = ("24 votes are there, all excluded", "faster than anybody can", "add-votes", "--keep-excluded")
    code, _, error = call(capsys, "rank", played, "--people")
    assert code == 2
    assert all(part in error for part in says)
    assert "nobody" not in error
    _, report = told(capsys, "report", played, "--json")
    page = (played / "report.html").read_text(encoding="utf-8")
    assert all(part in str(report) and part in page for part in says)
    if judged:
        _, board = told(capsys, "rank", played)
        assert all(part in board["people_votes"]["refused"] for part in says)
    else:
        assert all(part in call(capsys, "rank", played)[2] for part in says)
    told(capsys, "add-votes", played, "--keep-excluded")
    assert told(capsys, "rank", played, "--people")[1]["people_votes"]["votes"] == 24


def test_votes_of_a_listening_test_that_are_all_excluded_are_not_called_none(
    capsys: pytest.CaptureFixture[str], played: Path
) -> None:
    with closing(VoteStore(played / "listening" / "ab-text-without")) as votes:
        items = [
            Item(role="main", context=f"c-{n:02}", slots=tuple(Slot(context=f"c-{n:02}", system=s) for s in ("flat", "kind")))
            for n in range(12)
        ]
        design = ListeningDesign(medium="text").model_dump_json()
        rater = votes.begin("secret", "rater", design, (*items, items[0].model_copy(update={"role": "gold", "expected": -1})))
        for n in range(12):
            votes.answer(rater, n, {"choice": 1, "reason": "so"}, None, 9.0)
        votes.answer(rater, 12, {"choice": 1, "reason": "so"}, False, 9.0)
    for asked in ((), ("--people",)):
        code, _, error = call(capsys, "rank", played, *asked)
        assert (code, "nobody" in error, "--keep-excluded" in error) == (2, False, True)
    _, board = told(capsys, "rank", played, "--people", "--keep-excluded")
    assert [(one["agent"], one["votes"]) for one in board["head_to_head"]] == [("kind", 12)]
