"""`harness run`: play, time, transcribe, judge, rank, report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console

from harness.errors import AgentError, UserError
from harness.progress import RunProgress
from harness.store.disk import storage_named

if TYPE_CHECKING:
    from harness.steps.summary import RunSummary


def run(
    agent: Annotated[list[str] | None, typer.Option(help="Agent: a shipped profile or a .toml file; may be repeated.")] = None,
    pack: Annotated[str | None, typer.Option(help="Pack of contexts: a name that ships, a YAML file or a folder.")] = None,
    limit: Annotated[int | None, typer.Option(help="Play only the first N contexts.")] = None,
    mode: Annotated[str | None, typer.Option(help="seeded: the last turn is spoken. replay: every seeker turn is.")] = None,
    condition: Annotated[list[str] | None, typer.Option(help="Line condition; may be repeated.")] = None,
    repeats: Annotated[int | None, typer.Option(help="Play each session R times.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Calls at once.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of every random order.")] = None,
    barge_in: Annotated[float | None, typer.Option(help="Interrupt each reply this many ms into it.")] = None,
    events: Annotated[
        str | None, typer.Option(help="Sounds beside each reply: everyday, or a YAML file of sounds and instants.")
    ] = None,
    judge: Annotated[
        list[str] | None, typer.Option(help="Judge: a name, local:FILE.gguf, or a .toml file; may be repeated.")
    ] = None,
    wait_for_quiet: Annotated[
        float | None, typer.Option(help="Wait at most so many seconds until other programs rest; 0: do not ask.", min=0)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; by default a new one under runs/.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> int:
    """Speak contexts to agents and report how fast and how kindly they answer."""
    from harness.commands.table import print_summary
    from harness.run.phases import RunRequest, options_to_resume
    from harness.run.phases import run as run_all
    from harness.run.plan import RunOptions
    from reports.listening.results import human_rows

    named: dict[str, object] = {
        name: value
        for name, value in (
            ("agents", tuple(agent) if agent else None),
            ("pack", pack),
            ("limit", limit),
            ("mode", known_mode(mode)),
            ("conditions", tuple(condition) if condition else None),
            ("repeats", repeats),
            ("concurrency", concurrency),
            ("seed", seed),
            ("barge_in_ms", barge_in),
            ("events", events),
        )
        if value is not None
    }
    if resume and out is None:
        raise UserError("--resume: name the run's folder with --out")
    options = options_to_resume(out, named) if resume and out else RunOptions(**named)  # type: ignore[arg-type]
    request = RunRequest(
        options, out=out, resume=resume, judges=tuple(judge) if judge else ("embedded",), wait_for_quiet_s=wait_for_quiet
    )
    with RunProgress() as progress:
        store, summary = run_all(request, progress, human_rows)
        progress.phase("Writing the report")
        from reports.joint import write_joint_report

        with storage_named(store.folder, lambda: f"every session is kept; make room, then: harness report {store.folder}"):
            summary = write_joint_report([(store, summary)], store.folder).summary
            (store.folder / "summary.json").write_text(summary.to_json() + "\n", encoding="utf-8")
    if as_json:
        print(summary.to_json())
        return 3 if summary.failures else 0
    print_summary(summary, Console())
    return _outcome(summary)


def known_mode(mode: str | None) -> Literal["seeded", "replay"] | None:
    """The mode that was named; None where none was. Raises UserError: there is no such mode."""
    match mode:
        case None | "seeded" | "replay":
            return mode
    raise UserError(f"--mode {mode}: unknown; choose seeded or replay")


def _outcome(summary: "RunSummary") -> int:
    if not summary.failures:
        return 0
    if summary.cells and all(not cell.turns or cell.failed == cell.turns for cell in summary.whole):
        first = summary.failures[0]
        raise AgentError(f"no session could be finished; the first failed with {first.kind}: {first.detail}")
    return 3
