"""`harness check`: compare a run's figures with the limits of a budgets file. Exit 0 pass, 1 fail, 4 cannot tell."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console

from harness.commands.play_options import NOTHING, Named, WaitForQuiet, of_an_experiment
from harness.commands.screen import AsJson
from harness.errors import UserError
from harness.experiment import Experiment, flag
from harness.printable import printable
from harness.progress import RunProgress

if TYPE_CHECKING:
    from harness.gate.budgets import Budgets
    from harness.gate.check import CheckResult
    from harness.reports.load_versions import LoadVersions
    from harness.reports.versions import Versions
    from harness.run.phases import RunRequest
    from harness.store.run_store import RunStore
    from harness.store.selection import Selection

CODES: Final = {"pass": 0, "fail": 1, "cannot tell": 4}


@dataclass(frozen=True, slots=True)
class _UntilClear:
    """Options of a check that plays on. `judges`: none: those of the run; `wait_s`: for a quiet machine."""

    minutes: float
    judges: tuple[str, ...]
    wait_s: float | None


@of_an_experiment({"pack", "limit", "mode", "conditions", "repeats", "concurrency", "seed"})
def check(
    run: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="Folder of a run or of a load test; or name agents with --agent.")
    ] = None,
    budgets: Annotated[
        Path | None, typer.Option(metavar="FILE", show_default="none: it must be named", help="YAML file of limits.")
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROFILE", show_default="none: RUN is checked", help="Play this agent and check it; may be repeated."
        ),
    ] = None,
    named: Named = NOTHING,
    judge: Annotated[
        list[str] | None,
        typer.Option(help="Judge; may be repeated. Default: none for a run without verdicts, otherwise embedded."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", show_default="a new one under runs/", help="Folder of the new run.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the run in --out, then check it; start it if there is none.")
    ] = False,
    wait_for_quiet: WaitForQuiet = None,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="RUN", show_default="none", help="Earlier run of the same conversations, to compare with."),
    ] = None,
    until_clear: Annotated[bool, typer.Option("--until-clear", hidden=True)] = False,
    minutes: Annotated[
        float | None,
        typer.Option(
            metavar="MINUTES",
            show_default="one check",
            help="Play more until each limit passes or fails, at most this long.",
            min=0,
        ),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", show_default="not written", help="Write the verdicts as JUnit XML.")
    ] = None,
    summary: Annotated[
        Path | None, typer.Option(metavar="FILE", show_default="not written", help="Write the verdicts as Markdown.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Compare figures with limits: pass, fail or cannot tell. Exit codes: 0 pass, 1 fail, 4 cannot tell."""
    from harness.commands.check_files import junit as as_junit
    from harness.commands.check_files import refuse_unwritable, write
    from harness.commands.check_files import summary as as_markdown
    from harness.gate.budgets import read_budgets
    from harness.gate.words import sentences
    from harness.store.database import DATABASE
    from harness.store.run_store import is_load

    if budgets is None:
        raise UserError("--budgets: name the file of limits; docs/gate.md has an example")
    if resume and out is None:
        raise UserError("--resume: name the run's folder with --out")
    begun = resume and out is not None and (out / DATABASE).exists()
    if (run is None) == (not agent and not begun):
        raise UserError("check: name either the folder of a run, or agents to play with --agent")
    if until_clear and minutes is None:
        raise UserError("--until-clear: name the longest time with --minutes")
    extra = [flag(name) for name in named]
    extra += [option for option, given in (("--out", out), ("--resume", resume)) if given]
    if run is not None and minutes is None and wait_for_quiet is not None:
        extra.append("--wait-for-quiet")
    of_load = run is not None and is_load(run)
    extra += [option for option, given in (("--minutes", minutes is not None), ("--judge", judge)) if given and of_load]
    if run is not None and extra:
        raise UserError(f"{extra[0]}: has no effect on the finished run {run}; leave it out")
    for option, path in (("--junit", junit), ("--summary", summary)):
        if path is not None:
            refuse_unwritable(path, option)
    asked = read_budgets(budgets)
    if asked.needs_baseline(of_load=of_load) and baseline is None:
        raise UserError(f"--budgets {budgets}: compares with a baseline; name its run with --baseline")
    request = None
    if run is None:
        given = {**named, **({"agents": agent} if agent else {}), **({"judges": judge} if judge else {})}
        request = _request(asked, given, out, begun, wait_for_quiet)
    with RunProgress() as progress:
        if run is not None and of_load:
            result, ended, page, since = _checked_load(run, asked, baseline)
        else:
            until = None if minutes is None else _UntilClear(minutes, tuple(judge or ()), wait_for_quiet)
            result, ended, page, since = _checked(run, request, asked, baseline, until, progress)
    if junit is not None:
        write(junit, as_junit(result, page))
    if summary is not None:
        write(summary, as_markdown(result, page, ended, since).encode())
    if as_json:
        more = {"baseline": since.as_object()} if since is not None else {}
        whole = {**result.as_object(), **more, "ended": ended or None, "report": str(page) if page else None}
        print(json.dumps(whole, indent=2))
    else:
        print_check(result, [*(since.sentences if since is not None else ()), *sentences(result, ended)], page)
    return CODES[result.verdict]


