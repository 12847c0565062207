"""The answer beside TTFA on the page: a filler buys no *yes*, no place on the frontier and no silence about itself."""

import csv
import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect
from typer.testing import CliRunner

from harness import extras, installation
from harness.cli import app
from harness.figures.latency import WithinBudget
from harness.figures.summarise import summarise
from harness.installation import install_command
from harness.recording import files as recording_files
from harness.recording.record import Arrival
from harness.reports.answers import answers
from harness.reports.assemble import assemble
from harness.reports.board import board, columns
from harness.reports.charts.elo_latency_points import default_metric
from harness.reports.markdown import markdown
from harness.reports.shown_runs import alone
from harness.reports.verdict import Verdict, fast, verdicts
from harness.reports.versions import versions
from harness.reports.view import Estimate, PageView
from harness.reports.write import write_played
from harness.store.judgment import Judgment
from harness.store.manifest import AgentEntry, RunManifest
from harness.store.run_store import RunStore
from harness.store.session import SessionKey
from harness.timing.figures import TurnTiming, Utterance
from tests.borne_out import BORNE_OUT
from tests.judged import put
from tests.reports.conftest import RATE_HZ, SECOND_NS, context, recording, timing, tone
from tests.reports.invented import invented_view, quantiles
from tests.reports.test_page_for_everybody import grave_faults

Open = Callable[..., Any]
Waits = dict[str, tuple[float, float | None]]
"""Agent → TTFA and answer in ms; None: a filler alone."""
CONTEXTS = 12
FILLING: Waits = {"filling": (300.0, 1_900.0), "plain": (700.0, 700.0)}


def timed(ttfa_ms: float, answer_ms: float | None, number: int) -> TurnTiming:
    base = timing(ttfa_ms)
    sounds = [Utterance(ttfa_ms, ttfa_ms + 400, "filler")] if answer_ms != ttfa_ms else []
    sounds += [Utterance(answer_ms, answer_ms + 1_000, "answer")] if answer_ms is not None else []
    return replace(base, answer_ms=answer_ms, utterances=tuple(sounds), backchannels=number % 2)


def as_once(turn: TurnTiming) -> TurnTiming:
    """The turn as a run before fillers were known apart stored it."""
    spoken = tuple(replace(sound, kind="speech") for sound in turn.utterances)
    return replace(turn, answer_ms=None, backchannels=0, utterances=spoken)


def made(folder: Path, waits: Waits, stored: Callable[[TurnTiming], TurnTiming] = lambda turn: turn) -> RunStore:
    """A judged run in which every agent answers with much the same waits, and `filling` says a filler first."""
    lot, items = random.Random(5), [context(n) for n in range(CONTEXTS)]
    manifest = RunManifest(
        created="2030-01-01T00:00:00Z", harness_version="0", pack="test", pack_source="test", pack_hash="0" * 64,
        context_ids=[c.id for c in items], mode="seeded", conditions=["clean"], repeats=1, seed=7,
        agents=[AgentEntry(name=name, kind="cascade", profile_hash="h", profile_text="") for name in waits],
    )  # fmt: skip
    store = RunStore.create(folder, manifest, items)
    for n, item in enumerate(items):
        for agent, (ttfa_ms, answer_ms) in waits.items():
            key = SessionKey(item.id, "c", agent, "h", "seeded", "clean", 0)
            shift = lot.uniform(-60, 60)
            turn = timed(ttfa_ms + shift, answer_ms if answer_ms is None else answer_ms + shift, n if agent == "plain" else 0)
            partial = store.partial_folder(key)
            heard = recording((ttfa_ms + shift) / 1_000)
            rest = tone(1.0, 300)
            later_ns = SECOND_NS + round((2.9 + (answer_ms or ttfa_ms) / 1_000) * SECOND_NS)
            both = replace(
                heard,
                agent_pcm=np.concatenate([heard.agent_pcm, rest]),
                arrivals=(*heard.arrivals, Arrival(later_ns, len(heard.agent_pcm), RATE_HZ)),
            )
            recording_files.save(both if answer_ms != ttfa_ms else heard, partial)
            session = store.commit_session(key, partial=partial, timing=stored(turn), started_ns=SECOND_NS * (n * 10 + 1))
            store.set_heard(session.id, f"Let me think about that. Day{n} took{n} hours{n} and{n} nobody{n} asked{n}.", ())
        put(store, [_verdict(item.id, a, b, lot.random() < odds) for a, b, odds in _pairs(waits)])
    store.add_judge_check(BORNE_OUT)
    return store


