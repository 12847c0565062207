"""Limits of a run in which the machine disturbed some turns: decided where no value of those turns would change the verdict."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.figures.validity import with_validity
from harness.gate.budgets import read_budgets
from harness.gate.check import CheckResult, check_run
from harness.gate.disturbed import CellTurn, shares, times
from harness.ranking.bounds import percentile_of, share_of_flags
from harness.scenarios.context import Context
from harness.store.manifest import AgentEntry, RunManifest
from harness.store.run_store import RunStore
from harness.store.selection import Turns
from harness.store.session import SessionKey
from harness.timing.figures import TurnTiming
from harness.timing.left_out import Contention

QUIET = Contention(others_cores=0.0, waited_cores=0.0, stolen_cores=0.0, at_most_ms={"ttfa": 0.0})
TURN = TurnTiming(method="test", spoken_end_ms=0, ttfa_ms=2_500.0, contention=QUIET)
OF_60 = range(60)


def others_could_have(owed_ms: float, turn: TurnTiming) -> TurnTiming:
    return replace(turn, contention=replace(QUIET, at_most_ms={"ttfa": owed_ms}))


def ttfa(turns: Turns) -> Mapping[str, Sequence[float]]:
    return {c: [t.ttfa_ms for t in group if t.ttfa_ms is not None] for c, group in turns.items()}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("share", [0.5, 0.95])
def test_the_bounds_contain_those_of_a_quiet_machine_whatever_the_delays_were(seed: int, share: float) -> None:
    dice = np.random.default_rng(seed)
    quiet = dice.gamma(4.0, 200.0, 60)
    delays = np.where(dice.random(60) < 0.4, dice.exponential(400.0, 60), 0.0)
    faults = dice.random(60) < 0.1
    heard = np.where(faults, dice.uniform(0, 9_000, 60), quiet + delays)
    turns = [
        CellTurn(
            str(k),
            others_could_have(delays[k] * dice.uniform(1, 2), replace(TURN, ttfa_ms=heard[k])),
            disturbed=bool(faults[k] or delays[k]),
            fault=bool(faults[k]),
        )
        for k in OF_60
    ]
    found = times(turns, ttfa, "ttfa", share)
    undisturbed = percentile_of({str(k): [float(quiet[k])] for k in OF_60}, share)
    assert found is not None
    assert undisturbed is not None
    assert found.contexts == 60
    low, high = found.bounds(0.005)
    assert low <= undisturbed.bounds(0.005)[0]
    assert undisturbed.bounds(0.005)[1] <= high


@pytest.mark.parametrize("seed", range(20))
def test_a_share_is_bounded_by_all_and_none_of_the_disturbed_chances(seed: int) -> None:
    dice = np.random.default_rng(seed)
    cut, disturbed = dice.random(60) < 0.2, dice.random(60) < 0.3
    seen = np.where(disturbed, dice.random(60) < 0.5, cut)
    turns = [CellTurn(str(k), replace(TURN, cut_in=bool(seen[k])), disturbed=bool(disturbed[k]), fault=False) for k in OF_60]
    found = shares(turns, lambda groups: {c: [t.cut_in for t in group] for c, group in groups.items()})
    undisturbed = share_of_flags({str(k): [bool(cut[k])] for k in OF_60})
    assert found is not None
    assert undisturbed is not None
    low, high = found.bounds(0.005)
    assert low <= undisturbed.bounds(0.005)[0]
    assert undisturbed.bounds(0.005)[1] <= high


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    """A run of 40 calls, each answered after 2.5 s, of which others could have delayed the first 30."""
    contexts = [
        Context.model_validate(
            {
                "id": f"c{k}", "subset": "regular", "emotion": "sadness", "problem": "work",
                "turns": [{"role": "seeker", "text": "I don't know."}], "source": "test", "licence": "CC0",
            }
        )
        for k in range(40)
    ]  # fmt: skip
    manifest = RunManifest(
        created="2026-01-01T00:00:00+00:00", harness_version="0", pack="p", pack_source="p", pack_hash="x",
        context_ids=[c.id for c in contexts], mode="seeded", conditions=["clean"], repeats=1, seed=1,
        agents=[AgentEntry(name="a", kind="cascade", profile_hash="p" * 64, profile_text="")],
    )  # fmt: skip
    store = RunStore.create(tmp_path / "run", manifest, contexts)
    for k, context in enumerate(contexts):
        key = SessionKey(context.id, "h" * 64, "a", "p" * 64, "seeded", "clean", 0)
        turn = others_could_have(700.0, TURN) if k < 30 else TURN
        store.commit_session(key, partial=store.partial_folder(key), started_ns=1, timing=turn)
    store.set_manifest(with_validity(store))
    assert store.manifest.invalid
    return store


@pytest.fixture
def check(store: RunStore, tmp_path: Path) -> Callable[..., CheckResult]:
    """The check of that run against one limit."""

    def checked(limit: str, *, fails_twice: bool = False, **changes: list[str]) -> CheckResult:
        store.set_manifest(store.manifest.model_copy(update=changes))
        budgets = tmp_path / "budgets.yaml"
        budgets.write_text(f"schema: 1\nlimits:\n  - {{figure: {limit}}}\n", encoding="utf-8")
        return check_run(store, read_budgets(budgets), fails_twice=fails_twice)

    return checked


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [
        pytest.param("ttfa_ms.p50, at_most: 1500", "fail", id="too slow even without all that others could have caused"),
        pytest.param("ttfa_ms.p50, at_most: 2600", "pass", id="quick enough in spite of others"),
        pytest.param("ttfa_ms.p50, at_most: 2000", "cannot tell", id="others may decide"),
        pytest.param("cut_in_rate, at_most: 0.3", "cannot tell", id="a cut-in may be missed on a starved machine"),
    ],
)
def test_an_invalid_run_decides_where_the_disturbed_turns_cannot(
    check: Callable[..., CheckResult], limit: str, verdict: str
) -> None:
    (found,) = check(limit).checked
    assert (found.verdict, found.in_spite_of_disturbance, found.invalid) == (
        verdict,
        verdict != "cannot tell",
        verdict == "cannot tell",
    )


def test_a_click_in_one_of_few_quiet_calls_withholds_nothing(check: Callable[..., CheckResult], store: RunStore) -> None:
    """One of ten quiet turns is more than may be discarded, one of forty is not."""
    store.set_timing(store.sessions()[35].id, (replace(TURN, ttfa_ms=None, discarded="a click"),))
    (found,) = check("ttfa_ms.p50, at_most: 1500").checked
    assert found.verdict == "fail"


def test_a_fail_with_two_looks_is_surer(check: Callable[..., CheckResult]) -> None:
    (once,) = check("ttfa_ms.p50, at_most: 1500").checked
    (twice,) = check("ttfa_ms.p50, at_most: 1500", fails_twice=True).checked
    assert once.decision is not None
    assert twice.decision is not None
    assert twice.decision.interval[0] <= once.decision.interval[0]
    assert twice.decision.interval[1] == once.decision.interval[1]


def test_a_run_that_is_invalid_for_a_reason_not_known_by_turns_decides_nothing(check: Callable[..., CheckResult]) -> None:
    (found,) = check("ttfa_ms.p50, at_most: 1500", invalid=["the clocks were apart"]).checked
    assert found.verdict == "cannot tell"