def _checked_load(
    run: Path, asked: "Budgets", baseline: Path | None
) -> "tuple[CheckResult, str, Path | None, Versions | LoadVersions | None]":
    """Check a load test, and compare it with an earlier one."""
    from harness.gate.check import check_run
    from harness.reports.load_versions import load_versions
    from harness.store.run_store import RunStore

    now, before = RunStore.open(run), RunStore.open(baseline) if baseline is not None else None
    result = check_run(now, asked, baseline=before)
    since = load_versions(now, before) if before is not None else None
    pages = (page for name in ("report.html", "load.html") if (page := run / name).exists())
    return result, "", next(pages, None), since


def _checked(
    run: Path | None,
    request: "RunRequest | None",
    asked: "Budgets",
    baseline: Path | None,
    until: _UntilClear | None,
    progress: RunProgress,
) -> "tuple[CheckResult, str, Path | None, Versions | LoadVersions | None]":
    """Open or play the run, check it once or until clear, compare it with the baseline, and write its report."""
    from harness.figures.summarise import summarise
    from harness.gate.check import check_run
    from harness.gate.extend_run import Extension, play_until_clear
    from harness.reports.listening.results import human_rows
    from harness.reports.versions import versions
    from harness.reports.write import write_played
    from harness.store.run_store import RunStore
    from harness.store.selection import Selection

    before = RunStore.open(baseline) if baseline is not None else None
    before_votes = human_rows(before) if before is not None else ()
    store = RunStore.open(run) if run is not None else _played(request, asked, before, until, progress)
    if run is not None and until is None and asked.budgets_ms:
        store.read_under(asked.budgets_ms.get("ttfa"), asked.budgets_ms.get("ttft"))

    def look(at: "RunStore", number: int | None, fails_twice: bool = False) -> "CheckResult":
        progress.phase("Checking")
        return check_run(
            at, asked, votes=human_rows(at), baseline=before, baseline_votes=before_votes, look=number, fails_twice=fails_twice
        )

    ended = ""
    if until is None:
        result = look(store, None)
    else:
        judges = until.judges or _judges_of(store)
        only = None if before is None else before.manifest.context_ids
        how = Extension(
            minutes=until.minutes,
            judges=judges,
            progress=progress,
            votes=human_rows,
            only=only,
            wait_s=until.wait_s,
            words=_wants_words(store, asked, judges) if request is None else request.words,
        )
        store, result, ended = play_until_clear(store, look, how)
        ended = "" if result.verdict != "cannot tell" else ended
    page, since = store.folder / "report.html", None
    if _saved(result, asked, Selection(store, human_rows(store)), ended, may_fail=run is not None) or before is not None:
        progress.phase("Writing the report")
        now = (store, summarise(store, human_rows(store)))
        then = None if before is None else (before, summarise(before, before_votes))
        since = None if then is None else versions(now, then)
        write_played(*now, baseline=then)
    store.close()
    return result, ended, page if page.exists() else None, since