def _pairs(waits: Waits) -> list[tuple[str, str, float]]:
    first, *others = waits
    met = [(first, other, 0.7) for other in others]
    return [*met, *((name, "ref:careful", 0.5) for name in waits)]


def _verdict(item: str, a: str, b: str, won: bool) -> Judgment:
    return Judgment(
        context=item, subset="regular", system_a=a, system_b=b, source="judge", presentation="heard_text", judge="tester@1",
        winner="a" if won else "b", strength=2, condition="clean", shown_first="a",
    )  # fmt: skip


def page_view(store: RunStore) -> PageView:
    return assemble(alone(store, summarise(store)), store.folder, audio=False)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return made(tmp_path_factory.mktemp("answer") / "run", FILLING)


@pytest.fixture(scope="module")
def view(store: RunStore) -> PageView:
    return page_view(store)


def of(view: PageView, name: str) -> Verdict:
    return next(verdict for verdict in verdicts(view) if verdict.agent == name)


def test_fast_is_decided_by_the_answer_and_the_sentence_names_both(view: PageView) -> None:
    found = of(view, "filling")
    assert found.fast.answer == "no"
    assert found.fast.figure.startswith("1.9")
    assert found.sentence.startswith("Fast, with a filler: ")
    assert "ms; the answer begins at 1.9" in found.sentence
    assert "within 500 ms on 0 % of 12 turns" in found.sentence
    assert "median TTFA" in found.text
    assert "median answer" in found.text
    assert of(view, "plain").sentence.startswith("Answers within 500 ms on 0 % of 12 turns")
    assert of(view, "plain").fast.beside == ""


@pytest.mark.parametrize(
    ("ttfa_ms", "answer_ms", "word", "opening"),
    [(200.0, 350.0, "yes", "Fast, with"), (300.0, 480.0, "unclear", "Fast, with"), (800.0, 1_900.0, "no", "With")],
)
def test_both_are_within_the_budget_or_the_sentence_says_which_is_not(
    ttfa_ms: float, answer_ms: float, word: str, opening: str
) -> None:
    invented = invented_view(agents=1, contexts=9)
    figures = {
        f"{name}_ms": quantiles(Estimate(ms, ms - 60, ms + 60)) for name, ms in (("ttfa", ttfa_ms), ("answer", answer_ms))
    }
    (agent,) = invented.agents
    cell = agent.whole.cell.model_copy(
        update={**figures, "filler_first": (9, 9), "within_budget": WithinBudget(ttfa=0.5, answer=0.3)}
    )
    changed = replace(agent, slices={**agent.slices, "all": replace(agent.whole, cell=cell)})
    assert fast(changed, invented).answer == word
    (found,) = verdicts(replace(invented, agents=(changed,)))
    assert found.sentence.startswith(f"{opening} a filler: {ttfa_ms:.0f} ms; the answer begins at ")


def test_the_first_table_and_the_summary_name_the_filler_beside_the_word(view: PageView) -> None:
    (row,) = (row for row in answers(verdicts(view)).rows if row.verdict.agent == "filling")
    assert row.cells[0].note.startswith("the answer, after a filler at ")
    assert row.cells[0].bar is not None
    assert (row.cells[0].bar.end or 0) > row.cells[0].bar.limit
    assert "the answer, after a filler at" in markdown(view)


