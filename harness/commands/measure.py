"""`harness measure`: calls that already happened, measured as the calls of a run are, with its page, figures and gate."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from harness.commands.remeasure import remeasure
from harness.commands.screen import AsJson, screen
from harness.errors import UserError
from harness.progress import RunProgress

if TYPE_CHECKING:  # the harness starts without what measures
    from harness.gate.budgets import Budgets
    from harness.gate.check import CheckResult


def measure(
    calls: Annotated[
        Path, typer.Argument(metavar="FILE|FOLDER", help="A recording of a call, a folder of them, or the folder of a run.")
    ],
    table: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            show_default="calls.csv beside the recordings, if there is one",
            help="Table of calls: file,caller (left or right), or caller_file,agent_file for calls in two files.",
        ),
    ] = None,
    caller: Annotated[
        Literal["left", "right"] | None,
        typer.Option(
            metavar="left|right", show_default="by the sound, where it shows", help="The caller's channel in every file."
        ),
    ] = None,
    agent: Annotated[str, typer.Option(metavar="NAME", help="Name of the agent in the figures.")] = "agent",
    words: Annotated[
        bool, typer.Option("--words", help="Transcribe the agent's replies too (English), for the first word of substance.")
    ] = False,
    budget_ttfa: Annotated[
        float | None, typer.Option(metavar="MS", show_default="500", help="TTFA budget of a turn, in ms.", min=1)
    ] = None,
    budgets: Annotated[
        Path | None, typer.Option(metavar="FILE", show_default="no gate", help="YAML file of limits, as of `harness check`.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", show_default="not written", help="Write a row for each turn as CSV.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", show_default="a new one under runs/", help="Folder of the figures and page.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue in --out, with calls that are new since; start it if there is nothing.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Measure recordings of calls, or a run anew. Exit codes: 3 if one cannot be measured; with --budgets as `check`."""
    from harness.store.database import DATABASE

    if (calls / DATABASE).is_file():
        of_calls = {"--table": table, "--caller": caller, "--words": words, "--budget-ttfa": budget_ttfa, "--budgets": budgets,
                    "--csv": csv, "--out": out, "--resume": resume}  # fmt: skip
        if (named := next((option for option, value in of_calls.items() if value), None)) is not None:
            raise UserError(f"{named}: is for recordings of calls, and {calls} is a run, which is measured anew; leave it out")
        return remeasure(calls, as_json=as_json)
    from harness.calls.as_run import CallsAsked, is_agent_name, measure_calls
    from harness.calls.recordings import find_calls
    from harness.commands.check import CODES, print_check
    from harness.commands.check_files import refuse_unwritable
    from harness.commands.table import print_summary
    from harness.figures.next_step import next_step
    from harness.figures.summarise import summarise
    from harness.gate.budgets import read_budgets
    from harness.gate.check import check_run
    from harness.gate.stored import store_check
    from harness.gate.words import sentences
    from harness.reports.listening.results import human_rows
    from harness.reports.write import write_each_turn, write_played
    from harness.store.selection import Selection

    if resume and out is None:
        raise UserError("--resume: name the folder with --out")
    if not is_agent_name(agent):
        raise UserError(f"--agent {agent!r}: is no agent's name; use letters, digits, dots, dashes and underscores")
    if csv is not None:
        refuse_unwritable(csv, "--csv")
    limits = read_budgets(budgets) if budgets is not None else None
    ttfa_ms = _budget(budget_ttfa, limits, budgets)
    ttft_ms = limits.budgets_ms.get("ttft") if limits is not None else None
    found = find_calls(calls, table, caller)
    folder = out or Path("runs") / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-calls"
    result: CheckResult | None = None
    with RunProgress() as progress:
        store = measure_calls(CallsAsked(found, calls, agent, folder, resume, ttfa_ms, ttft_ms), progress)
        if words:
            from harness.calls.words import add_words

            with store.lock():
                add_words(store, progress)
        progress.phase("Writing the report")
        if limits is not None:
            result = check_run(store, limits, votes=human_rows(store))
            store_check(result, limits, Selection(store, human_rows(store)))
        summary = write_played(store, summarise(store, human_rows(store)))
        if csv is not None:
            write_each_turn(store, summary, csv)
    store.close()
    page = Path(summary.report) if summary.report else None
    if as_json:
        whole = json.loads(summary.to_json())
        print(json.dumps(whole if result is None else {**whole, "check": result.as_object()}, indent=2))
    else:
        print_summary(summary, screen(), next_step=next_step(summary))
        if result is not None:
            print_check(result, sentences(result), page)
    if result is not None:
        return CODES[result.verdict]
    return 3 if summary.failed_sessions else 0


def _budget(named_ms: float | None, limits: "Budgets | None", file: Path | None) -> float | None:
    """The TTFA budget: of the option, or of the file of limits; None where neither names one."""
    of_file = limits.budgets_ms.get("ttfa") if limits is not None else None
    if named_ms is not None and of_file is not None and named_ms != of_file:
        raise UserError(f"--budget-ttfa {named_ms:g}: {file} has {of_file:g} ms; leave one of the two out")
    return named_ms if named_ms is not None else of_file
