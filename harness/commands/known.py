"""`harness known`: agents and recordings of known behaviour, and other tools' figures compared with their truth."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from harness.commands.screen import AsJson, print_table, screen, words_table
from harness.errors import UserError
from harness.progress import RunProgress

app = typer.Typer(no_args_is_help=True, help="Known agents and calls, against which any tool's figures can be checked.")


@app.command("serve")
def serve(
    wire: Annotated[str, typer.Option(metavar="WIRE", help="Wire on which it takes calls.")] = "raw-pcm",
    behaviour: Annotated[
        str, typer.Option(metavar="NAME", help="Behaviour of calls whose address names none; `list` prints all.")
    ] = "fixed",
    delay: Annotated[
        float | None,
        typer.Option(metavar="MS", show_default="the behaviour's own", help="Delay of its answer, in ms.", min=100),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of its voices.")] = 0,
    at: Annotated[str, typer.Option(metavar="HOST:PORT", help="Address to listen at; port 0: a free one.")] = "127.0.0.1:0",
    truth: Annotated[
        Path | None, typer.Option(metavar="CSV", show_default="not written", help="Write the true figures of every turn.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take calls as an agent of known behaviour until stopped. With --json, each event is a line on the monotonic clock."""
    from harness.caller.pacer import precise_loop
    from harness.caller.server import raise_priority
    from harness.commands.check_files import refuse_unwritable
    from harness.known.behaviours import BEHAVIOURS
    from harness.known.server import Calls, named
    from harness.known.wires import WIRES, server_of
    from harness.nearest import or_one_of

    if behaviour == "list":
        for each in BEHAVIOURS.values():
            print(f"{each.name:16} {each.definition}")
        return
    if wire not in WIRES:
        raise UserError(f"--wire {wire}: is none{or_one_of(wire, WIRES)}")
    host, _, port = at.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise UserError(f"--at {at}: is no address; write HOST:PORT, as in 127.0.0.1:8765")
    if truth is not None:
        refuse_unwritable(truth, "--truth")
    calls = Calls(named(behaviour, delay), seed, sys.stdout if as_json else None, truth)
    try:
        take_calls = server_of(wire)
    except ImportError as error:
        from harness.installation import install_command

        raise UserError(
            f"--wire {wire} needs the extra '{wire}' (missing: {error.name}); install it with: {install_command(wire)}"
        ) from error
    listens = False

    def ready(url: str) -> None:
        nonlocal listens
        listens = True
        # A ruler goes before what it measures: a stamp that waits for the processor is wrong.
        raise_priority()
        calls.listening()
        words = f"{url} takes calls as “{behaviour}”, or as the path (SIP: the user) of a call names another; Ctrl-C ends it."
        print(json.dumps({"event": "ready", "url": url}) if as_json else words, flush=True)

    async def until_stopped() -> None:
        serving = asyncio.ensure_future(take_calls(wire, calls, host, int(port), ready))
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(each, serving.cancel)
        try:
            await serving
        except asyncio.CancelledError:
            calls.end_all()
        except OSError as error:
            if listens:
                raise
            code = error.errno or 0  # an address that is not found has a code below 0
            why = os.strerror(code) if code > 0 else error.strerror
            raise UserError(f"--at {at}: cannot be listened at ({why}); name another, or port 0") from error

    with asyncio.Runner(loop_factory=precise_loop) as runner:
        runner.run(until_stopped())


@app.command("calls")
def calls(
    out: Annotated[Path, typer.Option(metavar="DIR", help="New folder for the recordings and their truth.csv.")],
    seed: Annotated[int, typer.Option(help="Seed of voices, conditions and times.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Write stereo recordings (caller left, agent right) of known behaviours, and the true figures of every turn."""
    from harness.known.calls import planned, write_calls

    if seed < 0:
        raise UserError(f"--seed {seed}: must be 0 or more")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"--out {out}: has files already; name a new folder")
    with RunProgress() as progress:
        progress.phase("Writing calls", len(planned(seed)))
        count = write_calls(out, seed, progress.step)
    truth = out / "truth.csv"
    if as_json:
        print(json.dumps({"schema": 1, "calls": count, "folder": str(out), "truth": str(truth), "seed": seed}, indent=2))
    else:
        print(f"{count} calls in {out}; true figures: {truth}")


@app.command("score")
def score(
    theirs: Annotated[
        Path,
        typer.Argument(help="Their figures: a CSV of call,turn,figure,ms; a tool's own output; a folder of these; or a run."),
    ],
    truth: Annotated[Path, typer.Option(metavar="CSV", help="The true figures.")] = Path("truth.csv"),
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", show_default="not drawn", help="Draw every error, as .svg or .png.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare a tool's figures with the true ones: errors by behaviour, and what is missing or invented."""
    from harness.commands.turn_taking import refuse_picture
    from harness.known.formats import read_theirs
    from harness.known.score import HEAD
    from harness.known.score import score as scored
    from harness.known.truth import read_truth

    if picture is not None:
        refuse_picture(picture)
    found = scored(read_truth(truth), read_theirs(theirs))
    if picture is not None:
        from harness.known.picture import draw

        draw(found, theirs.stem, picture)
    if as_json:
        print(json.dumps(found.as_object(), indent=2))
        return
    console = screen()
    for figure in dict.fromkeys(row.figure for row in found.rows):
        table = words_table(figure, HEAD)
        rows = [row.cells for row in found.rows if row.figure == figure]
        for cells in rows:
            table.add_row(*map(Text, cells))
        print_table(console, table, [cells[0] for cells in rows])
        console.print()
    for sentence in found.notes:
        console.print(sentence, soft_wrap=True, markup=False, highlight=False)
