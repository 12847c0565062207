"""What a test says when its server ends, and what `harness rank` says of the same raters."""

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from harness.errors import UserError
from harness.figures.rank import rank_target
from harness.figures.summary import RunSummary
from harness.ranking.question import RatingQuestion
from harness.reports.listening.answers import VoteStore
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.ended import sentences
from harness.reports.listening.plan import Item, Slot
from harness.reports.listening.results import human_rows_of
from harness.reports.listening.serve import design_folder
from harness.store.run_store import RunStore
from tests.harness.conftest import harness
from tests.reports.listening.started import started

Played = Callable[..., tuple[RunStore, RunSummary]]
TEXT = ListeningDesign(medium="text")
LISTEN = (sys.executable, "-m", "harness", "listen", "--address", "127.0.0.1:0")


def answered(store: RunStore, failing: int, honest: int, contexts: int = 8) -> VoteStore:
    """A test with raters who fail a check, and raters who pass it."""
    votes = VoteStore(store.folder / "listening" / design_folder(TEXT))
    for number in range(failing + honest):
        slots = [(Slot(context=f"talk-{n}", system="quick"), Slot(context=f"talk-{n}", system="slow")) for n in range(contexts)]
        plan = [Item(role="main", context=f"talk-{n}", slots=pair, draw_rate=1.0) for n, pair in enumerate(slots)]
        plan += [Item(role="gold", context="talk-0", slots=slots[0], expected=1)]
        rater = votes.begin(f"secret {number}", "rater", TEXT.model_dump_json(), plan)
        for place in range(contexts):
            votes.answer(rater, place, {"choice": (-1) ** place, "reason": "warmer"}, None, 30.0 + place)
        votes.answer(rater, contexts, {"choice": 1, "reason": "warmer"}, number >= failing, 30.0)
    return votes


def test_it_names_raters_answers_who_is_left_out_and_the_next_two_commands(played: Played) -> None:
    store, _ = played(contexts=8)
    votes = answered(store, failing=1, honest=2)
    votes.begin("late", "rater", TEXT.model_dump_json(), ())
    said = list(sentences(store, TEXT, votes))
    assert said[0] == "3 raters, 24 answers; 2 of 3 count."
    assert "rater-0001 is left out: failed 1 of 1 checks." in said
    assert "1 more began and rated nothing." in said
    assert said[-2:] == [f"  harness rank {store.folder} --people", f"  harness report {store.folder}"]


@pytest.mark.parametrize("judged", [True, False])
def test_where_all_are_excluded_both_say_who_and_why_and_how_to_count_them(played: Played, judged: bool) -> None:
    store, _ = played(contexts=8)
    if not judged:
        for judge, presentation, condition in {(r.judge, r.presentation, r.condition) for r in store.judgments()}:
            store.replace_judgments({judge}, [], presentation, condition)
    votes = answered(store, failing=2, honest=0)
    assert f"  harness rank {store.folder} --people --keep-excluded" in sentences(store, TEXT, votes)
    rows, left_out = human_rows_of(store.folder)
    assert rows == []
    with pytest.raises(UserError) as caught:
        rank_target(store.folder, RatingQuestion(by_people=True, draws=20), votes=rows, left_out=left_out)
    said = str(caught.value)
    assert "nobody has voted" not in said
    for part in ("16 votes are there, all excluded", "rater-0001: failed 1 of 1 checks", "rank", "--people --keep-excluded"):
        assert part in said
    assert human_rows_of(store.folder, keep_excluded=True)[1] == ""


def test_one_who_counts_is_enough_for_no_such_sentence(played: Played) -> None:
    store, _ = played(contexts=8)
    answered(store, failing=2, honest=1).close()
    rows, left_out = human_rows_of(store.folder)
    assert len(rows) == 8
    assert left_out == ""


def test_nobody_is_said_to_be_left_out_where_nobody_answered(played: Played) -> None:
    store, _ = played()
    votes = VoteStore(store.folder / "listening" / design_folder(TEXT))
    assert list(sentences(store, TEXT, votes)) == [f"Nobody has rated anything yet. To go on: harness listen {store.folder}"]


def test_the_command_says_so_after_ctrl_c(played: Played, tmp_path: Path) -> None:
    store, _ = played(contexts=6)
    study = tmp_path / "study.toml"
    study.write_text('name = "Amables"\nlanguage = "es"\n', encoding="utf-8")
    with started(*LISTEN, str(store.folder), "--medium", "text", "--study", str(study)) as (server, url):
        rater: Any = httpx2.Client(base_url=url, timeout=20)
        front = rater.get("/").text
        assert "Amables" in front
        assert '<html lang="es">' in front
        rater.post("/begin", json={"consent": True})
        position = 0
        while rater.get("/step").json()["practice"]:
            rater.post("/answer", json={"position": position, "answer": {"choice": 1, "reason": "más amable"}})
            position += 1
        rater.post("/answer", json={"position": position, "answer": {"choice": 1, "reason": "más amable"}})
        server.send_signal(signal.SIGINT)
        said, _ = server.communicate(timeout=30)
    assert "1 rater, 1 answer; 1 of 1 count." in said
    assert f"-m harness rank {store.folder} --people" in said


def test_a_run_without_sound_is_read_without_being_asked(tmp_path: Path) -> None:
    rows = [f"mini-night-shift-exam,{bot},What was that like for you{k}?" for k, bot in enumerate(("ours", "theirs"))]
    (tmp_path / "replies.csv").write_text("\n".join(["context,system,text", *rows]) + "\n", encoding="utf-8")
    assert harness(tmp_path, "import-replies", "replies.csv", "--pack", "heart-mini", "--out", "run").code == 0
    with started(*LISTEN, str(tmp_path / "run")) as (_, url):
        assert httpx2.get(url).status_code == 200
