"""Files that people send back are read by the run's key, and refused in one sentence if no page can have made them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.store.run_store import RunStore
from harness.votes.vote_file import KeyPair, VoteFileKey
from tests.harness.judging.conftest import call, told
from tests.harness.votes.test_add_votes import human_rows

FILE = "k7q2m9"
CONSENT = "0a1b2c3d"
Sent = dict[str, Any]


def give_key(run: Path, /, **other: Any) -> VoteFileKey:
    """The key of a vote file on twelve pairs of `flat` and `kind`, where `report --vote-file` puts it."""
    store = RunStore.open(run)
    pairs = {
        f"p{n:03}": KeyPair(
            context=f"c-{n:02}", subset="adversarial" if n % 4 == 3 else "regular", system_a="flat", system_b="kind",
            presentation="heard_text", condition=store.manifest.conditions[0], draw_rate=1.0, words=20,
        )
        for n in range(12)
    }  # fmt: skip
    key = VoteFileKey(
        file=FILE, run=store.manifest.id, made="2026-11-28T10:00:00Z", consent="I agree.", consent_version=CONSENT,
        completion_code="C0DE", pairs=pairs,
    ).model_copy(update=other)  # fmt: skip
    store.close()
    place = run / "vote-files" / f"{key.file}.json"
    place.parent.mkdir(exist_ok=True)
    place.write_text(key.model_dump_json(by_alias=True))
    return key


def kind(_pair: int) -> str:
    return "kind"


def sent_by(participant: str, choose: Callable[[int], str] = kind) -> Sent:
    """The file of somebody who prefers a system by much, or skips; every second pair is shown with `kind` first."""
    votes = []
    for n in range(12):
        first = "b" if n % 2 else "a"
        chosen = choose(n)
        shown = "skip" if chosen == "skip" else "a_much" if (chosen == "kind") == (first == "b") else "b_much"
        votes.append({"pair": f"p{n:03}", "shown_first": first, "vote": shown, "seconds": 12.5, "reason": "", "check": None,
                      "presentation": "heard_text"})  # fmt: skip
    return {
        "schema": 1, "kind": "heart-votes", "file": FILE, "participant": participant, "consent": CONSENT, "votes": votes,
        "started": "2026-11-28T10:00:00Z", "ended": "2026-11-28T10:02:30Z", "completion_code": "C0DE",
    }  # fmt: skip


def write(path: Path, sent: object) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(sent if isinstance(sent, str) else json.dumps(sent))
    return path


def test_ten_people_s_files_are_read_by_the_key_whichever_reply_was_shown_first(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path
) -> None:
    give_key(played)
    files = [write(tmp_path / f"{n}" / "votes.json", sent_by(f"P{n}")) for n in range(10)]
    code, found = told(capsys, "add-votes", played, *files)
    assert (code, found["counted"], found["effective_raters"]) == (0, {"heard_text": 120}, pytest.approx(10))
    assert found["leading_rater"] is None
    rows = human_rows(played)
    assert {(row.system_a, row.system_b, row.winner, row.strength) for row in rows} == {("flat", "kind", "b", 5)}
    assert {(row.shown_first, row.draw_rate, row.presentation) for row in rows} == {
        ("a", 1.0, "heard_text"), ("b", 1.0, "heard_text"),
    }  # fmt: skip
    assert len({file.name for file in (played / "votes").iterdir()}) == 10
    assert {file.stat().st_mode & 0o777 for file in (played / "votes").iterdir()} == {0o600}
    _, found = told(capsys, "add-votes", played, files[3])
    assert found["votes"] == 120
    assert any("added before" in note for note in found["notes"])


def test_skips_and_checks_of_a_vote_file_are_no_votes(capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path) -> None:
    give_key(played)
    check = {"pair": "p000", "shown_first": "b", "seconds": 4.0, "presentation": "heard_text", "check": "b_slightly"}
    careful, careless = sent_by("careful", lambda n: "skip" if n < 3 else "kind"), sent_by("careless")
    careful["votes"].append(check | {"vote": "b_slightly"})
    careless["votes"].append(check | {"vote": "a_slightly"})
    silent = sent_by("silent")
    silent["votes"].append(check | {"vote": "skip"})
    files = [write(tmp_path / f"{who['participant']}.json", who) for who in (careful, careless, silent)]
    _, found = told(capsys, "add-votes", played, *files)
    by_name = {r["rater"]: r for r in found["raters"]}
    assert {name: (r["votes"], r["skipped"], r["checks"], r["checks_failed"]) for name, r in by_name.items()} == {
        "careful": (9, 3, 1, 0), "careless": (12, 0, 1, 1), "silent": (12, 0, 1, 1),
    }  # fmt: skip
    assert by_name["careless"]["reasons"] == by_name["silent"]["reasons"] == ["failed 1 of 1 checks"]
    assert (found["counted"], found["skipped"]) == ({"heard_text": 9}, 3)


def with_vote(sent: Sent, **other: Any) -> Sent:
    return sent | {"votes": [sent["votes"][0] | other, *sent["votes"][1:]]}


OK = sent_by("P1")
BAD: Mapping[str, tuple[object, str]] = {
    "unknown pair": (with_vote(OK, pair="zzzz"), "'zzzz' is not in this vote file"),
    "sound for words": (with_vote(OK, presentation="audio"), "presentation"),
    "no such option": (with_vote(OK, vote="best"), "votes[0].vote"),
    "no time": (with_vote(OK, seconds=-1), "seconds"),
    "not a number": (json.dumps(OK).replace("12.5", "NaN", 1), "NaN"),
    "endless": (json.dumps(OK).replace("12.5", "1e999", 1), "too large"),
    "another schema": (OK | {"schema": 2}, "schema 2"),
    "another kind": (OK | {"kind": "votes"}, "not from a vote file"),
    "a list": ([OK], "not from a vote file"),
    "no consent": (OK | {"consent": ""}, "agreed"),
    "a name that is markup": (OK | {"participant": "<b>me</b>"}, "participant"),
    "a path for an id": (OK | {"file": "../../run"}, "file"),
    "too many": (OK | {"votes": OK["votes"] * 100}, "votes"),
    "nothing": (OK | {"votes": []}, "no votes"),
    "a key twice": (json.dumps(OK).replace("{", '{"schema": 1, ', 1), "twice"),
    "cut": (json.dumps(OK)[:-40], "not JSON"),
    "deep": ('{"kind": ' + "[" * 100_000, "JSON"),
    "huge": (json.dumps(OK) + "\n" + " " * (9 * 2**20), "larger"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_no_page_can_have_made_is_refused_in_one_sentence_and_others_are_added(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path, name: str
) -> None:
    give_key(played)
    sent, says = BAD[name]
    bad, good = write(tmp_path / "bad.json", sent), write(tmp_path / "good.json", sent_by("P2"))
    code, out, error = call(capsys, "add-votes", played, bad, good)
    assert code == 2
    assert says in error
    assert (error.count("\n"), error.count("bad.json")) == (1, 1)
    assert "12 of 12 votes count" in out
    assert {row.judge for row in human_rows(played)} == {"votes/P2"}


def test_votes_of_another_vote_file_are_refused_with_the_run_that_has_its_key(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path
) -> None:
    path = write(tmp_path / "sent" / "votes.json", sent_by("P1"))
    code, _, error = call(capsys, "add-votes", played, path)
    assert (code, FILE in error, error.count("\n")) == (2, True, 1)
    other = tmp_path / "of-monday"
    (other / "vote-files").mkdir(parents=True)
    (other / "vote-files" / f"{FILE}.json").write_text("{}")
    assert str(other) in call(capsys, "add-votes", played, path)[2]
    key = give_key(played, run="another")
    assert "another" in call(capsys, "add-votes", played, path)[2]
    assert (
        "is the key" in call(capsys, "add-votes", played, write(tmp_path / "key.json", key.model_dump_json(by_alias=True)))[2]
    )
    assert human_rows(played) == []


def test_a_rater_with_most_of_the_votes_is_named_with_the_share(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path
) -> None:
    give_key(played)
    few = [sent_by(f"P{n}") for n in range(3)]
    files = [write(tmp_path / f"{n}.json", one | {"votes": one["votes"][:1]}) for n, one in enumerate(few)]
    _, found = told(capsys, "add-votes", played, write(tmp_path / "lead.json", sent_by("lead")), *files)
    assert found["leading_rater"] == {"rater": "lead", "share": pytest.approx(12 / 15)}
    assert found["effective_raters"] == pytest.approx(15**2 / (12**2 + 3))
    assert [note for note in found["notes"] if "lead gave 80 %" in note and "1.5" in note]


def test_whoever_answers_in_two_files_is_one_rater_and_the_last_answer_counts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path
) -> None:
    """The page goes on where somebody left, so a second file of theirs often has the first in it."""
    give_key(played)
    whole = sent_by("P1")
    first = write(tmp_path / "1.json", whole | {"votes": whole["votes"][:5]})
    _, found = told(capsys, "add-votes", played, first, write(tmp_path / "2.json", whole))
    (rater,) = found["raters"]
    assert (rater["votes"], rater["files"], found["counted"]) == (12, 2, {"heard_text": 12})
    assert any("one rater" in note for note in found["notes"])


def test_what_the_real_page_s_key_says_is_what_is_counted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path
) -> None:
    """From `report --vote-file` to who is preferred: three people who choose the warm words, wherever these are shown."""
    assert call(capsys, "report", played, "--vote-file", tmp_path / "vote.html")[0] == 0
    (place,) = (played / "vote-files").iterdir()
    key = VoteFileKey.model_validate_json(place.read_text())
    files = []
    for person in range(3):
        votes = []
        for n, (name, pair) in enumerate(key.pairs.items()):
            first = "ab"[(n + person) % 2]
            warm = next((side for side in "ab" if getattr(pair, f"system_{side}") == "kind"), None)
            shown = "same" if warm is None else "a_slightly" if warm == first else "b_slightly"
            votes.append({"pair": name, "shown_first": first, "vote": shown, "seconds": 20.0, "check": None,
                          "presentation": pair.presentation})  # fmt: skip
        sent = sent_by(f"P{person}") | {"file": key.file, "consent": key.consent_version, "votes": votes}
        files.append(write(tmp_path / str(person) / "votes.json", sent))
    _, found = told(capsys, "add-votes", played, *files)
    assert (found["votes"], [r["excluded"] for r in found["raters"]]) == (3 * len(key.pairs), [False] * 3)
    _, board = told(capsys, "rank", played)
    (pair,) = (one for one in board["head_to_head"] if {one["agent"], one["over"]} == {"kind", "flat"})
    assert (pair["agent"], pair["votes_for"], pair["raters"], pair["whose"]) == ("kind", pair["votes"], 3, None)
    assert pair["at_least"] > 0.5


def test_whoever_withdraws_takes_their_answers_and_reasons_out_of_the_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path
) -> None:
    give_key(played)
    files = [write(tmp_path / f"{name}.json", with_vote(sent_by(name), reason=f"{name} says why")) for name in ("P1", "P2")]
    told(capsys, "add-votes", played, *files)
    told(capsys, "report", played, "--json")
    code, _, said = call(capsys, "people", "withdraw", "P1", played)
    assert (code, "12 answers" in " ".join(said.split())) == (0, True)
    assert {row.judge for row in human_rows(played)} == {"votes/P2"}
    assert [file for file in played.rglob("*") if file.is_file() and b"P1 says why" in file.read_bytes()] == []
    assert not (played / "report.html").exists()
    assert call(capsys, "people", "withdraw", "P1", played)[0] == 2
    _, found = told(capsys, "add-votes", played)
    assert [(r["rater"], r["votes"]) for r in found["raters"]] == [("P2", 12)]


def test_answers_on_a_reply_that_was_withdrawn_are_left_out_and_the_others_count(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, played: Path
) -> None:
    key = give_key(played)
    give_key(played, pairs={name: pair for name, pair in key.pairs.items() if name > "p001"}, withdrawn=("p000", "p001"))
    _, found = told(capsys, "add-votes", played, write(tmp_path / "P1.json", sent_by("P1")))
    assert found["counted"] == {"heard_text": 10}
    assert any("2 answers on replies that were withdrawn" in note for note in found["notes"])
