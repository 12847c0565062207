"""What a plan would take: its arithmetic, and its agreement with runs that were played and stored."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.commands.plan import lasting
from harness.experiment import Experiment
from harness.recording.record import FRAME_MS
from harness.run.estimate import estimate_plan
from harness.run.plan import make_plan
from harness.scenarios.context import Context
from harness.scenarios.pack import load_pack
from harness.store.run_store import RunStore
from harness.verdicts import planned
from harness.verdicts.estimate import Estimate
from harness.verdicts.judge import RunJudging, estimate_run
from tests.endpoint import endpoint, writer
from tests.harness.conftest import Finished, peer

JUDGE = "embedded"


def test_hours_follow_repeats_agents_and_calls_at_once() -> None:
    def of(repeats: int = 1, concurrency: int = 1, agents: int | None = None) -> tuple[int, float, float]:
        plan = make_plan(Experiment(agents=("baseline",), limit=3, repeats=repeats, concurrency=concurrency))
        found = estimate_plan(plan, (), agents)
        return found.calls, found.call_hours, found.hours

    once = of()
    assert once[0] == 3
    assert once[1] == once[2]
    for times, found in ((4, of(repeats=4)), (20, of(agents=20))):
        assert found[0] == 3 * times
        assert found[1:] == pytest.approx((times * once[1], times * once[2]), rel=0.02)
    at_once = of(concurrency=3)
    assert at_once[:2] == (3, once[1])
    assert at_once[2] == pytest.approx(once[1] / 3, rel=0.1)


def test_agents_that_write_take_no_calls_hours(tmp_path: Path) -> None:
    writer = tmp_path / "writer.toml"
    writer.write_text('name = "writer"\nkind = "text"\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\n')

    def hours(*agents: str) -> float:
        return estimate_plan(make_plan(Experiment(agents=agents, limit=3)), ()).hours

    assert hours(str(writer)) == 0
    assert hours("baseline", str(writer)) == hours("baseline") > 0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 minutes"), (20, "0.3 minutes"), (3_599, "60.0 minutes"), (3_600, "1.0 hours"), (1e7, "2,777.8 hours")],
)
def test_a_short_run_is_said_in_minutes(seconds: float, words: str) -> None:
    assert lasting(seconds / 3600) == words


def test_cores_are_those_of_the_busiest_part_and_of_the_caller() -> None:
    def cores(agent: str, concurrency: int) -> tuple[int, bool]:
        found = estimate_plan(make_plan(Experiment(agents=(agent,), limit=1, concurrency=concurrency, mode="seeded")), ())
        return found.cores, found.threads_known

    assert cores("baseline", 1) == (3, True)
    assert cores("baseline", 4) == (9, True)
    assert cores(str(peer("raw-pcm-answers")), 4) == (5, False)


def test_an_agent_elsewhere_takes_no_core_and_one_of_unknown_threads_is_said(tmp_path: Path) -> None:
    far = tmp_path / "far.toml"
    far.write_text('name = "far"\nkind = "text"\nmodel = "m"\nbase_url = "https://far.example/v1"\n')

    def found(*agents: str) -> tuple[int, int, bool]:
        made = estimate_plan(make_plan(Experiment(agents=agents, limit=1, mode="seeded", concurrency=2)), ())
        return made.cores_per_call, made.cores, made.threads_known

    assert found(str(far)) == (0, 1, True)
    assert found("baseline", str(peer("raw-pcm-answers"))) == (2, 5, False)


def test_disk_grows_with_the_agents() -> None:
    made = make_plan(Experiment(agents=("baseline",), limit=3))
    assert estimate_plan(made, (), 20).megabytes == pytest.approx(20 * estimate_plan(made, ()).megabytes)


def test_every_line_condition_is_judged_and_its_reader_checked_in_each(tmp_path: Path) -> None:
    def found(**more: Any) -> Estimate:
        (one,) = estimate_plan(make_plan(Experiment(agents=("baseline",), limit=4, **more)), (priced(tmp_path),), 3).judges
        return one

    clean, both = found(), found(conditions=("clean", "telephone"))
    assert both.comparisons == 2 * clean.comparisons
    assert both.calls - both.check_calls == 2 * (clean.calls - clean.check_calls)
    assert (
        estimate_plan(make_plan(Experiment(agents=("baseline",), limit=1, conditions=("clean", "telephone"))), ()).conditions
        == 2
    )


def test_a_price_is_that_of_the_tokens_and_said_with_the_questions_of_the_check(
    tmp_path: Path, harness_here: Callable[..., Finished]
) -> None:
    asked = ["plan", "--agent", "baseline", "--limit", "4", "--estimate", "--judge", priced(tmp_path)]
    (one,) = harness_here(*asked, "--json").json["judges"]
    assert one["cost_usd"] == pytest.approx((one["tokens_in"] * 1.0 + one["tokens_out"] * 2.0) / 1e6)
    assert one["tokens_out"] == 120 * one["calls"]
    said = next(row for row in harness_here(*asked).out.splitlines() if row.startswith("judge:"))
    assert f": {one['calls']:,} calls ({one['check_calls']:,} of them in its check), about " in said
    assert said.endswith(f" tokens, US$ {one['cost_usd']:,.2f}")
    unpriced = Path(priced(tmp_path))
    unpriced.write_text("".join(row for row in unpriced.read_text().splitlines(True) if not row.startswith("price_")))
    assert harness_here(*asked).out.splitlines()[4].endswith(" tokens, no price on file")


def priced(folder: Path) -> str:
    """A judge elsewhere that costs one dollar a million tokens in, and two out."""
    path = folder / "priced.toml"
    kind = 'family = "rules"\nversion = "1"\napi = "openai"\nstructured = "json_schema"\n'
    where = 'base_url = "http://127.0.0.1:9/v1"\nmodel = "m"\nprice_in = 1.0\nprice_out = 2.0\n'
    path.write_text(f'id = "priced"\n{kind}{where}')
    return str(path)


def test_questions_grow_with_pairs_and_are_counted_for_each_repeat() -> None:
    def calls(agents: int, repeats: int) -> tuple[int, int]:
        plan = make_plan(Experiment(agents=("baseline",), limit=4, repeats=repeats))
        (found,) = estimate_plan(plan, (JUDGE,), agents).judges
        return found.comparisons, found.calls - found.check_calls

    alone, many = calls(1, 1), calls(20, 1)
    assert many[0] > 20 * alone[0]
    again = calls(20, 3)
    assert again[0] == 3 * many[0]
    # Questions with known answers are put once for a line condition, and not in every repeat.
    assert 0 < 3 * many[1] - again[1] < 20
    canaries = (3 * many[1] - again[1]) // 2
    assert many[1] - canaries == many[0], "no two agents are thought to say the same"


def test_recordings_without_text_are_not_judged() -> None:
    contexts = load_pack("heart-open").contexts[:3]
    silent = contexts[0].model_copy(update={"turns": tuple(t.model_copy(update={"text": ""}) for t in contexts[0].turns)})

    def comparisons(*judged: Context) -> list[int]:
        found = planned.estimate_planned(judged, ("a", "b"), (JUDGE,), conditions=1, repeats=1, seed=1)
        return [one.comparisons for one in found]

    assert comparisons(silent) == []
    assert comparisons(silent, *contexts[1:]) == comparisons(*contexts[1:])


@pytest.mark.models
def test_the_questions_are_those_of_the_run_that_was_played(
    tmp_path: Path, pack: Path, harness_virtual: Callable[..., Finished]
) -> None:
    with endpoint(tmp_path) as url:
        asked = ["--agent", writer(tmp_path, f"{url}/r/v1"), "--pack", pack, "--repeats", 2]
        told = harness_virtual("plan", *asked, "--estimate", "--judge", JUDGE, "--json")
        assert told.code == 0, told.err
        done = harness_virtual("run", *asked, "--out", "run")
        assert done.code == 0, done.err
    (planned,) = told.json["judges"]
    store = RunStore.open(tmp_path / "run")
    (stored,) = estimate_run(store, RunJudging(judges=(JUDGE,)))
    assert told.json["calls"] == len(store.sessions()) == 4
    store.close()
    assert (planned["comparisons"], planned["calls"], planned["check_calls"]) == (
        stored.comparisons,
        stored.calls,
        stored.check_calls,
    )


@pytest.mark.models
def test_the_time_is_that_of_calls_that_were_played(
    tmp_path: Path, pack: Path, harness_virtual: Callable[..., Finished]
) -> None:
    # The echo replies with as many words as it hears: some twenty, where a reply has at most forty.
    text, longer = pack.read_text(encoding="utf-8"), "And I have read the same page so often that none of it stays with me."
    for said in ("All of them.", "It is tomorrow already."):
        text = text.replace(said, f"{said} {longer}")
    pack.write_text(text, encoding="utf-8")
    asked = ["--agent", peer("raw-pcm-echo"), "--pack", pack, "--mode", "replay"]
    told = harness_virtual("plan", *asked, "--estimate", "--json")
    assert told.code == 0, told.err
    assert harness_virtual("run", *asked, "--out", "run").code == 0
    store = RunStore.open(tmp_path / "run")
    lasted_s = sum(len(store.recording(s).caller.departures_ns) * FRAME_MS / 1000 for s in store.sessions())
    store.close()
    assert 0.5 < told.json["call_hours"] * 3600 / lasted_s < 2


def test_an_estimate_and_a_plan_are_different_questions(harness_here: Callable[..., Finished], tmp_path: Path) -> None:
    agent = ["plan", "--agent", "baseline", "--limit", "1"]
    for wrong, words in (
        ([], "give either --out FILE"),
        (["--estimate", "--out", "plan.json"], "give either --out FILE"),
        (["--out", "plan.json", "--agent-count", "3"], "--agent-count: is for an estimate"),
        (["--out", "plan.json", "--judge", "embedded"], "--judge: is for an estimate"),
        (["--estimate", "--judge", "embeded"], "embeded"),
    ):
        done = harness_here(*agent, *wrong)
        assert done.code == 2
        assert words in done.err
        assert len(done.err.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_an_estimate_is_said_in_a_few_lines(harness_here: Callable[..., Finished]) -> None:
    asked = ["--agent", "baseline", "--repeats", "3", "--concurrency", "4"]
    said = harness_here("plan", *asked, "--estimate", "--agent-count", "20")
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[0].startswith("20 agents × ")
    assert lines[1].endswith(" hours at 4 calls at once")
    assert "cores:  9 (2 for each call, 1 for the caller)" in lines
    unknown = harness_here("plan", "--agent", peer("raw-pcm-answers"), "--limit", "1", "--estimate")
    assert "cores:  2 (1 for each call, where an agent's is not known, 1 for the caller)" in unknown.out
    assert lines[-1].startswith("not counted: ")
    alone = harness_here("plan", "--agent", "baseline", "--limit", "1", "--estimate")
    assert alone.out.splitlines()[1] == "calls:  0.4 minutes"
