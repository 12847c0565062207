"""Budgets in a test of one call: a filler alone is no answer, and what others could have caused fails and passes nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.experiment import Experiment
from harness.pytest_plugin.call import Call
from harness.run.plan import make_plan, new_manifest
from harness.store.run_store import RunStore
from harness.store.session import SessionKey
from harness.timing.figures import Contention, TurnTiming
from tests.harness.conftest import peer
from tests.harness.figures.test_answer import late, turn

AGENT = "raw-pcm-echo"


@pytest.fixture
def call(tmp_path: Path) -> Callable[[TurnTiming], Call]:
    def made(timing: TurnTiming) -> Call:
        plan = make_plan(Experiment(agents=(str(peer(AGENT)),), pack="heart-open", judges=("none",)))
        store = RunStore.create(tmp_path / "run", new_manifest(plan), plan.contexts)
        context = plan.contexts[0].id
        key = SessionKey(context, "h" * 64, AGENT, "p" * 64, "seeded", "clean", 0)
        session = store.commit_session(key, partial=store.partial_folder(key), started_ns=1, timing=timing)
        return Call(AGENT, context, session, tmp_path / "sound.flac", tmp_path / "report.html")

    return made


@pytest.mark.parametrize(
    ("timing", "said"),
    [
        (turn(400.0), ""),
        (late(300.0, 1_900.0), "answer_ms 1900 is over the budget of 500"),
        (late(300.0, None), "the reply is a filler without an answer"),
        (turn(None), "no reply within 15 s"),
        (turn(None, no_reply=False, signed_ms=-90.0), "the agent began 90 ms before its caller had ended"),
    ],
    ids=["no filler", "late answer", "filler alone", "silence", "cut-in"],
)
def test_a_turn_is_within_a_budget_of_the_answer_or_says_why_not(
    call: Callable[[TurnTiming], Call], timing: TurnTiming, said: str
) -> None:
    over = call(timing).over(answer_ms=500)
    assert [said in one for one in over] == [True] * bool(said)


def busy(ttfa_ms: float, owed_ms: float) -> TurnTiming:
    by = Contention(
        others_cores=0.4, waited_cores=0.4, stolen_cores=0.0, at_most_ms={"ttfa": owed_ms}, others=(("chromium", 0.4),)
    )
    return turn(ttfa_ms, contention=by)


@pytest.mark.parametrize(
    ("timing", "over"),
    [(busy(500.0, 400.0), []), (busy(541.0, 40.0), ["turn 1: ttfa_ms 541 is over the budget of 500"])],
    ids=["fast as measured", "slow without all of theirs"],
)
def test_others_neither_fail_nor_pass_a_turn(call: Callable[[TurnTiming], Call], timing: TurnTiming, over: list[str]) -> None:
    assert call(timing).over(ttfa_ms=500) == over


def test_a_turn_between_is_skipped_and_names_the_programs(call: Callable[[TurnTiming], Call]) -> None:
    with pytest.raises(pytest.skip.Exception) as skipped:
        call(busy(527.0, 30.0)).over(ttfa_ms=500)
    assert str(skipped.value) == "turn 1: ttfa_ms: this machine cannot tell: 30 ms others' (chromium .4 cores); budget: 500"


@pytest.mark.parametrize(("budget", "says"), [(0, ["turn 1: cut_ins 1 is over the budget of 0"]), (1, [])])
def test_a_count_may_be_as_large_as_its_budget(call: Callable[[TurnTiming], Call], budget: float, says: list[str]) -> None:
    assert call(turn(400.0, cut_in=True)).over(cut_ins=budget) == says


def test_a_figure_that_the_turn_does_not_have_is_said_to_be_unknown(call: Callable[[TurnTiming], Call]) -> None:
    made = call(turn(400.0))
    (said,) = made.over(dead_air_ms=300)
    assert said.startswith("turn 1: dead_air_ms is unknown for this turn (budget: 300)")
    assert "dead_air_ms —" in made.figures()[1]
