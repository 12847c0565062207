"""A field of `Experiment` is an option, is in manifests and in plans, and no run goes on with another value of it."""

import json
import shutil
from pathlib import Path
from typing import Any, Final

import pytest
from typer.main import get_command

from harness.cli import _run, app
from harness.errors import UserError
from harness.experiment import BY_CONTENT, FREE, Experiment, flag, options
from harness.run.fixed_plan import fixed, read_plan
from harness.run.plan import RunPlan, make_plan, new_manifest
from harness.run.resuming import asked_of, refuse_changes
from harness.shards.split import Share
from harness.store.fleet import FixedPlan
from harness.store.manifest import read_manifest
from harness.store.run_store import RunStore

OLDER_RUN: Final = Path(__file__).parent / "store" / "layout_1" / "one-condition"
ASKED: Final = Experiment(agents=("baseline",), limit=2)
OTHERWISE: Final[dict[str, Any]] = {"mode": "replay", "conditions": ("telephone", "clean")}
"""Another value of each setting that is no number."""
SETTINGS: Final = sorted(Experiment.model_fields.keys() - BY_CONTENT - FREE)


def otherwise(name: str) -> Experiment:
    """The same experiment with another value of one setting."""
    return ASKED.with_named({name: OTHERWISE[name] if name in OTHERWISE else (getattr(ASKED, name) or 0) + 7})


@pytest.fixture(scope="module")
def plan() -> RunPlan:
    return make_plan(ASKED)


def on_the_line(command: str) -> dict[str, str]:
    """The options of a command with their help."""
    commands: Any = get_command(app)
    return {name: each.help for each in commands.commands[command].params for name in each.opts}


def test_the_commands_have_the_options_of_the_record() -> None:
    run, check = map(on_the_line, ("run", "check"))
    for name, option in options():
        assert run[flag(name)] == option.help
    assert check["--repeats"] == run["--repeats"]


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_arrives_in_the_manifest_and_no_run_goes_on_with_another(name: str, plan: RunPlan) -> None:
    other = make_plan(otherwise(name))
    kept = read_manifest(new_manifest(other).model_dump_json(), Path("run"))
    assert asked_of(kept) == (otherwise(name), Share())
    refuse_changes(other, kept, other.contexts)
    with pytest.raises(UserError, match=rf"--resume: {'|'.join(ASKED.differences(otherwise(name)))} was .*, is now "):
        refuse_changes(plan, kept, plan.contexts)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_arrives_in_the_plans_file_and_no_shard_of_another_is_merged(
    name: str, plan: RunPlan, tmp_path: Path
) -> None:
    path = tmp_path / "plan.json"
    assert _run(["run", *otherwise(name).on_the_line(), "--write-plan", str(path)]) == 0
    found = read_plan(path)
    assert found.experiment == otherwise(name)
    (called,) = ASKED.differences(otherwise(name))
    difference = fixed(plan).difference(found) or ""
    assert difference.startswith(f"{called} is ")
    assert ";" not in difference


def test_everything_that_differs_is_named_in_one_line(plan: RunPlan) -> None:
    other = make_plan(ASKED.with_named({"seed": 2, "repeats": 3, "barge_in_ms": 300}))
    with pytest.raises(
        UserError, match="repeats was 1, is now 3; seed was 1, is now 2; barge-in was not set, is now 300; resume"
    ):
        refuse_changes(other, new_manifest(plan), plan.contexts)
    assert fixed(plan).difference(fixed(other)) == (
        "repeats is 1 here and 3 there; seed is 1 here and 2 there; barge-in is not set here and 300 there"
    )


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ({"repeats": 0}, "--repeats 0: must be at least 1"),
        ({"barge_in_ms": -1}, "--barge-in -1: must be at least 0"),
        ({"budget_ttfa_ms": float("nan")}, "--budget-ttfa nan: Input should be a finite number"),
        ({"mode": "spoken"}, "--mode spoken: unknown; choose seeded or replay"),
        ({"repeat": 2}, "repeat: a run has no such option; did you mean repeats?"),
    ],
)
def test_what_is_wrong_is_one_line_with_the_name_on_the_line(named: dict[str, object], says: str) -> None:
    with pytest.raises(UserError) as refused:
        Experiment.of(named)
    assert str(refused.value).startswith(says)


def as_an_older_harness_wrote_it(plan: RunPlan) -> dict[str, Any]:
    """A plan's file with a key for each setting and no experiment."""
    written = json.loads(fixed(plan).model_dump_json(by_alias=True))
    asked = written.pop("experiment")
    for agent, source in zip(written["agents"], asked["agents"], strict=True):
        agent["source"] = source
    alike = ("mode", "conditions", "repeats", "concurrency", "seed", "barge_in_ms")
    return {
        **written,
        **{name: asked[name] for name in alike},
        "pack_source": asked["pack"],
        "events_source": asked["events"],
        "budgets_ms": {"ttft": asked["budget_ttft_ms"], "ttfa": asked["budget_ttfa_ms"]},
    }


def test_the_plan_of_an_older_harness_is_the_same_plan() -> None:
    plan = make_plan(ASKED.with_named({"events": "everyday", "seed": 4, "budget_ttfa_ms": 612.5}))
    older = FixedPlan.model_validate(as_an_older_harness_wrote_it(plan))
    assert older == fixed(plan)
    with pytest.raises(ValueError, match="harness_version"):
        FixedPlan.model_validate({"pack_source": 3, "agents": [1], "contexts": 3})


def test_a_run_of_an_older_harness_says_what_it_was_asked_to_be(tmp_path: Path) -> None:
    store = RunStore.open(Path(shutil.copytree(OLDER_RUN, tmp_path / "run")))
    manifest = store.manifest
    store.close()
    assert manifest.experiment is None
    asked, share = asked_of(manifest)
    assert share == Share()
    assert asked.agents == tuple(agent.source or agent.name for agent in manifest.agents)
    assert (asked.pack, asked.limit) == (manifest.pack_source, len(manifest.context_ids))
    assert (asked.seed, asked.conditions, asked.budgets_ms) == (
        manifest.seed, tuple(manifest.conditions), manifest.budgets_ms,
    )  # fmt: skip
