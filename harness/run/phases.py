"""The phases of `harness run`, from the first check to the report.

Their order is essential: nothing is analysed during a call, the judge's model is not loaded before the last call
is over, and every phase reads what the one before has stored, so that an interrupted run continues where it stopped.
Only calls and judging run in an event loop, so that Ctrl-C takes effect immediately elsewhere.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from harness.agents.process import IMPATIENT_S, AgentFailed, AgentProcess
from harness.audio.caller_voices import HIBARI
from harness.audio.vocal import silero
from harness.caller import CallerProcess, Callers
from harness.errors import AgentError, UserError
from harness.experiment import Experiment
from harness.figures.cells import Failure
from harness.figures.summarise import summarise
from harness.figures.summary import RunSummary
from harness.figures.validity import with_validity
from harness.local_programs import local_python
from harness.machine.companions import companions_of, notes_on
from harness.machine.gpu_use import use_of_cards
from harness.machine.other_programs import other_work, wait_until_quiet
from harness.machine.telemetry import Telemetry
from harness.measuring.transcribe import TRANSCRIBER, transcribe_all
from harness.progress import RunProgress
from harness.run.calibration import calibrated
from harness.run.caller_turns import CallerTurns, render_turns
from harness.run.disk_space import calls_last_s, how_to_go_on, refuse_without_room
from harness.run.fixed_plan import fleet_of, pin_of, refuse_another_machine, refuse_another_plan
from harness.run.plan import RunPlan, default_folder, make_plan, new_manifest
from harness.run.resuming import asked_of, refuse_another_version, refuse_changes, timed_sessions
from harness.run.running_agents import RunningAgents
from harness.run.sessions import SessionPlayer, measure_missing
from harness.run.stopping import stops_as_ctrl_c
from harness.run.weights import bring_weights
from harness.shards.split import WHOLE, Share
from harness.store.disk import storage_named
from harness.store.events import EventSettings
from harness.store.fleet import FixedPlan, FleetEntry
from harness.store.judgment import Judgment
from harness.store.run_store import RunStore
from harness.verdicts.judge import RunJudging, judge_run, load_judges
from harness.wording import command, counted

ASKED_WAIT_S = 600.0
Votes = Callable[[RunStore], Sequence[Judgment]]


def no_votes(_: RunStore) -> Sequence[Judgment]:
    """The votes of a run without listening test: none."""
    return ()


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The settings of a run from the command line."""

    options: Experiment
    share: Share = WHOLE
    out: Path | None = None
    resume: bool = False
    runs_folder: Path = Path("runs")
    fixed: FixedPlan | None = None
    """The fixed plan with the run's settings, if there is one."""
    again: frozenset[str] = frozenset()
    """Finished sessions of a resumed run to play again; each is stored until its successor exists."""
    wait_for_quiet_s: float | None = None
    """Longest wait for other programs to become idle before the first call; None: ask at a terminal, otherwise continue."""
    words: bool = True
    """False: the replies are not transcribed, because nothing asks for their words."""


def run(request: RunRequest, progress: RunProgress, votes: Votes = no_votes) -> tuple[RunStore, RunSummary]:
    """Play, time, transcribe, judge and rank. The store stays open; the caller writes the report.

    `votes` returns people's votes that are stored outside the store (of a listening test), for a resumed run.

    Raises:
        UserError: the input is wrong; nothing has been started.
        AgentError: an agent cannot start; finished sessions are saved.
        StorageError: the disk has no room for the run, or is full; finished sessions are saved.
    """
    plan, folder = _decide(request)
    fleet = fleet_of(plan)
    if plan.is_spoken:
        local_python("speaking to an agent and hearing it", progress)
    judges = request.options.judges if load_judges(request.options.judges) else ()
    store = _open(request, plan, folder, fleet)
    with stops_as_ctrl_c(), store.lock(), storage_named(folder, lambda: _given_up(store, plan)):
        _say_what_comes(plan, store, request, judges, progress)
        wait_s = _say_what_else_is_busy(plan, request.wait_for_quiet_s, progress)
        try:
            if not store.finished_ids() - request.again >= {key.session_id for key in plan.session_keys()}:
                asyncio.run(_refuse_absent(plan))
            weights = bring_weights(plan, _judging(plan, judges), progress, words=request.words)
        except (UserError, AgentError):
            if not request.resume:
                store.discard()
            raise
        _wait_for_quiet(wait_s, progress)
        not_played = _play(plan, store, request, weights, progress)
        summary = after_the_calls(store, request.options, progress, votes, words=request.words)
    return store, _with_unplayed(summary, not_played)