def test_the_tables_have_a_column_of_it_only_where_it_differs(view: PageView, tmp_path: Path) -> None:
    assert ("answer", "Answer p50") in columns(view)
    assert {len(row.cells) for row in board(view)} == {len(columns(view))}
    assert "| Answer p50 |" in markdown(view)
    honest = page_view(made(tmp_path / "honest", {"quick": (400.0, 400.0), "plain": (700.0, 700.0)}))
    once = page_view(made(tmp_path / "once", FILLING, as_once))
    for other in (honest, once):
        assert "answer" not in dict(columns(other))
        assert {len(row.cells) for row in board(other)} == {len(columns(other))}
        assert "filler" not in markdown(other)
        assert default_metric(other) == "ttfa"
    assert of(once, "filling").fast.answer == "yes", "nobody knows the answers of an older run"


def test_the_chart_and_the_chances_follow_the_answer(view: PageView, store: RunStore, tmp_path: Path) -> None:
    assert default_metric(view) == "answer"
    chances = {agent.name: agent.whole.cell.p_best_within_budget for agent in view.agents}
    assert chances == {"filling": 0.0, "plain": 0.0}
    bought = page_view(made(tmp_path / "bought", FILLING, as_once))
    assert next(a for a in bought.agents if a.name == "filling").whole.cell.p_best_within_budget == 1.0
    ranked = json.loads(CliRunner().invoke(app, ["rank", str(store.folder), "--json"]).stdout)["joint"]
    for agent in view.agents:
        cell, point = agent.whole.cell, ranked[agent.name]
        assert (point["p_frontier"], point["p_best_within_budget"]) == (cell.p_frontier, cell.p_best_within_budget)
        assert point["ttfa_p50_ms"] == cell.ttfa_ms.p50


