"""The loop itself, with an in-process agent of known delays: what it does is known, so what is measured can be held to it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import soundfile

from harness.agents.connections import ConnectionSpec
from harness.agents.profile import AgentProfile
from harness.audio.vocal import silero
from harness.caller import Callers
from harness.experiment import Experiment
from harness.progress import RunProgress
from harness.run.caller_turns import render_turns
from harness.run.plan import RunPlan, make_plan, new_manifest
from harness.run.running_agents import RunningAgents
from harness.run.sessions import SessionPlayer, measure_missing
from harness.scenarios.context import Turn
from harness.scenarios.pack import load_pack
from harness.store.run_store import RunStore
from harness.voices.choice import open_voices
from tests.harness.conftest import peer

pytestmark = pytest.mark.usefixtures("virtual_time")
DELAYS_MS = {"prompt": 600, "slow": 1_200}


class ScriptedAgents(RunningAgents):
    """Agents that are scripts inside the caller: nothing is started, nothing can die."""

    def __init__(self, scripts: Mapping[str, Mapping[str, Any]], progress: RunProgress) -> None:
        super().__init__((), {}, Path(), progress)
        self._scripts = scripts

    def connection(self, name: str, session: str = "") -> ConnectionSpec:
        del session
        return ConnectionSpec("scripted", options=dict(self._scripts[name]))

    def alive(self, name: str) -> bool:
        return name in self._scripts

    async def revive(self, name: str) -> bool:
        return self.alive(name)


def plan_for(pack: Path, **more: Any) -> RunPlan:
    plan = make_plan(Experiment(agents=(str(peer("raw-pcm-echo")), str(peer("pipecat-echo"))), pack=str(pack), **more))
    names = dict(zip(("raw-pcm-echo", "pipecat-echo"), DELAYS_MS, strict=True))
    renamed = tuple(_named(p, names[p.name]) for p in plan.profiles)
    return RunPlan(plan.options, plan.pack, plan.contexts, plan.context_hashes, renamed)


def _named(profile: AgentProfile, name: str) -> AgentProfile:
    return profile.model_copy(update={"name": name})


@pytest.fixture(scope="module")
def reply(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A spoken reply: only a voice counts as an answer."""
    path = tmp_path_factory.mktemp("reply") / "reply.wav"
    turn = Turn(role="supporter", text="Which of them do you think of first?")
    spoken = open_voices(load_pack("heart-mini")).render(turn, "joe")
    soundfile.write(path, spoken.samples, spoken.rate_hz)
    return path


def scripts(reply: Path) -> dict[str, dict[str, Any]]:
    return {name: script(reply, delay_ms) for name, delay_ms in DELAYS_MS.items()}


def script(reply: Path, delay_ms: float) -> dict[str, Any]:
    # Longer than the marked pause, so that "after the last loud sample" can only mean the end of the turn.
    return {"replies": [{"delay_ms": delay_ms, "sound": [{"kind": "file", "path": str(reply)}]}]}


async def play(plan: RunPlan, folder: Path, played: Mapping[str, Mapping[str, Any]]) -> RunStore:
    progress = RunProgress(quiet=True)
    store = RunStore.create(folder, new_manifest(plan), plan.contexts)
    callers = Callers()
    try:
        await callers.enough_for(plan.options.concurrency)
        running = ScriptedAgents(played, progress)
        await SessionPlayer(plan, store, render_turns(plan, progress), running, callers, silero(), progress).play_all()
        measure_missing(store, silero(), progress)
    finally:
        await callers.stop()
    return store


@pytest.mark.models
async def test_each_agents_delay_is_what_is_measured(pack: Path, tmp_path: Path, reply: Path) -> None:
    plan = plan_for(pack, limit=1)
    store = await play(plan, tmp_path / "r", scripts(reply))
    sessions = store.sessions()
    assert len(sessions) == 2
    for session in sessions:
        assert session.timing is not None
        assert session.timing.ttfa_ms == pytest.approx(DELAYS_MS[session.key.agent], abs=30)
        assert session.timing.pauses_cut == 0


@pytest.mark.models
async def test_several_calls_at_once_measure_the_same(pack: Path, tmp_path: Path, reply: Path) -> None:
    plan = plan_for(pack, concurrency=4)
    store = await play(plan, tmp_path / "r", scripts(reply))
    found = {(s.key.context_id, s.key.agent): s.timing.ttfa_ms for s in store.sessions() if s.timing}
    assert set(found) == {(context, agent) for context in ("first", "second") for agent in DELAYS_MS}
    for (_, agent), ttfa_ms in found.items():
        assert ttfa_ms == pytest.approx(DELAYS_MS[agent], abs=30)


def test_order_is_the_shortest_context_first_and_agents_by_lot_within(pack: Path) -> None:
    orders = set()
    for seed in range(8):
        keys = plan_for(pack, seed=seed).session_keys()
        assert [k.context_id for k in keys] == ["second", "second", "first", "first"]
        assert keys == plan_for(pack, seed=seed).session_keys()
        orders.add(tuple(k.agent for k in keys))
    assert len(orders) > 1


def test_the_shortest_context_comes_first_and_the_others_stay_as_they_are() -> None:
    plan = make_plan(Experiment(agents=("polaris-like",)))
    played = [key.context_id for key in plan.session_keys()]
    words = {c.id: len(c.turns[-1].text.split()) for c in plan.contexts}
    assert words[played[0]] == min(words.values())
    assert played[1:] == [c.id for c in plan.contexts if c.id != played[0]]
