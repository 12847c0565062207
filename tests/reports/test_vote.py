"""Votes given on the page itself, from disk and on a phone, as far as the board of people."""

import csv
import json
import re
import shlex
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from harness.cli import _run
from harness.figures.cells import JudgeSummary
from harness.figures.summary import RunSummary
from harness.ranking.draw_pairs import DrawnPair
from harness.ranking.head_to_head import head_to_head
from harness.ranking.peoples_axis import peoples_axis
from harness.reports.assemble import assemble
from harness.reports.html import render
from harness.reports.shown_runs import alone
from harness.reports.vote_pairs import MOST_PAIRS, LinePairs, QuickVote, ShownReply, VotePair
from harness.reports.write import write_joint_report
from harness.store.judgment import Judgment, no_reply_rule
from harness.store.run_store import RunStore
from harness.store.selection import Selection
from harness.study.study import Study
from harness.study.texts import texts
from tests.judged import put
from tests.present import present
from tests.reports.invented import in_state, invented_view
from tests.reports.test_page_for_everybody import grave_faults

Open = Callable[..., Any]
Played = Callable[..., tuple[RunStore, RunSummary]]
PHONE = {"width": 390, "height": 844}
READING_MS = 9_000


def on_a_phone(open_page: Open, store: RunStore, summary: RunSummary, script: str = "") -> Any:
    """The page of a run, opened from disk, with a clock that the test moves. `script` runs before those of the page."""
    written = write_joint_report([(store, summary)], store.folder)
    page = open_page("about:blank", **PHONE)
    page.clock.install()
    page.add_init_script(script)
    page.goto(written.page.as_uri())
    return page


@pytest.fixture
def voter(open_page: Open, played: Played) -> Callable[..., tuple[Any, RunStore]]:
    """A phone that shows the page of a run from disk, with a clock that the test moves."""

    def opened(*, contexts: int = 8, **more: Any) -> tuple[Any, RunStore]:
        store, summary = played(contexts=contexts, unit_s=0.3, **more)
        return on_a_phone(open_page, store, summary), store

    return opened


def begin(page: Any, name: str = "ann", **settings: str) -> None:
    page.fill("#vote [name=rater]", name)
    for field, value in settings.items():
        page.select_option(f"#vote [name={field}]", value)
    page.locator("#vote button[type=submit]").click()
    page.locator("#vote .options, #vote .agree").first.wait_for()
    if page.locator("#vote .agree").count():
        page.check("#vote .agree input")
        page.get_by_role("button", name="Begin").click()
    page.locator("#vote .options").wait_for()


def vote(page: Any, key: int) -> None:
    page.locator("#vote .options").wait_for()  # A key before the pair is shown votes for nothing.
    count = page.locator("#vote h3").inner_text()
    page.clock.fast_forward(READING_MS)
    page.keyboard.press(str(key))
    end = time.monotonic() + 60
    while page.locator("#vote h3").inner_text() == count:
        assert time.monotonic() < end, f"no vote was taken at {count}"
        page.wait_for_timeout(10)


