"""A version against an earlier one, on both axes: paired by conversation, and a dash with its reason where it cannot be."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UserError
from harness.figures.summarise import summarise
from harness.gate.budgets import read_budgets
from harness.gate.check import check_run
from harness.reports.listening.results import human_rows
from harness.reports.versions import VersionChange, Versions, versions
from harness.reports.write import write_joint_report
from harness.store.judgment import Judgment
from harness.store.run_store import RunStore
from tests.borne_out import AN_OPINION, BORNE_OUT
from tests.harness.conftest import Finished, harness_here
from tests.judged import put

from .test_together import Run, run

__all__ = ["harness_here", "run"]

CONTEXTS = 24


def since(now: RunStore, before: RunStore) -> Versions:
    return versions(*((store, summarise(store, human_rows(store))) for store in (now, before)))


def only(found: Versions) -> VersionChange:
    (change,) = found.changes
    return change


def rate(store: RunStore, lost: Iterable[int], *, by: str = "tester@1", agent: str = "quick") -> None:
    """One verdict (vote) a conversation: the agent loses these to the reference, and wins the rest."""
    lost, person = set(lost), by.startswith("human:")
    put(store, [
        Judgment(
            context=c.id, subset=c.subset, system_a=agent, system_b="ref:careful",
            source="human" if person else "judge", judge=by,
            winner="b" if n in lost else "a", presentation="heard_text", condition="clean" if person else "",
            draw_rate=1.0 if person else None,
        )
        for n, c in enumerate(store.contexts())
    ])  # fmt: skip


def pair(run: Run, **both: Any) -> tuple[RunStore, RunStore]:
    """Two runs of the same agent, not judged yet, the later one 62 ms slower on every turn."""
    common = {"contexts": CONTEXTS, "judge": None, **both}
    return run("now", {"quick": 462.0}, **common), run("before", {"quick": 400.0}, **common)


def test_a_constant_delay_is_found_to_the_millisecond_and_without_verdicts_kindness_is_a_dash(run: Run) -> None:
    found = since(*pair(run))
    change = only(found)
    assert change.words == (
        "quick: 62 ms slower [95 %: 62 to 62] on 24 shared conversations; kindness — (nobody judged this run or the baseline "
        "on the shared conversations)"
    )
    assert "harness listen" in found.notes[-1]
    waits = [row for row in change.rows if row.difference.endswith("ms")]
    assert {wait.verdict for wait in waits} == {"worse"}
    first = next(wait for wait in waits if wait.figure.startswith("TTFA"))
    assert (first.difference, first.interval, first.conversations) == ("+62 ms", "+62 ms – +62 ms", CONTEXTS)
    back = only(since(RunStore.open(Path(found.run)), RunStore.open(Path(found.run).parent / "now")))
    assert back.slower.words == "62 ms faster [95 %: 62 to 62] on 24 shared conversations"


def test_under_eight_shared_conversations_no_wait_is_called_changed(run: Run) -> None:
    change = only(since(*pair(run, contexts=7)))
    assert change.slower.words == "TTFA — (under 8 shared conversations there is no interval)"
    assert not any(row.difference.endswith("ms") for row in change.rows)


@pytest.mark.parametrize("by", ["human:ada", "tester@1"])
def test_a_kinder_version_is_called_so_by_those_who_may_decide_it(run: Run, by: str) -> None:
    now, before = pair(run)
    for store, lost in ((now, range(0, CONTEXTS, 6)), (before, range(0, CONTEXTS, 2))):
        rate(store, lost, by=by)
        store.add_judge_check(BORNE_OUT)
    found = only(since(now, before)).kinder
    assert found.elo.value is not None
    assert found.elo.low is not None
    assert found.elo.low > 0
    whose = "by people's votes" if by.startswith("human") else "by tester@1, borne out by people elsewhere"
    assert found.words.startswith(f"kinder by {found.elo.value:.0f} Elo [")
    assert found.words.endswith(whose)
    worse = only(since(before, now)).kinder
    assert worse.words.startswith("less kind by ")
    assert worse.elo.value == pytest.approx(-found.elo.value)


def test_pairing_cancels_what_a_conversation_has_in_both_versions(run: Run) -> None:
    """The same number of losses, on the same conversations but one, or on others: only the first says that little changed."""
    alike, before = pair(run)
    rate(before, range(8), by="human:ada")
    rate(alike, range(1, 9), by="human:ada")
    other = run("other", {"quick": 400.0}, contexts=CONTEXTS, judge=None)
    rate(other, range(16, 24), by="human:ada")
    wide, narrow = (only(since(store, before)).kinder.elo for store in (other, alike))
    assert narrow.value == pytest.approx(0, abs=1e-6)
    assert None not in (wide.low, wide.high, narrow.low, narrow.high)
    assert (narrow.high or 0) < (wide.high or 0) / 2
    assert (
        only(since(alike, before)).kinder.words == f"kindness unchanged within ± {narrow.high:.0f} Elo (95 %) by people's votes"
    )


@pytest.mark.parametrize("by", ["human:ada", "tester@1"])
def test_a_run_against_itself_changed_in_nothing(run: Run, by: str) -> None:
    now, _ = pair(run)
    rate(now, range(0, CONTEXTS, 3), by=by)
    now.add_judge_check(BORNE_OUT)
    found = only(since(now, now))
    assert found.slower.words == "TTFA unchanged within ± 0 ms (95 %) on 24 shared conversations"
    assert found.kinder.elo.value == pytest.approx(0, abs=1e-6)
    assert found.kinder.words.startswith("kindness unchanged within ± ")


def test_a_change_of_opinion_is_no_claim_on_kindness(run: Run) -> None:
    now, before = pair(run)
    for store, lost in ((now, range(0, CONTEXTS, 6)), (before, range(0, CONTEXTS, 2))):
        rate(store, lost)
        store.add_judge_check(AN_OPINION)
    words = only(since(now, before)).kinder.words
    assert words.startswith("a judge's opinion changed by +")
    assert words.endswith("], which is no claim on kindness")


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"judge": "another@1"}, "the runs were judged by different judges"),
        ({"against": "ref:else"}, "no verdict connects this run with the baseline"),
        ({"judge": None}, "nobody judged the baseline on the shared conversations"),
    ],
)
def test_without_a_scale_in_common_kindness_is_a_dash_with_its_reason(run: Run, other: dict[str, Any], why: str) -> None:
    before = run("before", {"quick": 400.0}, contexts=CONTEXTS, **other)
    found = only(since(run("now", {"quick": 400.0}, contexts=CONTEXTS), before))
    assert found.kinder.elo.value is None
    assert found.kinder.words.startswith("kindness — (")
    assert why in found.kinder.words


def test_a_single_agent_of_each_run_is_a_version_whatever_its_name(run: Run, tmp_path: Path) -> None:
    now = run("now", {"quick-2": 500.0}, contexts=CONTEXTS)
    before = run("before", {"quick-1": 400.0}, contexts=CONTEXTS)
    assert only(since(now, before)).words.startswith("quick-2 against quick-1: 100 ms slower [95 %: 100 to 100] on 24 ")
    written = write_joint_report(
        [(now, summarise(now))], tmp_path / "out", baseline=(before, summarise(before)), exports=tmp_path / "tables"
    )
    text = (tmp_path / "tables" / "summary.md").read_text(encoding="utf-8")
    assert "Regression: quick-2, TTFA" in text
    assert "quick-2 against quick-1: 100 ms slower" in text
    page = written.page.read_text(encoding="utf-8")
    assert "quick-2 against quick-1: 100 ms slower [95 %: 100 to 100] on 24 shared conversations" in page
    assert "Preferred to references" in page


def test_several_agents_pair_by_name(run: Run) -> None:
    now = run("now", {"quick": 420.0, "new": 900.0}, contexts=CONTEXTS)
    before = run("before", {"quick": 400.0, "old": 900.0}, contexts=CONTEXTS)
    assert only(since(now, before)).agent == "quick"


def test_conversations_that_one_run_lacks_are_left_out_and_named(run: Run) -> None:
    now, before = run("now", {"quick": 462.0}, contexts=14), run("before", {"quick": 400.0}, first=2, contexts=14)
    found = since(now, before)
    assert only(found).slower.observations == "12 shared conversations"
    assert found.notes[0] == "12 of 16 conversations are in both runs; the others are left out: talk-0, talk-1 and 2 more."


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"text": "Something else."}, "has other conversations (talk-0 and 23 more has another text)"),
        ({"first": 40}, "has other conversations (none of the run's is there)"),
        ({"mode": "replay"}, "has no mode seeded; it has replay"),
        ({"conditions": ["phone"]}, "has no condition clean; it has phone"),
    ],
)
def test_other_callers_are_refused_in_a_line(run: Run, other: dict[str, Any], why: str) -> None:
    now = run("now", {"quick": 400.0}, contexts=CONTEXTS)
    before = run("before", {"quick": 400.0}, **{"contexts": CONTEXTS, **other})
    with pytest.raises(UserError) as refused:
        since(now, before)
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


def test_another_transcriber_is_stated(run: Run) -> None:
    stores = [run(name, {"quick": 400.0}, transcriber=name) for name in ("base.en", "small.en")]
    for store in stores:
        for session in store.sessions():
            store.set_heard(session.id, "I am here.", ())
    notes = " ".join(since(*stores).notes)
    assert "Runs differ (transcriber): this run: base.en; the baseline: small.en." in notes


def test_a_limit_against_a_baseline_pairs_a_renamed_agent_on_the_shared_conversations(run: Run, tmp_path: Path) -> None:
    now, before = run("now", {"quick-2": 462.0}, contexts=20), run("before", {"quick-1": 400.0}, first=4, contexts=20)
    budgets = tmp_path / "budgets.yaml"
    worse = "schema: 1\nlimits:\n  - {figure: ttfa_ms.p50, worse_than_baseline_by: 50}\n"
    budgets.write_text(worse, encoding="utf-8")
    (found,) = check_run(now, read_budgets(budgets), baseline=before).checked
    assert found.verdict == "fail"
    assert found.decision is not None
    assert found.decision.value == 66, "62 ms, and 4 for the place of its conversation in each run"
    other = run("other", {"quick-2": 462.0, "new": 500.0}, contexts=20)
    with pytest.raises(UserError, match="has no agent quick-2; it has quick-1"):
        check_run(other, read_budgets(budgets), baseline=before)


def test_terminal_summary_json_and_page_say_the_same(run: Run, harness_here: Callable[..., Finished], tmp_path: Path) -> None:
    now, before = pair(run)
    rate(now, range(0, CONTEXTS, 6), by="human:ada")
    rate(before, range(0, CONTEXTS, 2), by="human:ada")
    words = only(since(now, before)).words
    now.close()
    before.close()
    budgets = tmp_path / "budgets.yaml"
    budgets.write_text(
        "schema: 1\nlimits:\n  - {figure: ttfa_ms.p50, worse_than_baseline_by: 50}\n  - {figure: ttfa_ms.p50, at_most: 900}\n",
        encoding="utf-8",
    )
    given = ("check", now.folder, "--budgets", budgets, "--baseline", before.folder)
    shown = harness_here(*given, "--summary", tmp_path / "gate.md")
    assert shown.code == 1, "62 ms slower on every turn is surely over 50"
    assert f"{words}." in shown.out
    assert words in (tmp_path / "gate.md").read_text(encoding="utf-8").replace("\\", "")
    assert words in (now.folder / "report.html").read_text(encoding="utf-8").replace("&#39;", "'")
    told = json.loads(harness_here(*given, "--json").out)["baseline"]
    assert [change["words"] for change in told["changes"]] == [words]
    slower, kinder = told["changes"][0]["slower_ms"], told["changes"][0]["kinder_elo"]
    assert (slower["value"], slower["low"], slower["high"]) == (62, 62, 62)
    assert kinder["state"] == "people"
    assert kinder["low"] > 0
