"""People's votes from the command line: taken in, checked, and counted again without the raters who are left out."""

import resource
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.store.judgment import Judgment
from harness.store.run_store import RunStore
from harness.votes.votes_of_run import FOLDER, add_votes
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
        ("c-00,regular,flat,kind,r,same,,,,,", "extra"),
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


def test_votes_whose_writing_ends_in_the_middle_cost_no_earlier_ones(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path
) -> None:
    told(capsys, "add-votes", played, "--add", votes_file(tmp_path))
    kept = played / FOLDER / "votes.jsonl"
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