def after_the_calls(
    store: RunStore, options: Experiment, progress: RunProgress, votes: Votes, *, words: bool = True
) -> RunSummary:
    """The figures of a run whose calls are over, after what is missing has been timed, transcribed (`words`) and judged."""
    measure_missing(store, silero(), progress)
    store.set_manifest(with_validity(store))
    if words:
        transcribe_all(store, progress)
    asyncio.run(judge_run(store, RunJudging(judges=options.judges, seed=options.seed), progress))
    return summarise(store, votes(store))


def _decide(request: RunRequest) -> tuple[RunPlan, Path]:
    plan = make_plan(request.options, request.share)
    folder = request.out or default_folder(plan, request.runs_folder)
    if request.fixed is not None:
        refuse_another_plan(plan, request.fixed, plan.share.plan_file)
    return plan, folder


async def _refuse_absent(plan: RunPlan) -> None:
    """Dial the agents that are not started here, before minutes of rendering; refused if nobody could be called.

    Raises:
        AgentError: no agent of the plan can be reached; one line each.
    """
    absent = []
    for profile in plan.profiles:
        try:
            await AgentProcess(profile, {}, Path("no-log")).dial()
        except AgentFailed as error:
            absent.append(str(error))
    if len(absent) == len(plan.profiles):
        raise AgentError("\n".join(absent))


def _say_what_comes(plan: RunPlan, store: RunStore, request: RunRequest, judges: Sequence[str], progress: RunProgress) -> None:
    """Print one line with the steps and their duration, for a first-time user."""
    done = store.finished_ids() - request.again
    left = [key for key in plan.session_keys() if key.session_id not in done]
    if not left:
        return
    watch = f"To watch it: {command('view', store.folder)}"
    if not plan.is_spoken:
        after = "; then they are judged" if judges else ""
        progress.note(
            f"Steps: agents; {counted(len(left), 'written reply', 'written replies')}, each with its TTFT{after}. {watch}"
        )
        return
    calls_s = calls_last_s(plan, left) / plan.options.concurrency
    about = f" (about {calls_s:.0f} s)" if calls_s < 120 else f" (about {calls_s / 60:.0f} min)"
    judged = "transcribed and judged" if judges else "transcribed"
    after = f"; then the replies are {judged}" if request.words else ""
    progress.note(
        f"Steps: weights, the caller's voice, agents; {counted(len(left), 'call')}{about if calls_s else ''}, "
        f"each with its TTFA as it ends{after}. {watch}"
    )


def _judging(plan: RunPlan, judges: Sequence[str]) -> Sequence[str]:
    """The judges that will have something to read; none for recordings without text."""
    return judges if any(not context.timing_alone for context in plan.contexts) else ()


def asked_before(folder: Path) -> tuple[Experiment, Share]:
    """The settings with which the run in `folder` was begun.

    Raises:
        UserError: there is no run to resume.
    """
    with closing(RunStore.open(folder, to_resume=True)) as store:
        return asked_of(store.manifest)


def _open(request: RunRequest, plan: RunPlan, folder: Path, fleet: FleetEntry | None) -> RunStore:
    if not request.resume:
        refuse_without_room(plan, (), folder)
        return RunStore.create(folder, new_manifest(plan).model_copy(update={"fleet": fleet}), plan.contexts)
    store = RunStore.open(folder, to_resume=True)
    manifest = store.manifest
    if (fleet is None) != (manifest.fleet is None):
        was, today = _is_shard(manifest.fleet), _is_shard(fleet)
        raise UserError(f"--resume: {folder} was begun as {was}, and is now {today}; leave --shard as it was")
    if (
        fleet is not None
        and manifest.fleet is not None
        and (fleet.shard, fleet.of) != (manifest.fleet.shard, manifest.fleet.of)
    ):
        was, today = (f"{one.shard}/{one.of}" for one in (manifest.fleet, fleet))
        raise UserError(
            f"--shard {today}: {folder} was begun as shard {was}; continue with --shard {was}, or choose another --out"
        )
    refuse_changes(plan, manifest, store.contexts_as_played())
    planned = {key.session_id for key in plan.session_keys()}
    whole = not request.again and planned <= timed_sessions(store)
    refuse_another_version(store, whole, "install that again, or start a new run in another --out")
    if manifest.fleet is not None:
        refuse_another_plan(plan, manifest.fleet.plan, f"{folder}, a shard")
        refuse_another_machine(manifest, folder, bool(store.finished_ids()))
    refuse_without_room(plan, store.finished_ids(), folder)
    return store


def _is_shard(fleet: FleetEntry | None) -> str:
    return "a whole run" if fleet is None else f"shard {fleet.shard}/{fleet.of}"