def test_tables_are_exported_without_the_extra_that_draws(
    store: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = installation.missing_modules
    monkeypatch.setattr(extras, "missing_modules", lambda names: names if "vl_convert" in names else missing(names))
    told = CliRunner().invoke(app, ["report", str(store.folder), "--out", str(tmp_path), "--export", str(tmp_path / "out")])
    assert told.exit_code == 0, told.output
    assert install_command("pictures") in told.output
    written = {path.suffix for path in (tmp_path / "out").iterdir()}
    assert written >= {".csv", ".json", ".md"}
    assert not written & {".png", ".svg"}


def test_json_and_exports_have_it(store: RunStore, tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["report", str(store.folder), "--json", "--export", str(tmp_path)])
    cell = next(c for c in json.loads(told.stdout)["cells"] if c["agent"] == "filling")
    assert cell["answer_ms"]["p50"] == pytest.approx(1_900, abs=60)
    assert cell["answer_ms"]["p50_interval"] is not None
    assert (cell["within_budget"]["answer"], cell["within_budget"]["ttfa"]) == (0.0, 1.0)
    assert (cell["filler_first"], cell["backchannels"]) == ([CONTEXTS, CONTEXTS], 0)
    with (tmp_path / "systems.csv").open(encoding="utf-8") as handle:
        rows = {row["system"]: row for row in csv.DictReader(handle) if row["subset"] == "all"}
    assert (rows["filling"]["fast"], rows["filling"]["within_answer"], rows["plain"]["backchannels"]) == ("no", "0.0", "6")
    with (tmp_path / "turns.csv").open(encoding="utf-8") as handle:
        turns = [row for row in csv.DictReader(handle) if row["agent"] == "filling"]
    assert all(float(row["answer_ms"]) - float(row["ttfa_ms"]) == pytest.approx(1_600) for row in turns)


def test_another_budget_is_for_one_reading_and_the_run_keeps_its_own(store: RunStore) -> None:
    before = store.manifest
    told = CliRunner().invoke(app, ["report", str(store.folder), "--json", "--budget-ttfa", "200"])
    cells = {c["agent"]: c["within_budget"]["ttfa"] for c in json.loads(told.stdout)["cells"]}
    assert cells == {"filling": 0.0, "plain": 0.0}
    asked = store.folder.with_name("budgets.yaml")
    codes = []
    for budget in ("{}", "{ttfa: 200}"):
        limits = "limits:\n  - {figure: within_budget.ttfa, at_least: 0.5, agent: filling}\n"
        asked.write_text(f"schema: 1\nbudgets_ms: {budget}\n{limits}", encoding="utf-8")
        codes.append(
            CliRunner().invoke(app, ["check", str(store.folder), "--budgets", str(asked)], standalone_mode=False).return_value
        )
    assert codes == [0, 1]
    assert store.manifest == before
    assert "--budget-ttfa 0" in str(CliRunner().invoke(app, ["report", str(store.folder), "--budget-ttfa", "0"]).exception)


@pytest.mark.parametrize(("width", "dark"), [(390, False)])
def test_every_turn_of_a_call_has_its_answer_and_its_backchannels(
    tmp_path: Path, open_page: Open, width: int, dark: bool
) -> None:
    """Three turns of one call: late answer, filler alone, an answer behind two backchannels."""
    store, waits = made(tmp_path / "run", {"bot": (300.0, 1_900.0)}), ((300.0, 1_900.0), (400.0, None), (700.0, 700.0))
    for session in store.sessions():
        three = [replace(timed(*each, 0), spoken_end_ms=2_900.0 + 1_000 * k) for k, each in enumerate(waits)]
        three[2] = replace(three[2], backchannels=2)
        store.set_timing(session.id, three)
    page = open_page(Path(str(write_played(store, summarise(store)).report)).as_uri(), width=width, dark=dark)
    page.locator("details.context > summary").first.click()
    each = page.locator("details.each").first
    each.locator("summary").click()
    assert each.locator("thead th").all_inner_texts()[1:4] == ["TTFA", "Answer", "Dead air"]
    cells = [row.locator("td").all_inner_texts()[:2] for row in each.locator("tbody tr").all()]
    assert cells == [["300 ms", "1.90 s"], ["400 ms", "—"], ["700 ms", "700 ms"]]
    rows = each.locator("tbody tr").all_inner_texts()
    assert ["a filler, and no answer" in row for row in rows] == [False, True, False]
    assert ["2 backchannels" in row for row in rows] == [False, False, True]
    assert not grave_faults(page)


def test_a_filler_makes_no_version_faster(tmp_path: Path) -> None:
    before, now = made(tmp_path / "before", {"bot": (700.0, 700.0)}), made(tmp_path / "now", {"bot": (300.0, 762.0)})
    found = versions(*((each, summarise(each)) for each in (now, before))).changes[0].slower
    assert found.words == "62 ms slower [95 %: 62 to 62] on 12 shared conversations (of the answer, after a filler)"
    once = made(tmp_path / "once", {"bot": (300.0, 762.0)}, as_once)
    assert versions((once, summarise(once)), (before, summarise(before))).changes[0].slower.figure == "TTFA"


@pytest.mark.parametrize(("width", "dark"), [(1280, True), (390, False)])
def test_the_page_labels_the_kinds_of_sound(store: RunStore, open_page: Open, width: int, dark: bool) -> None:
    report = Path(str(write_played(store, summarise(store)).report))
    page = open_page(report.as_uri(), width=width, dark=dark)
    expect(page.locator("#answers tbody")).to_contain_text("the answer, after a filler at")
    page.locator("details.context > summary").first.click()
    card = page.locator("article.turn[data-agent=filling]").first
    expect(card.locator(".big")).to_contain_text(", answer 1.9")
    expect(card).to_contain_text("Of the agent's sound: filler hatched.")
    expect(page.locator("article.turn[data-agent=plain]").first).not_to_contain_text("Of the agent's sound")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert "6 backchannels: no reply, and no cut-in" in page.locator("#systems").inner_text()
    assert not grave_faults(page)
