"""Every board says which replies it is about: read or heard, line, mode, pack, transcriber; verdicts carry their reasons."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from harness.figures.summarise import summarise
from harness.figures.summary import RunSummary
from harness.printable import printable
from harness.reports.write import write_joint_report
from harness.store.judgment import Presentation
from harness.store.run_store import RunStore
from tests.harness.conftest import Finished, harness_here
from tests.judged import put

from .test_together import Run, run

__all__ = ["harness_here", "run"]

AS_READ = "Rated: replies read as a transcript of their sound (by base.en); pack test, seeded, line clean."


@pytest.mark.parametrize(
    ("reads", "words"),
    [
        ("heard_text", AS_READ),
        ("written", "Rated: replies read as the agent wrote them; pack test, seeded, line clean."),
    ],
)
def test_terminal_summary_and_json_name_the_circumstances_of_a_board(
    run: Run, harness_here: Callable[..., Finished], tmp_path: Path, reads: Presentation, words: str
) -> None:
    store = run("one", {"quick": 400.0, "slow": 900.0}, reads=reads, transcriber="base.en")
    for session in store.sessions():
        store.set_heard(session.id, "I am here.", ())
    (board,) = {b.rated_on for b in summarise(store).boards}
    assert board == words
    written = write_joint_report([(store, summarise(store))], tmp_path / "out", exports=tmp_path / "tables")
    met = words.removeprefix("Rated: replies ").partition(" (by")[0].partition(";")[0]
    for text in (written.page.read_text(encoding="utf-8"), (tmp_path / "tables" / "summary.md").read_text(encoding="utf-8")):
        assert f"replies rated {met}, transcriber base.en" in text
        assert f"Replies were {met}." in text
    store.close()
    assert words in harness_here("rank", store.folder, "--draws", "10").out
    told = json.loads(harness_here("rank", store.folder, "--draws", "10", "--json").out)
    assert (told["condition"], told["mode"], told["pack"], told["transcriber"]) == ("clean", "seeded", "test", "base.en")
    assert told["reads"] == met
    told = json.loads(harness_here("report", store.folder, "--json").out)
    assert {b["rated_on"] for b in told["boards"]} == {words}


def test_a_joint_board_names_both_transcribers(run: Run) -> None:
    from harness.reports.several_runs import together

    stores = [run(name, {name: 400.0}, transcriber=name) for name in ("base.en", "small.en")]
    for store in stores:
        for session in store.sessions():
            store.set_heard(session.id, "I am here.", ())
    (board,) = together([(store, summarise(store)) for store in stores]).summary.boards
    assert "(by base.en and small.en)" in board.rated_on


def test_a_reason_is_shown_beside_its_verdict_folded_where_long_and_never_as_markup(
    played: Callable[..., tuple[RunStore, RunSummary]], open_page: Callable[..., Any], tmp_path: Path, hostile: str
) -> None:
    store, summary = played(contexts=1)
    (context,) = store.contexts()
    row = next(store.stored_judgments())
    from harness.store.judgment import Judgment

    long = f"{hostile} {'because it asks ' * 40}the end"
    given = Judgment.model_validate(row).model_copy(update={"rationale": long, "repeat": 1})
    short = given.model_copy(update={"rationale": f"=cmd {hostile[:60]}", "repeat": 2})
    put(store, [given, short])
    written = write_joint_report([(store, summary)], tmp_path / "out", exports=tmp_path / "tables")
    page = open_page(written.page.as_uri())
    page.locator("#c-0 > summary").click()
    page.locator("#c-0 details.more", has_text="verdict").first.locator("summary").first.click()
    folded = page.locator("#c-0 details.reason")
    expect(folded).to_have_count(1)
    assert not folded.locator("p").is_visible()
    folded.locator("summary").click()
    expect(folded.locator("p")).to_be_visible()
    assert folded.locator("p").inner_text().endswith("the end")
    assert "<script>" in folded.locator("p").inner_text()
    assert page.title() != "owned"
    assert page.locator("#c-0 details.more img").count() == 0
    with (tmp_path / "tables" / "judgments.csv").open(encoding="utf-8", newline="") as lines:
        reasons = [each["rationale"] for each in csv.DictReader(lines)]
    assert printable(long) in reasons, "it may not steer a terminal"
    assert any(text.startswith("'=cmd") for text in reasons), "a spreadsheet must not run it"
    exported = json.loads((tmp_path / "tables" / "tables.json").read_text(encoding="utf-8"))["judgments"]
    assert long in [each["rationale"] for each in exported]
    assert context.id in {each["context"] for each in exported}