def downloaded(page: Any, folder: Path) -> Path:
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download votes").click()
    path = folder / str(waiting.value.suggested_filename)
    waiting.value.save_as(path)
    return path


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = _run([str(a) for a in arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_votes_on_a_phone_reach_the_peoples_board_with_their_rate(
    voter: Callable[..., tuple[Any, RunStore]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page, store = voter()
    begin(page, votes="0")
    for key in (1, 2, 4, 5, 2):
        vote(page, key)
    page.reload()
    assert page.input_value("#vote [name=rater]") == "ann"
    begin(page, votes="0")
    assert "Vote 6" in page.locator("#vote h3").inner_text()
    for key in (4, 1, 5, 3):
        vote(page, key)
    page.locator("#vote h3", has_text="every pair").wait_for()
    file = downloaded(page, tmp_path)
    said, *files = shlex.split(page.locator("#vote code").inner_text().replace(file.name, str(file)))
    assert said == "harness"
    code, out, _ = call(capsys, *files)
    assert code == 0
    next_steps = [shlex.split(line) for line in out.splitlines()[-2:]]
    assert [step[:3] for step in next_steps] == [["harness", name, str(store.folder)] for name in ("rank", "report")]
    assert next_steps[0][3:] == ["--people"]
    assert call(capsys, "add-votes", store.folder, "--add", file.rename(tmp_path / "again (1).csv"))[0] == 0
    table = Selection(store).table
    assert int(table["human"].sum()) == 9
    assert set(table["draw_rate"][table["human"] == 1]) == {1_000_000}
    axis = peoples_axis(table, "heard_text", pairs=24)
    assert (axis.votes, axis.raters, axis.pairs) == (8, 1, 24), "one vote with a reference rates none"
    assert not [note for note in axis.board.warnings if "not drawn at random" in note]
    code, out, _ = call(capsys, "rank", store.folder, "--people", "--draws", "50", "--json")
    assert code == 0
    ranked = json.loads(out)
    assert ranked["people_votes"]["votes"] == 8
    assert {ranked["head_to_head"][0][name] for name in ("agent", "over")} == {"quick", "slow"}


def test_nobody_meets_a_pair_before_the_notice_the_helplines_and_their_agreement(
    voter: Callable[..., tuple[Any, RunStore]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page, store = voter(contexts=3)
    page.fill("#vote [name=rater]", "ann")
    page.locator("#vote button[type=submit]").click()
    page.locator("#vote .notice").wait_for()
    asked = page.locator("#vote").inner_text()
    assert not page.locator("#vote .pair").count()
    assert not page.locator("#vote .dialogue").count()
    assert texts("en")("study.notice") in asked
    assert [line for line in Study().lines_of_help if line not in asked] == []
    assert page.evaluate("document.activeElement.closest('#vote') !== null && document.activeElement.tagName") == "H3"
    assert page.get_by_role("button", name="Begin").is_disabled()
    assert not grave_faults(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.get_by_role("button", name="Back").click()
    page.locator("#vote button[type=submit]").click()
    page.locator("#vote .agree input").press("Space")
    page.get_by_role("button", name="Begin").press("Enter")
    vote(page, 1)
    page.get_by_role("button", name="Stop").click()
    assert Study().lines_of_help[0] in page.locator("#vote").inner_text()
    file = downloaded(page, tmp_path)
    with file.open(encoding="utf-8", newline="") as text:
        (row,) = csv.DictReader(text)
    assert re.fullmatch(r"[0-9a-f]{16}", row["consent"])
    assert row["about"] == ""
    page.reload()
    page.locator("#vote button[type=submit]").click()
    page.locator("#vote .options").wait_for()  # Ann agreed before; somebody else has not.
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Another person").click()
    page.fill("#vote [name=rater]", "ben")
    page.locator("#vote button[type=submit]").click()
    page.locator("#vote .notice").wait_for()
    assert call(capsys, "add-votes", store.folder, file)[0] == 0


def test_a_study_of_ones_own_asks_on_the_page_in_its_language(
    voter: Callable[..., tuple[Any, RunStore]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page, store = voter(contexts=3)
    study = tmp_path / "study.toml"
    study.write_text(
        'name = "Estudio 7"\nwho = "<b>Ana</b>"\nlanguage = "es"\nconsent = "Guardamos <i>todo</i>."\n'
        '[[demographics]]\nlabel = "Edad"\nkind = "number"\n',
        encoding="utf-8",
    )
    assert call(capsys, "report", store.folder, "--study", study)[0] == 0
    page.reload()
    assert page.locator("#vote").get_attribute("lang") == "es"
    page.fill("#vote [name=rater]", "ana")
    page.locator("#vote button[type=submit]").click()
    page.locator("#vote .notice").wait_for()
    asked = page.locator("#vote").inner_text()
    assert [
        w
        for w in ("Estudio 7", "<b>Ana</b>", "Guardamos <i>todo</i>.", *texts("es").several("study.helplines"))
        if w not in asked
    ] == []
    assert not grave_faults(page)
    page.get_by_label("Edad").fill("41")
    page.check("#vote .agree input")
    page.get_by_role("button", name="Empezar").click()
    page.locator("#vote .options").wait_for()
    shown = page.locator("#vote").inner_text()
    english = {part for part in texts("en").entries.values() if isinstance(part, str) and len(part) > 8 and "{" not in part}
    assert [part for part in english if part in shown] == []
    vote(page, 1)
    page.get_by_role("button", name="Parar").click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Descargar").click()
    waiting.value.save_as(tmp_path / "votos.csv")
    assert "harness" not in page.locator("#vote").inner_text()
    code, out, _ = call(capsys, "add-votes", store.folder, tmp_path / "votos.csv", "--json")
    assert code == 0
    (rater,) = json.loads(out)["raters"]
    assert rater["about"] == {"Edad": 41}
    (read,) = (store.folder / "vote-files").glob("*.txt")
    assert "Guardamos <i>todo</i>." in read.read_text(encoding="utf-8")
    with (tmp_path / "votos.csv").open(encoding="utf-8", newline="") as text:
        assert {row["consent"] for row in csv.DictReader(text)} == {read.stem.removeprefix("read-first-")}
    assert call(capsys, "report", store.folder)[0] == 0  # What add-votes says comes next forgets no study.
    page.reload()
    assert page.locator("#vote").get_attribute("lang") == "es"


def test_a_vote_states_the_rate_of_its_own_pair(
    voter: Callable[..., tuple[Any, RunStore]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def by_place(pairs: Sequence[DrawnPair], *_: object, **__: object) -> tuple[DrawnPair, ...]:
        return tuple(replace(pair, rate=1 + k / 100) for k, pair in enumerate(pairs))

    monkeypatch.setattr("harness.reports.quick_vote.drawn", by_place)
    page, _ = voter()
    begin(page, votes="0")
    for key in (1, 2, 4):
        vote(page, key)
    page.get_by_role("button", name="Stop").click()
    with downloaded(page, tmp_path).open(encoding="utf-8-sig") as text:
        first, second, third = (float(row["draw_rate"]) for row in csv.DictReader(text))
    assert (second - first) % 0.24 == pytest.approx(0.01)
    assert (third - second) % 0.24 == pytest.approx(0.01)


@pytest.mark.parametrize("trusted", [False, True])
def test_only_a_judge_that_is_borne_out_has_a_part_in_the_draw(
    played: Played, monkeypatch: pytest.MonkeyPatch, trusted: bool
) -> None:
    asked: list[object] = []

    def as_given(pairs: Sequence[DrawnPair], *_: object, by_doubt: bool) -> tuple[DrawnPair, ...]:
        asked.append(by_doubt)
        return tuple(pairs)

    monkeypatch.setattr("harness.reports.quick_vote.drawn", as_given)
    store, summary = played(contexts=2, unit_s=0.3)
    known = JudgeSummary.model_validate({**summary.judges[0].model_dump(), "trusted": trusted})
    write_joint_report([(store, summary.model_copy(update={"judges": [known]}))], store.folder)
    assert set(asked) == {trusted}


def test_no_name_of_an_agent_is_near_a_pair_and_nothing_is_wider_than_the_phone(
    voter: Callable[..., tuple[Any, RunStore]], hostile: str
) -> None:
    page, _ = voter(text=hostile)
    assert not grave_faults(page)
    begin(page)
    for key in (1, 5):
        shown = page.locator("#vote").evaluate("node => node.outerHTML").lower()
        assert not [name for name in ("quick", "slow", "careful", "tester") if name in shown]
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert not grave_faults(page)
        vote(page, key)
    page.get_by_role("button", name="Stop").click()
    assert "quick" not in page.locator("#vote").inner_text()
    assert not grave_faults(page)
    assert page.title() != "owned"


def test_a_formula_for_a_name_is_text_in_a_spreadsheet_and_the_same_name_here(
    voter: Callable[..., tuple[Any, RunStore]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page, store = voter()
    begin(page, '=HYPERLINK("x")')
    page.locator("#vote summary", has_text="Say why").click()
    page.fill("#vote textarea", "-1, “warm”\nand @ kind")
    page.locator("#vote h3").focus()
    vote(page, 1)
    page.get_by_role("button", name="Stop").click()
    file = downloaded(page, tmp_path)
    with file.open(encoding="utf-8", newline="") as text:
        assert next(csv.DictReader(text))["rater"] == '\'=HYPERLINK("x")'
    assert call(capsys, "add-votes", store.folder, "--add", file)[0] == 0
    (row,) = [row for row in store.judgments() if row.source == "human"]
    assert row.judge == 'votes/=HYPERLINK("x")'
    assert row.rationale == "-1, “warm”\nand @ kind"


def test_two_replies_with_the_same_words_are_called_so_where_they_are_read(
    open_page: Open, played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.reports.quick_vote.drawn", lambda pairs, *_, **__: tuple(pairs))
    store, summary = played(contexts=1, unit_s=0.3)
    store.set_heard("talk-0__slow__seeded__clean__r0", "You sat there alone.", ())
    page = open_page(write_joint_report([(store, summary)], store.folder).page.as_uri(), **PHONE)
    begin(page, votes="0")
    seen = set()
    for _ in range(3):
        page.locator("#vote .options").wait_for()
        texts = page.locator("#vote .reply").all_inner_texts()
        same = page.get_by_text("Both replies are the same, word for word.").count() == 1
        assert same == (texts[0] == texts[1])
        seen.add(same)
        count = page.locator("#vote h3").inner_text()
        page.keyboard.press("3")
        page.locator("#vote h3", has_not_text=count).wait_for()
    assert seen == {True, False}
    begin_again = page.get_by_role("button", name="Another person")
    begin_again.click()
    begin(page, "ben", presentation="audio")
    assert "word for word" not in page.locator("#vote").inner_text()


# Lots of the page's own kind that fall high and low in turn: eight that fall by chance are all alike once in 128 runs.
LOTS_IN_TURN = "let lots = 0; crypto.getRandomValues = (into) => into.fill(lots++ % 2 ? 0xc0000000 : 0x20000000);"


def test_the_row_says_what_the_person_saw(open_page: Open, played: Played, tmp_path: Path) -> None:
    store, summary = played(contexts=8, unit_s=0.3)
    for n, agent in product(range(8), ("quick", "slow")):
        store.set_heard(f"talk-{n}__{agent}__seeded__clean__r0", f"I am {agent}.", ())
    page = on_a_phone(open_page, store, summary, LOTS_IN_TURN)
    begin(page, votes="0")
    first_seen = []
    for _ in range(8):
        first_seen.append(page.locator("#vote .reply").first.inner_text())
        vote(page, 1)
    page.get_by_role("button", name="Take back the last vote").click()
    page.locator("#vote h3", has_text="Vote 8").wait_for()
    first_seen[7] = page.locator("#vote .reply").first.inner_text()
    vote(page, 5)
    page.get_by_role("button", name="Stop").click()
    with downloaded(page, tmp_path).open(encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    assert len(rows) == 8
    preferred_first = [row["vote"] == f"{row['shown_first']}_much" for row in rows]
    assert preferred_first == [True] * 7 + [False]
    for row, seen in zip(rows, first_seen, strict=True):
        first = row[f"system_{row['shown_first']}"]
        assert seen == f"I am {first}." if first in ("quick", "slow") else not seen.startswith("I am ")
    assert {row["shown_first"] for row in rows} == {"a", "b"}
    assert {row["run"] for row in rows} == {store.manifest.id}
    assert all(float(row["seconds"]) >= READING_MS / 1_000 for row in rows)
    assert len({(row["context"], row["system_a"], row["system_b"]) for row in rows}) == 8


def test_a_run_of_two_line_conditions_is_asked_about_on_the_one_that_the_page_shows(
    voter: Callable[..., tuple[Any, RunStore]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page, store = voter(contexts=3, conditions=("clean", "telephone"))
    page.locator("#vote form").wait_for()
    assert page.input_value("#vote [name=line]") == "clean"
    page.select_option("#joint [name=condition]", "telephone")
    assert page.input_value("#vote [name=line]") == "telephone"
    begin(page, votes="0")
    vote(page, 1)
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Another person").click()
    begin(page, line="clean", votes="0")
    for _ in range(3):
        vote(page, 2)
    page.locator("#vote h3", has_text="every pair").wait_for()
    assert re.search(r"3 votes on \d conversations, line clean", page.locator("#vote").inner_text())
    file = downloaded(page, tmp_path)
    assert call(capsys, "add-votes", store.folder, "--add", file)[0] == 0
    given = Counter(row.condition for row in store.judgments() if row.source == "human")
    assert given == {"telephone": 1, "clean": 3}


def test_as_many_votes_are_asked_for_as_an_answer_takes(
    voter: Callable[..., tuple[Any, RunStore]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Who prefers one agent each time has an answer after them, whichever pairs they met."""
    page, store = voter()
    promised = "7 votes, about 2 minutes, say which of the two is preferred if people agree"
    assert promised in page.locator("#vote").inner_text()
    assert page.locator("#vote [name=votes] option").all_inner_texts() == [
        "7 votes, 2 min", "as many as I like"
    ]  # fmt: skip
    begin(page)
    for _ in range(7):
        assert "of 7" in page.locator("#vote h3").inner_text()
        vote(page, 1)
    page.locator("#vote h3", has_text="These were the 7 votes").wait_for()
    file = downloaded(page, tmp_path)
    with file.open(encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    for row in rows:
        row["vote"] = "a_much" if row["system_a"] == "quick" else "b_much"
    with file.open("w", encoding="utf-8", newline="") as text:
        lines = csv.DictWriter(text, rows[0])
        lines.writeheader()
        lines.writerows(rows)
    assert call(capsys, "add-votes", store.folder, "--add", file)[0] == 0
    (found,) = head_to_head(Selection(store).table)
    assert (found.agent, found.is_apart) == ("quick", True)
    page.get_by_role("button", name="Go on voting").click()
    for _ in range(2):
        vote(page, 4)
    page.locator("#vote h3", has_text="every pair").wait_for()


def test_a_skipped_pair_is_in_the_file_and_is_no_vote(
    voter: Callable[..., tuple[Any, RunStore]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page, store = voter()
    begin(page)
    vote(page, 1)
    shown = page.locator("#vote .dialogue, #vote .pair").all_inner_texts()
    page.get_by_role("button", name="Skip this pair").click()
    page.wait_for_function("before => document.querySelector('#vote .pair') && before", arg=shown)
    assert "Vote 2 of 7" in page.locator("#vote h3").inner_text()
    vote(page, 2)
    page.get_by_role("button", name="Stop").click()
    assert "2 votes on 2 conversations, and skipped 1 pair" in page.locator("#vote").inner_text()
    file = downloaded(page, tmp_path)
    with file.open(encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    assert [row["vote"] == "skip" for row in rows] == [False, True, False]
    assert len({row["context"] + row["system_a"] + row["system_b"] for row in rows}) == 3
    code, out, _ = call(capsys, "add-votes", store.folder, "--add", file, "--json")
    added = json.loads(out)
    assert (code, sum(added["counted"].values()), added["skipped"]) == (0, 2, 1)


@pytest.mark.parametrize("contexts", [4, 8])
def test_a_run_too_small_for_a_rating_says_so_before_minutes_are_spent(
    voter: Callable[..., tuple[Any, RunStore]], contexts: int
) -> None:
    page, _ = voter(contexts=contexts)
    page.locator("#vote form").wait_for()
    why = "An answer takes votes on 6 conversations, by one person or several, and this run has 4."
    assert (why in page.locator("#vote").inner_text()) == (contexts == 4)


def test_replies_that_cannot_be_heard_are_counted_before_and_after_voting(open_page: Open, played: Played) -> None:
    store, summary = played(contexts=8, unit_s=0.3)
    for session in store.sessions():
        if session.key.agent == "slow" and session.key.context_id in ("talk-1", "talk-2", "talk-3"):
            store.set_timing(session.id, [replace(present(session.timing), ttfa_ms=None)])
    page = open_page(write_joint_report([(store, summary)], store.folder).page.as_uri(), **PHONE)
    few = "5 of this run's 8 have two replies to hear. To read, 8 have two."
    assert few not in page.locator("#vote").inner_text()
    page.select_option("#vote [name=presentation]", "audio")
    assert few in page.locator("#vote").inner_text()
    begin(page, presentation="audio")
    page.get_by_role("button", name="Stop").click()
    assert few in page.locator("#vote").inner_text()


def test_replies_are_heard_from_their_first_sound_and_before_a_vote(
    voter: Callable[..., tuple[Any, RunStore]], tmp_path: Path
) -> None:
    page, _ = voter(contexts=3)
    begin(page, votes="0", presentation="audio")
    assert page.locator("#vote .options button:disabled").count() == 5
    assert page.get_by_text("Hear both, then choose.").is_visible()
    assert page.locator("#vote .reply").count() == 0
    middles = [
        page.locator("#vote .hear")
        .first.locator(part)
        .evaluate("node => { const r = node.getBoundingClientRect(); return (r.top + r.bottom) / 2; }")
        for part in ("button", "span")
    ]
    assert abs(middles[0] - middles[1]) <= 1
    for label in "AB":
        page.get_by_role("button", name=f"Play reply {label}").click()
        page.locator(f"#vote article[aria-label='Reply {label}']", has_text="heard").get_by_text("Again").wait_for()
    vote(page, 1)
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Another person").click()
    begin(page, votes="0", presentation="heard_text")
    page.get_by_role("button", name="Stop").click()
    assert "You have given 0 votes by reading on 0 conversations." in page.locator("#vote").inner_text()
    with downloaded(page, tmp_path).open(encoding="utf-8", newline="") as text:
        (row,) = csv.DictReader(text)
    assert row["presentation"] == "audio"
    assert {row["system_a"], row["system_b"]} == {"quick", "slow"}
    assert row["words"] == ""


def test_sound_inside_the_page_is_heard_and_sound_that_is_gone_is_read(open_page: Open, played: Played) -> None:
    store, summary = played(contexts=2, unit_s=0.3)
    inside = write_joint_report([(store, summary)], store.folder / "sent.html", bundle=True).page
    beside = write_joint_report([(store, summary)], store.folder).page
    rmtree(store.folder / "report-audio")
    page = open_page(inside.as_uri(), **PHONE)
    begin(page)
    assert page.locator("#vote .options button:disabled").count() == 5
    page.goto(beside.as_uri())
    begin(page, presentation="audio")
    page.get_by_role("button", name="Play reply A").click()
    page.locator("#vote .reply").first.wait_for()
    assert "The sound is not beside the page" in page.locator("#vote").inner_text()
    assert page.locator("#vote .options button:enabled").count() == 5
    open_page.problems[:] = [text for text in open_page.problems if "ERR_FILE_NOT_FOUND" not in text]  # type: ignore[attr-defined]


def test_a_browser_that_keeps_nothing_is_said(open_page: Open, played: Played) -> None:
    store, summary = played(contexts=2, unit_s=0.3)
    written = write_joint_report([(store, summary)], store.folder)
    page = open_page("about:blank", **PHONE)
    page.add_init_script("Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };")
    page.goto(written.page.as_uri())
    page.locator("#vote [role=status]", has_text="keeps no votes").wait_for()


def test_people_who_read_and_people_who_heard_have_a_board_each_without_a_judge(
    played: Played, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    store, _ = played(contexts=8)
    store.replace_judgments({"tester@1"}, [], "heard_text", "clean")
    rows = [
        f"talk-{n},regular,quick,slow,ann,{'ab'[n % 3 == 0]}_much,1,{presentation}"
        for presentation in ("heard_text", "audio")
        for n in range(8)
    ]
    path = tmp_path / "both.csv"
    path.write_text("\n".join(["context,subset,system_a,system_b,rater,vote,draw_rate,presentation", *rows]) + "\n")
    assert call(capsys, "add-votes", store.folder, "--add", path)[0] == 0
    chosen = (((), "audio"), (("--presentation", "heard_text"), "heard_text"))
    for (more, voted_on), asked in product(chosen, ((), ("--people",))):
        code, out, error = call(capsys, "rank", store.folder, *asked, *more, "--draws", "50", "--json")
        assert code == 0, (out, error)
        board = json.loads(out)
        assert (board["presentation"], board["people_votes"]["votes"]) == (voted_on, 8)


def test_votes_on_sound_alone_are_not_refused_for_want_of_votes_on_text(
    played: Played, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    store, _ = played(contexts=8)
    store.replace_judgments({"tester@1"}, [], "heard_text", "clean")
    rows = [f"talk-{n},regular,quick,slow,ann,{'ab'[n % 3 == 0]}_much,1,audio" for n in range(8)]
    path = tmp_path / "heard.csv"
    path.write_text("\n".join(["context,subset,system_a,system_b,rater,vote,draw_rate,presentation", *rows]) + "\n")
    assert call(capsys, "add-votes", store.folder, "--add", path)[0] == 0
    code, out, _ = call(capsys, "report", store.folder, "--verbose")
    assert code == 0
    assert "Quality is people's: 8 votes by 1 person" in out
    assert "No people's ratings yet" not in out


def test_a_run_of_four_conversations_has_no_peoples_board_and_every_door_says_why(
    played: Played, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    store, _ = played(contexts=4)
    store.replace_judgments({"tester@1"}, [], "heard_text", "clean")
    code, _, error = call(capsys, "rank", store.folder, "--people")
    assert code == 2
    assert "needs votes on 8 conversations, of which this run has 4; play more" in error
    rows = [f"talk-{n},regular,quick,slow,ann,{'ab'[n % 3 == 0]}_much,1,audio" for n in range(4)]
    path = tmp_path / "all.csv"
    path.write_text("\n".join(["context,subset,system_a,system_b,rater,vote,draw_rate,presentation", *rows]) + "\n")
    assert call(capsys, "add-votes", store.folder, "--add", path)[0] == 0
    code, out, _ = call(capsys, "rank", store.folder, "--people")
    assert code == 0, "which of two is preferred needs no board"
    assert "quick preferred to slow in 2 of 4 conversations" in out or "slow preferred to quick in 2 of 4 conversations" in out
    assert "people voted on 4 conversations, and an interval needs 8" in out
    assert "play more" in out
    code, out, _ = call(capsys, "report", store.folder, "--verbose")
    assert code == 0
    assert out.count("needs 8") == 1
    assert "People's answer needs" not in out


def test_votes_on_another_run_and_damaged_files_are_one_line(
    played: Played, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    store, _ = played(contexts=2)
    head = "context,subset,system_a,system_b,rater,vote,draw_rate,run\n"
    for name, text, said in [
        ("other", f"{head}talk-0,regular,quick,slow,ann,a_much,1,0123456789ab\n", "another run"),
        ("cut", f"{head}talk-0,regular,quick,slow,ann,a_mu", "ends before its last column"),
        ("none", head, "no votes"),
        ("rate", f"{head}talk-0,regular,quick,slow,ann,a_much,-1,{store.manifest.id}\n", "draw_rate"),
        ("binary", "\x00\x01\x02\n\x00", "NUL"),
    ]:
        path = tmp_path / f"{name}.csv"
        path.write_text(text)
        code, _, error = call(capsys, "add-votes", store.folder, "--add", path)
        assert code == 2, name
        assert said in error
        assert error.count("\n") == 1


def test_the_pairs_of_a_page_take_a_few_kilobytes() -> None:
    view = invented_view(agents=3, contexts=2)
    side = ShownReply("ref:careful", 3)
    pairs = tuple(VotePair(k % 2, ShownReply("invented-a", 0), side) for k in range(MOST_PAIRS))
    one, every = (
        len(render(replace(view, vote=QuickVote("id", (LinePairs("clean", found),))))) for found in (pairs[:1], pairs)
    )
    assert every - one < 5_000


def test_the_sentence_on_quality_leads_to_the_vote_where_there_is_one() -> None:
    view = in_state(invented_view(agents=2, contexts=9), "opinion")
    pair = VotePair(0, ShownReply("invented-a", 0), ShownReply("invented-b", 1))
    link = '<a href="#vote">Vote now</a>'
    assert link in render(replace(view, vote=QuickVote("id", (LinePairs("clean", (pair,)),))))
    assert link not in render(view)


def test_a_run_where_nobody_can_compare_says_why(played: Played, tmp_path: Path) -> None:
    store, summary = played(contexts=2)
    shown = alone(store, summary)
    view = assemble(shown, tmp_path, audio=False)
    assert [(len(line.read), len(line.heard)) for line in view.vote.lines] == [(2, 0)]
    replayed = store.manifest.model_copy(update={"mode": "replay"})
    store.set_manifest(replayed)
    told = assemble(alone(RunStore.open(store.folder), summary), tmp_path, audio=False).vote
    assert not told.any
    assert "replay" in told.why_not


def test_a_pair_that_a_rule_decided_is_never_asked(played: Played, tmp_path: Path) -> None:
    store, summary = played(contexts=4)
    put(store,
        [
            Judgment(
                context="talk-1", subset="regular", system_a="slow", system_b="quick", source="judge",
                judge=no_reply_rule("tester@1"), winner="a", presentation="heard_text",
            )
        ]
    )  # fmt: skip
    view = assemble(alone(store, summary), tmp_path, audio=False)
    (line,) = view.vote.lines
    asked = {(p.context, p.first.system, p.second.system) for p in line.read}
    assert len(asked) == len(line.read) == 3, "of two agents, but that one"
    assert (1, "quick", "slow") not in asked
