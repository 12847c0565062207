"""`harness load`: a profile's agent under rising load, by callers who speak a pack's contexts with their pauses.

One call is played before the steps and is in no figure: it finds out whether the agent greets, as in a run, and warms its
caches, so that the first step does not pay for what is paid once.
"""

import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Final

from harness.agents.profile import AgentProfile
from harness.audio.vocal import silero
from harness.calibrate.agent_process import metrology_agent
from harness.caller import CallerProcess, SessionPlan
from harness.errors import StorageError, UserError
from harness.experiment import Experiment
from harness.files import own_folder
from harness.load.arrivals import Arrivals
from harness.load.measuring import Samples
from harness.load.reference import DELAY_MS, Reference
from harness.load.result import LoadResult
from harness.load.soak import SoakResult, soak
from harness.load.steps import Load, load, load_rates
from harness.local_programs import local_python
from harness.machine.companions import companions_of
from harness.machine.gpu import Facts, gpu_facts
from harness.machine.gpu_use import use_of_cards
from harness.machine.telemetry import Telemetry
from harness.progress import RunProgress
from harness.recording.files import load as load_recording
from harness.run.call_plan import call_plan
from harness.run.caller_turns import CallerTurns, render_turns
from harness.run.disk_space import MB, PASSING_BYTES_PER_S
from harness.run.greetings import Greetings
from harness.run.plan import RunPlan, lasting_s, make_plan, new_manifest
from harness.run.running_agents import RunningAgents
from harness.run.weights import weights_of_agents
from harness.servers.samples import SERVERS_FILE
from harness.store.database import DATABASE, create_database
from harness.store.disk import free_bytes
from harness.store.load_part import LoadPart
from harness.store.manifest import RunManifest
from harness.store.old_load import is_old_load
from harness.store.run_store import TELEMETRY_FILE, RunStore
from harness.store.session import SessionKey, UnrecordedCall

REFERENCE_CALLS: Final = 200
"""Replies of the reference agent that are made before: more are made when they are needed."""


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """The agent with pack, mode and seed, and what it is asked to serve: callers at once (None: search for the limit), or the
    arrivals of an open loop. `budget_ms`: the limit for the p95 of TTFA."""

    experiment: Experiment
    folder: Path
    callers: tuple[int, ...] | None = None
    arrivals: tuple[Arrivals, ...] = ()
    rounds: int | None = None
    budget_ms: float | None = None


Finished = Callable[[RunStore, LoadResult], object]
"""Shows the result so far, once the rows of its last step are stored."""


async def load_agent(request: LoadRequest, progress: RunProgress, finished: Finished) -> tuple[RunStore, LoadResult]:
    """Start the agent, play the steps, stop the agent. The run has a step's rows once the step is over.

    Raises:
        UserError: the input is wrong, or the agent is not one that is spoken to.
        AgentError: the agent cannot start.
        StorageError: the disk has no room, or is full; finished steps are saved.
    """
    ready = _prepared(request, progress)

    def store(calls: Sequence[UnrecordedCall], result: LoadResult) -> None:
        finished(ready.store(calls, result), result)

    known = metrology_agent(1, REFERENCE_CALLS, keep_arrivals=False, delay_ms=DELAY_MS)
    async with known as reference, _started(ready, request, progress) as started:
        progress.phase("Calls")
        steps = Load(
            call=started.calls.plan,
            key=started.calls.key,
            vocal=silero(),
            reference=Reference(reference),
            budget_ms=request.budget_ms,
            progress=lambda step, done, total: progress.status(f"{step}: {done} of {total}"),
            finished=store,
            samples=started.samples,
            watched=started.telemetry.watch,
            within=request.folder,
        )
        if request.arrivals:
            result = await load_rates(steps, request.arrivals)
        else:
            result = await load(steps, request.callers, rounds=request.rounds)
    return ready.store((), result), result


async def soak_agent(request: LoadRequest, minutes: float, progress: RunProgress) -> tuple[RunManifest, SoakResult]:
    """Start the agent, play waves of one number of callers for this time, stop the agent.

    Raises:
        UserError: the input is wrong, or the agent is not one that is spoken to.
        AgentError: the agent cannot start.
    """
    if request.callers is None or len(request.callers) != 1:
        raise UserError("--for: repeats one number of callers; name it with --callers, or a rate with --rate")
    (callers,) = request.callers
    ready = _prepared(request, progress)
    async with _started(ready, request, progress) as started:
        progress.phase("Waves")
        result = await soak(
            started.calls.plan,
            callers,
            minutes * 60,
            agent_pid=started.pid,
            vocal=silero(),
            progress=lambda look: progress.step(f"{look.at_s / 60:.1f} of {minutes:g} minutes", keep=True),
            samples=started.samples,
            watched=started.telemetry.watch,
        )
        return ready.manifest(LoadResult(LoadPart())), result


