"""`harness known`: agents and recordings of known behaviour, and other tools' figures held against their truth."""

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from harness.commands.screen import AsJson
from harness.errors import UserError

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
    if not host or not port.isdigit():
        raise UserError(f"--at {at}: is no address; write HOST:PORT, as in 127.0.0.1:8765")
    calls = Calls(named(behaviour, delay), seed, sys.stdout if as_json else None, truth)

    def ready(url: str) -> None:
        if as_json:
            print(json.dumps({"event": "ready", "url": url}), flush=True)
        else:
            print(
                f"{url} takes calls as “{behaviour}”; Ctrl-C ends it. To choose another for a call: its name as the path.",
                flush=True,
            )

    async def until_stopped() -> None:
        serving = asyncio.ensure_future(server_of(wire)(wire, calls, host, int(port), ready))
        for each in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(each, serving.cancel)
        try:
            await serving
        except asyncio.CancelledError:
            calls.end_all()

    with asyncio.Runner(loop_factory=precise_loop) as runner:
        runner.run(until_stopped())
