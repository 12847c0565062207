"""`harness run`: play, time, transcribe, judge, rank and report. A shard ends after the first three steps."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.agents.profile import load_profile
from harness.commands import play_options as asked
from harness.commands.at_address import Kind, SaveProfile, Url, agent_named, saved
from harness.commands.opening import Open, open_page
from harness.commands.plan import plan_only
from harness.commands.screen import AsJson, Verbose, screen
from harness.errors import AgentError, UserError
from harness.experiment import FREE, NO_JUDGE, Experiment, flag
from harness.progress import RunProgress

if TYPE_CHECKING:
    from harness.figures.summary import RunSummary
    from harness.run.phases import RunRequest


@asked.of_an_experiment()
def run(
    named: asked.Named,
    url: Url = None,
    kind: Kind = None,
    save_profile: SaveProfile = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default="the other options",
            help="Play the plan in this file (see --write-plan).",
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            show_default="the whole run",
            help="Play only the I-th of N equal parts, as in 2/4.",
        ),
    ] = None,
    ray: asked.Ray = None,
    ray_worker: asked.RayWorker = None,
    elsewhere: Annotated[
        Path | None,
        typer.Option(
            show_default="none", hidden=True, help="With --shard: file of ids of sessions stored elsewhere, one per line."
        ),
    ] = None,
    wait_for_quiet: asked.WaitForQuiet = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", show_default="a new one under runs/", help="Folder of the run; default: a new one under runs/."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the run in --out; with --plan start it if there is none.")
    ] = False,
    write_plan: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default="none",
            help="Play nothing: fix what is played (seeds, hashes, versions, weights) in this file, for many machines.",
        ),
    ] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Play nothing: print the hours, cores, judge calls and money that the run takes.")
    ] = False,
    agent_count: Annotated[
        int | None,
        typer.Option(hidden=True, help="With --estimate: as many agents, like those that are named.", min=1),
    ] = None,
    open_: Open = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> int:
    """Call agents, speak contexts to them, and report how fast and how kindly they answer."""
    from harness.commands.table import print_summary
    from harness.figures.next_step import next_step
    from harness.reports.listening.results import human_rows
    from harness.reports.write import write_played
    from harness.run.phases import run as run_all
    from harness.verdicts.judge import no_judge_left

    if url is not None and plan is not None:
        raise UserError("--url: the agents are already set by the plan; leave it out, or leave out --plan")
    named = _with_address(named, url, kind, save_profile, quietly=as_json)
    if write_plan is not None or estimate or agent_count is not None:
        of_a_run = {"--plan": plan, "--shard": shard, "--ray": ray, "--out": out, "--resume": resume}
        plan_only(named, write_plan, agent_count, estimate=estimate, of_a_run=of_a_run, as_json=as_json)
        return 0
    where = asked.on_cluster(ray, ray_worker)
    if where is not None and shard is not None:
        raise UserError(f"--shard {shard}: with --ray every shard is played; leave one of the two out")
    request = _request(named, plan, shard, out, resume, wait_for_quiet, on_cluster=where is not None)
    if elsewhere is not None:
        kept = frozenset(elsewhere.read_text(encoding="utf-8").splitlines())
        request = replace(request, share=replace(request.share, elsewhere=kept))
    with RunProgress() as progress:
        if where is not None:
            from harness.fleet.run import run_on_cluster

            store, summary = run_on_cluster(request, where, progress, human_rows)
        else:
            store, summary = run_all(request, progress, human_rows)
        if request.share.shard is None:
            progress.phase("Writing the report")
        unheard = no_judge_left(store, request.options.judges)
        summary = write_played(store, summary, page=request.share.shard is None)
    if open_ and summary.report:
        open_page(Path(summary.report))
    if as_json:
        print(summary.to_json())
        return 3 if summary.failed_sessions or unheard else 0
    then = next_step(summary) if request.share.shard is None else "harness merge SHARD… --out RUN"
    print_summary(summary, screen(), verbose=verbose, next_step=then)
    return _outcome(summary) or (3 if unheard else 0)


def _with_address(
    named: asked.Named, url: str | None, kind: str | None, save_profile: Path | None, *, quietly: bool
) -> asked.Named:
    """The named settings with the agent at the address among the agents: the only one where no other is named."""
    if url is None:
        for option, value in (("--kind", kind), ("--save-profile", save_profile)):
            if value is not None:
                raise UserError(f"{option} {value}: is for an agent at an address; add --url, or leave it out")
        return named
    address = agent_named(url, kind, "--url")
    agent = saved(address, save_profile, quietly=quietly) if save_profile is not None else address
    others = named.get("agents", ())
    assert isinstance(others, list | tuple)
    named = {**named, "agents": [*others, str(agent)]}
    if "mode" in named or load_profile(str(agent)).accepts_a_history:
        return named
    print("The agent takes no history, so every turn is spoken to it (--mode replay).", file=sys.stderr)
    return {**named, "mode": "replay"}


def _request(
    named: asked.Named,
    plan: Path | None,
    shard: str | None,
    out: Path | None,
    resume: bool,
    wait_for_quiet: float | None,
    *,
    on_cluster: bool = False,
) -> "RunRequest":
    """The plan of the run. Raises UserError if options contradict each other or the plan's file is not one."""
    from harness.run.fixed_plan import read_plan
    from harness.run.phases import RunRequest, asked_before
    from harness.shards.split import Share, parse_shard
    from harness.store.database import DATABASE

    if resume and out is None:
        raise UserError("--resume: name the run's folder with --out")
    settled = next((flag(name) for name in named if name not in FREE), None)
    if plan is not None and settled is not None:
        raise UserError(f"{settled}: already set by the plan; leave it out, or leave out --plan")
    fixed = read_plan(plan) if plan is not None else None
    share = Share(parse_shard(shard) if shard is not None else None, str(plan or ""))
    resume = resume and (fixed is None or (out is not None and (out / DATABASE).exists()))
    began = Experiment()
    if fixed is not None:
        began = fixed.experiment
    elif resume and out is not None and on_cluster:
        from harness.fleet.run import asked_of_gathered

        if settled is not None:
            raise UserError(f"--resume: {settled} is already set by the run in {out}; leave it out")
        began = asked_of_gathered(out)
    elif resume and out is not None:
        began, share_before = asked_before(out)
        share = replace(share_before, shard=share.shard or share_before.shard)
    experiment = began.with_named({"judges": (NO_JUDGE,) if share.shard else Experiment().judges, **named})
    if share.shard is not None and experiment.judges != (NO_JUDGE,):
        raise UserError(f"--judge {experiment.judges[0]}: a shard is judged after it is merged with the others; leave it out")
    return RunRequest(experiment, share, out=out, resume=resume, fixed=fixed, wait_for_quiet_s=wait_for_quiet)


def _outcome(summary: "RunSummary") -> int:
    if not summary.failed_sessions:
        return 0
    if summary.cells and all(not cell.turns or cell.failed == cell.turns for cell in summary.whole):
        first = summary.failed_sessions[0]
        raise AgentError(f"no session could be finished; the first failed with {first.kind}: {first.detail}")
    return 3