class _Calls:
    """The calls of a load test, in turn over the pack's contexts."""

    def __init__(self, ready: "_Prepared", running: RunningAgents) -> None:
        self._plan, self._turns, self._running = ready.plan, ready.turns, running
        self._keys = self._plan.session_keys()
        self._greetings = Greetings()
        self._planned = lru_cache(maxsize=None)(self._of_key)

    @property
    def profile(self) -> AgentProfile:
        return self._plan.profiles[0]

    def plan(self, number: int) -> SessionPlan:
        """The plan of the n-th call."""
        return self._planned(number % len(self._keys))

    def key(self, number: int) -> SessionKey:
        """The key of its session, without the step."""
        return self._keys[number % len(self._keys)]

    async def find_out(self) -> None:
        """Play the call before the steps, a second time where only a longer wait shows whether the agent greets."""
        caller = CallerProcess()
        try:
            for _ in range(2):
                self._planned.cache_clear()
                with tempfile.TemporaryDirectory(prefix="load-") as folder:
                    outcome = await caller.play(self.plan(0), Path(folder))
                    if outcome.failure_kind is not None:
                        return
                    recording = load_recording(Path(folder))
                self._greetings.learn(self.profile.name, recording)
                if not self._greetings.is_doubtful(self.profile, recording):
                    return
        finally:
            self._planned.cache_clear()
            await caller.stop()

    def _of_key(self, place: int) -> SessionPlan:
        greeting, connection = self._greetings.of(self.profile), self._running.connection(self.profile.name)
        return call_plan(self._plan, self._turns, self._keys[place], connection, greeting)


@dataclass
class _Prepared:
    """What is made once, however often the agent is started, and the run, which begins with the first finished step."""

    plan: RunPlan
    weights: Mapping[str, Path]
    turns: CallerTurns
    folder: Path
    _begun: RunManifest
    _run: RunStore | None = None

    @property
    def profile(self) -> AgentProfile:
        return self.plan.profiles[0]

    @property
    def sampled(self) -> Path:
        """The samples of this machine."""
        return self.folder / TELEMETRY_FILE

    def manifest(self, result: LoadResult) -> RunManifest:
        """The manifest with the steps so far, and the use of GPUs until now."""
        part = result.part.model_copy(update={"contexts": len(self.plan.contexts)})
        cards = use_of_cards(self.sampled, self._gpus)
        return self._begun.model_copy(update={"load": part, "cards": cards})

    @cached_property
    def _gpus(self) -> Facts:
        return gpu_facts()

    def store(self, calls: Sequence[UnrecordedCall], result: LoadResult) -> RunStore:
        """Store a step's rows, and then that it is finished."""
        if self._run is None:
            nothing = self.manifest(LoadResult(LoadPart(law=result.part.law)))
            self._run = RunStore(self.folder, create_database(self.folder, nothing, self.plan.contexts))
        self._run.add_calls(calls)
        self._run.set_manifest(self.manifest(result))
        return self._run


def _prepared(request: LoadRequest, progress: RunProgress) -> _Prepared:
    if is_old_load(request.folder) or (request.folder / DATABASE).exists():
        raise UserError(f"--out {request.folder}: holds a load test or another run already; name another folder")
    plan = make_plan(request.experiment)
    (profile,) = plan.profiles
    if profile.kind == "text":
        raise UserError(f"--agent {profile.name}: is a text model; load plays calls")
    local_python("speaking to an agent and hearing it", progress)
    _refuse_without_room(plan, request)
    weights = weights_of_agents(plan, progress)
    turns = render_turns(plan, progress)
    own_folder(request.folder)
    own_folder(request.folder / "logs")
    # A folder that is used again would mix two tests.
    for file in (TELEMETRY_FILE, SERVERS_FILE):
        (request.folder / file).unlink(missing_ok=True)
    return _Prepared(plan, weights, turns, request.folder, new_manifest(plan))


@dataclass(frozen=True, slots=True)
class _Started:
    """The agent, started: its calls, its process, and what is sampled meanwhile."""

    calls: _Calls
    pid: int | None
    samples: Samples
    telemetry: Telemetry


@asynccontextmanager
async def _started(ready: _Prepared, request: LoadRequest, progress: RunProgress) -> AsyncIterator[_Started]:
    """The agent, started, while this machine is sampled."""
    profile = ready.profile
    async with RunningAgents(ready.plan.profiles, ready.weights, request.folder / "logs", progress) as running:
        also = {profile.name: companions_of(profile).pids} if profile.runs_here or profile.also else {}
        with Telemetry(ready.sampled, running.pids(), also) as telemetry:
            calls = _Calls(ready, running)
            progress.phase("A first call, in no figure")
            await calls.find_out()
            yield _Started(calls, running.pids().get(profile.name), partial(running.server_samples, profile.name), telemetry)


def _refuse_without_room(plan: RunPlan, request: LoadRequest) -> None:
    """Check that the recordings of the largest step, which are removed once they are measured, fit on the disk.

    Raises:
        StorageError: they do not.
    """
    call_s = max(lasting_s(context, plan.pack, plan.options.mode) for context in plan.contexts)
    at_once = max(request.callers or (0,)) * (request.rounds or 1)
    most = max((arrivals.rate * arrivals.lasts_s for arrivals in request.arrivals), default=at_once)
    needed, free = most * call_s * PASSING_BYTES_PER_S, free_bytes(request.folder)
    if free < needed:
        raise StorageError(
            f"--out {request.folder}: the recordings of {most:.0f} calls need about {needed / MB:,.0f} MB until they are "
            f"measured, and {free / MB:,.0f} MB are free; name another place with --out, or ask for fewer calls"
        )


def parse_callers(text: str) -> Sequence[int] | None:
    """`1,2,5,10` as numbers; None for `auto`.

    Raises:
        UserError: something else is written.
    """
    if text == "auto":
        return None
    try:
        callers = [int(part) for part in text.split(",")]
    except ValueError:
        callers = []
    if not callers or min(callers) < 1 or max(callers) > 1_000 or len(set(callers)) < len(callers):
        raise UserError(f"--callers {text}: write numbers from 1 to 1000 with commas, each once, as in 1,2,5,10, or auto")
    return callers