def _given_up(store: RunStore, plan: RunPlan) -> str:
    """The message on resuming a run after a full disk; unfinished sessions are deleted to free their space."""
    store.drop_partial_folders()
    return how_to_go_on(plan, store.finished_ids(), store.folder)


def _say_what_else_is_busy(plan: RunPlan, wait_s: float | None, progress: RunProgress) -> float:
    """The longest wait for other programs before the first call, in seconds: 0 where none is busy, or nobody wants to wait.

    Asked first of all, while somebody is there to answer, and before any progress is drawn.
    """
    if not any(profile.runs_here for profile in plan.profiles):
        return 0.0
    work = other_work()
    if not work.too_much:
        return wait_s or 0.0
    progress.note(f"Busy: {work.in_words()}. They can only delay: each figure is shown with its range.")
    if wait_s is None and progress.ask(f"Wait up to {ASKED_WAIT_S / 60:.0f} minutes until they are idle?"):
        wait_s = ASKED_WAIT_S
    if wait_s is None:
        progress.note("  (--wait-for-quiet SECONDS waits until they are idle)")
    return wait_s or 0.0


def _wait_for_quiet(longest_s: float, progress: RunProgress) -> None:
    """Wait before the first call until other programs are idle; at most so long."""
    if longest_s <= 0 or not other_work().too_much:
        return
    progress.phase("Waiting for other programs to become idle")
    if not wait_until_quiet(longest_s, lambda seen: progress.status(seen.in_words())):
        progress.note(f"  they were not idle within {longest_s:.0f} s; the run continues")


def _play(
    plan: RunPlan, store: RunStore, request: RunRequest, weights: Mapping[str, Path], progress: RunProgress
) -> Sequence[Failure]:
    if store.finished_ids() - request.again >= {key.session_id for key in plan.session_keys()}:
        asyncio.run(_calibrate_alone(plan, store, progress))
        return ()
    turns = render_turns(plan, progress) if plan.is_spoken else CallerTurns(plan, {}, {}, {})
    return asyncio.run(_call(plan, store, request, turns, weights, progress))


async def _call(
    plan: RunPlan,
    store: RunStore,
    request: RunRequest,
    turns: CallerTurns,
    weights: Mapping[str, Path],
    progress: RunProgress,
) -> Sequence[Failure]:
    vocal = silero()
    callers = Callers(log_path=store.folder / "logs" / "caller.log")
    try:
        async with RunningAgents(plan.profiles, weights, store.folder / "logs", progress) as running:
            await callers.enough_for(plan.options.concurrency)
            for note in notes_on(plan.profiles):
                progress.note(note)
            player = SessionPlayer(plan, store, turns, running, callers, vocal, progress)
            watched = {**running.pids(), **callers.named}
            also = {p.name: companions_of(p).pids for p in plan.profiles if p.runs_here or p.also}
            with Telemetry(store.telemetry_file, watched, also):
                not_played = await player.play_all(request.again)
            idle, priority = running.idle_cpu_percent, callers.priority
            await calibrated(plan, store, callers.first, progress)
    except asyncio.CancelledError:
        await callers.stop(IMPATIENT_S)
        raise
    finally:
        await callers.stop()
    heard = {TRANSCRIBER} if request.words and plan.is_spoken else set()
    store.set_manifest(
        store.manifest.model_copy(
            update={
                "idle_cpu_percent": idle,
                "cards": use_of_cards(store.telemetry_file, store.manifest.machine),
                "voices": turns.voices,
                "events": _with_voices(store.manifest.events, turns.events.voices),
                "caller_priority": priority,
                "models": {name: pin_of(name) for name in sorted({*weights, *heard, *(plan.own_voices & {HIBARI})})},
            }
        )
    )
    return not_played


async def _calibrate_alone(plan: RunPlan, store: RunStore, progress: RunProgress) -> None:
    """Calibrate a resumed run that was stopped between its last call and its calibration."""
    if not store.manifest.not_calibrated:
        caller = CallerProcess(log_path=store.folder / "logs" / "caller.log")
        try:
            await calibrated(plan, store, caller, progress)
        finally:
            await caller.stop()


def _with_voices(settings: EventSettings | None, voices: Mapping[str, str]) -> EventSettings | None:
    return settings.model_copy(update={"voices": dict(voices)}) if settings is not None else None


def _with_unplayed(summary: RunSummary, not_played: Sequence[Failure]) -> RunSummary:
    told: set[str] = set()
    failures = []
    for left in not_played:
        # An agent's last log lines appear once, not with every session that it did not play.
        failures.append(left.model_copy(update={"detail": left.detail.splitlines()[0]}) if left.agent in told else left)
        told.add(left.agent)
    return summary.model_copy(update={"failures": [*summary.failures, *failures]})