def _saved(result: "CheckResult", asked: "Budgets", selection: "Selection", ended: str, *, may_fail: bool) -> bool:
    """True if the check was written into the run's folder. A finished run may be on a disk that only reads."""
    from harness.gate.stored import store_check

    try:
        store_check(result, asked, selection, ended)
    except OSError:
        if not may_fail:
            raise
        return False
    return True


def _request(asked: "Budgets", given: Named, out: Path | None, begun: bool, wait_for_quiet: float | None) -> "RunRequest":
    from harness.run.phases import RunRequest, asked_before

    budgets = {f"budget_{name}_ms": value for name, value in asked.budgets_ms.items()}
    before = asked_before(out)[0] if begun and out is not None else Experiment()
    options = before.with_named({**given, **budgets})
    words = options.judged or asked.needs_words
    return RunRequest(options, out=out, resume=begun, wait_for_quiet_s=wait_for_quiet, words=words)


def _played(
    request: "RunRequest | None",
    asked: "Budgets",
    baseline: "RunStore | None",
    until: _UntilClear | None,
    progress: RunProgress,
) -> "RunStore":
    """Play the run, after a check that its limits apply to what will be played, and that a run of it can pass them."""
    from harness.gate.attainable import refuse_unattainable
    from harness.gate.budgets import limits_for
    from harness.gate.check import refuse_unpaired
    from harness.gate.extend_run import first_look
    from harness.reports.listening.results import human_rows
    from harness.run.phases import run as run_all
    from harness.run.plan import make_plan, new_manifest

    assert request is not None
    plan = make_plan(request.options)
    manifest = new_manifest(plan)
    limits = limits_for(asked, manifest, plan.contexts, judged=request.options.judged)
    if baseline is not None:
        refuse_unpaired(baseline, manifest, plan.contexts, limits)
    # With --minutes it goes on to the end of the pack, and its first check has a part of the error if others may follow.
    left = len(plan.pack.contexts) - len(plan.contexts)
    played, look = (plan.contexts, None) if until is None else (plan.pack.contexts, first_look(left))
    refuse_unattainable(limits, played, request.options, look)
    store, _ = run_all(request, progress, human_rows)
    return store


def _judges_of(store: "RunStore") -> tuple[str, ...]:
    """The judges of the sessions that are added: those of the run that ship, because verdicts do not name a judge's file."""
    from harness.judging.settings import load_judge_settings, shipped_judges
    from harness.store.selection import BY_EAR

    asked = {row.judge for row in store.judgments() if row.source == "judge" and row.presentation != BY_EAR}
    return tuple(name for name in shipped_judges() if load_judge_settings(name).judge_id in asked) or ("none",)


def _wants_words(store: "RunStore", asked: "Budgets", judges: tuple[str, ...]) -> bool:
    """True if replies that are added to a finished run are transcribed: its own are, or a limit or a judge needs the words."""
    from harness.store.selection import Selection

    if asked.needs_words or judges != ("none",):
        return True
    return any(session.heard_words is not None for session in Selection(store).of_the_plan)


def print_check(result: "CheckResult", lines: Sequence[str], page: Path | None) -> None:
    """Print the verdict on each limit with its figure, further lines, the page, and the verdict on all."""
    from harness.gate.words import SIGNS, reason

    console = Console(highlight=False)
    for checked in result.checked:
        console.print(f"{SIGNS[checked.verdict]}  {printable(checked.name)}", markup=False, soft_wrap=True)
        console.print(f"   {printable(reason(checked))}", markup=False, soft_wrap=True)
    for line in lines:
        console.print(printable(line), markup=False, soft_wrap=True)
    if page is not None:
        console.print(f"page    {page}", markup=False, soft_wrap=True)
    console.print(f"verdict {result.verdict}", markup=False)
