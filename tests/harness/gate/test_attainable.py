"""Limits that a run can pass at all: worked out before it is played, by the gate's own rule."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from harness.errors import UserError
from harness.experiment import Experiment
from harness.gate.attainable import conversations_for, fewest, flawless, refuse_unattainable, trials, unattainable
from harness.gate.budgets import CellLimit, Limit
from harness.gate.decide import POWER, decide, tail_of
from harness.gate.extend_run import first_look
from harness.scenarios.context import Context, Turn
from harness.scenarios.pack import load_pack
from harness.statistics.bounds import Share
from tests.harness.conftest import Finished

SILENCE = Limit(figure="no_reply_rate", at_most=0.1)
MEDIAN = Limit(figure="ttfa_ms.p50", at_most=500)
PAUSES = Limit(figure="pauses_cut_share", at_most=0.15)


def test_a_limit_is_out_of_reach_exactly_where_a_flawless_run_does_not_pass_it() -> None:
    contexts = load_pack("heart-open").contexts
    tail = tail_of(3, None)
    needs = fewest(SILENCE, tail)
    assert needs == 55, "of three limits, one on silence in a tenth of the turns"
    for have in (needs - 1, needs):
        found = unattainable([MEDIAN, MEDIAN, SILENCE], contexts[:have], "seeded")
        assert [(one.limit, one.have, one.needs) for one in found] == [(SILENCE, have, needs)] * (have < needs)
    silent_once = Share(np.array([1.0, *[0.0] * (needs - 1)]), np.ones(needs))
    assert decide(silent_once, "at_most", 0.1, tail).verdict == "cannot tell"


def test_more_limits_and_a_first_of_many_checks_need_more_conversations() -> None:
    alone, of_three = fewest(SILENCE, tail_of(1, None)), fewest(SILENCE, tail_of(3, None))
    first_of_many = fewest(SILENCE, tail_of(1, 1))
    assert alone is not None
    assert of_three is not None
    assert first_of_many is not None
    assert alone < first_of_many < of_three


def test_unequal_conversations_are_worth_less() -> None:
    alike, unlike = (
        fewest(PAUSES, tail_of(2, None), np.full(4, 3.0)),
        fewest(PAUSES, tail_of(2, None), np.array([9.0, 1, 1, 1])),
    )
    assert alike is not None
    assert unlike is not None
    assert unlike > 1.5 * alike


def test_pauses_are_counted_in_the_conversations_that_have_any() -> None:
    def context(name: str, text: str) -> Context:
        return Context.model_validate(
            {"id": name, "subset": "regular", "emotion": "worry", "problem": "work", "source": "tests", "licence": "Apache-2.0",
             "turns": [{"role": "seeker", "text": text}]}
        )  # fmt: skip

    several = context("a", "It is <pause 700> late <pause 300> now.")
    assert list(trials(PAUSES, [several, context("b", "It is late.")], "seeded") or ()) == [2.0]
    unknown = several.model_copy(update={"turns": (Turn(role="seeker", text="It is late.", audio="late.wav"),)})
    assert trials(PAUSES, [unknown], "seeded") is None, "a recording's pauses are found when it is played"
    assert trials(SILENCE, [unknown], "seeded") is not None


def test_nothing_is_said_beforehand_of_elo_of_wins_and_of_a_baseline() -> None:
    of = np.ones(5)
    for limit in (
        Limit(figure="elo_over.ref:plain", at_least=-50), Limit(figure="win_rate", at_least=0.4),
        Limit(figure="ttfa_ms.p50", worse_than_baseline_by=50),
    ):  # fmt: skip
        assert flawless(limit, of) is None


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.02])
def test_an_agent_with_rare_silence_passes_as_often_as_stated(rate: float) -> None:
    tail = tail_of(3, None)
    n = conversations_for(SILENCE.bound, tail, rate)
    assert n is not None
    rng = np.random.default_rng(7)
    silent = rng.binomial(n, rate, 400)
    verdicts = {
        k: decide(Share(np.r_[np.ones(k), np.zeros(n - k)], np.ones(n)), "at_most", 0.1, tail).verdict for k in {*silent}
    }
    passed = np.mean([verdicts[k] == "pass" for k in silent])
    assert passed > POWER - 0.06  # three standard errors of 400 draws
    assert conversations_for(SILENCE.bound, tail, 0.1) is None, "an agent at the limit never passes by patience"


def test_a_gate_that_can_never_be_green_is_refused_in_one_line() -> None:
    contexts = load_pack("heart-mini").contexts
    cells = [CellLimit(limit=limit, agent="a", condition="clean") for limit in (MEDIAN, PAUSES, SILENCE)]
    with pytest.raises(UserError) as refused:
        refuse_unattainable(cells, contexts, Experiment(), None)
    said = str(refused.value)
    assert "no_reply_rate at most 0.1 (a flawless one needs at least 55)" in said
    assert "pauses_cut_share at most 0.15" in said
    assert "ttfa_ms.p50" not in said
    assert "\n" not in said
    refuse_unattainable(cells[:1], contexts, Experiment(), None)


def test_check_refuses_it_before_anything_is_made(harness_here: Callable[..., Finished], tmp_path: Path) -> None:
    budgets = tmp_path / "budgets.yaml"
    budgets.write_text("schema: 1\nlimits:\n  - {figure: no_reply_rate, at_most: 0.1}\n", encoding="utf-8")
    done = harness_here("check", "--agent", "polaris-like", "--budgets", budgets, "--out", tmp_path / "run")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "no run of these 12 conversations can pass no_reply_rate" in done.err
    assert not (tmp_path / "run").exists()


def test_a_check_that_no_other_can_follow_has_the_whole_error() -> None:
    assert tail_of(2, first_look(left=0)) == 2 * tail_of(2, first_look(left=1))
