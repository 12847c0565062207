"""`harness scenarios`: the packs that ship, what is in one, whether it holds up, and building one from ESConv."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.errors import AgentError, UserError
from harness.progress import RunProgress
from scenarios.pack import Pack, PackError, load_pack, shipped_packs

if TYPE_CHECKING:
    from harness.pack_acoustics import PackAcoustics

app = typer.Typer(no_args_is_help=True, help="List, show, check and build packs of contexts.")


@app.command("list")
def list_packs(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """List the packs that ship."""
    if as_json:
        from scenarios.check import list_packs as rows_of

        print(json.dumps({"schema": 1, "packs": list(rows_of(_load(name) for name in shipped_packs()))}, indent=2))
        return
    table = Table("pack", "contexts", "regular", "adversarial", box=None, pad_edge=False)
    for name in shipped_packs():
        pack = _load(name)
        regular = sum(c.subset == "regular" for c in pack.contexts)
        table.add_row(name, str(len(pack.contexts)), str(regular), str(len(pack.contexts) - regular))
    Console().print(table)


@app.command("show")
def show(
    pack: Annotated[str, typer.Argument(help="A pack that ships, a YAML file or a folder.")],
    context: Annotated[str | None, typer.Argument(help="One context by id; all in brief when left out.")] = None,
) -> None:
    """Show a pack's contexts, or one conversation in full."""
    loaded = _load(pack)
    console = Console()
    if context is None:
        table = Table("context", "subset", "emotion", "problem", "turns", box=None, pad_edge=False)
        for c in loaded.contexts:
            table.add_row(c.id, c.subset, c.emotion, c.problem, str(len(c.turns)))
        console.print(table)
        return
    found = next((c for c in loaded.contexts if c.id == context), None)
    if found is None:
        raise UserError(f"{pack}: has no context {context}; `harness scenarios show {pack}` lists them")
    for turn in found.turns:
        console.print(Text(f"{turn.role}: ", style="bold") + Text(turn.text))
    for reference in found.references:
        console.print(Text(f"\nreference {reference.id} ({reference.author}): ", style="dim") + Text(reference.text))


@app.command("check")
def check(
    pack: Annotated[str, typer.Argument(help="A pack that ships, a YAML file or a folder.")],
    listen: Annotated[
        bool, typer.Option("--listen", help="Also render, transcribe and measure every spoken turn (minutes).")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> int:
    """Count a pack and hold it to the screens; exit 1 when something is wrong with it."""
    from scenarios.check import check_pack

    loaded = _load(pack)
    report = check_pack(loaded)
    heard = _listen_to(loaded) if listen else None
    problems = [*report.problems, *(heard.problems() if heard else ())]
    counts = report.as_json()
    if as_json:
        print(
            json.dumps({**counts, "problems": problems, **({"acoustics": heard.as_json()} if heard else {})}, indent=2)
        )
    else:
        print(f"{counts['items']} contexts: {counts['regular']} regular, {counts['adversarial']} adversarial")
        if heard:
            print(f"{heard.wer:.1%} of the callers' words not understood by the harness's own transcriber")
            for told in heard.emotions:
                print(f"{told.emotion}: {len(told.as_expected)} of 5 measures differ from neutral as expected")
        for problem in problems:
            print(problem)
        print(f"{len(problems)} problem(s)")
    return 1 if problems else 0


def _listen_to(pack: Pack) -> "PackAcoustics":
    from audio.transcribe import Transcriber, TranscriberError
    from harness import models
    from harness.hearing import TRANSCRIBER
    from harness.pack_acoustics import measure_pack
    from harness.voices import open_voices

    try:
        transcriber = Transcriber(models.resolve(TRANSCRIBER))
    except TranscriberError as error:
        raise UserError(str(error)) from error
    with RunProgress() as progress:
        return measure_pack(pack, open_voices(pack), transcriber, progress.phase, progress.step)


@app.command("build")
def build(
    source: Annotated[str, typer.Argument(help="What to build from: esconv.")],
    path: Annotated[Path, typer.Argument(help="ESConv.json, or the folder with its JSON Lines splits.")],
    out: Annotated[Path, typer.Option(help="Folder for the pack, its report and the list of removals.")],
    seed: Annotated[int, typer.Option(help="Seed of every choice.")] = 0,
    regular: Annotated[int, typer.Option(help="How many regular items.")] = 280,
    llm: Annotated[
        str | None, typer.Option(help="OpenAI-compatible endpoint for the second screen and rewriting.")
    ] = None,
    model: Annotated[str, typer.Option(help="The endpoint's model.")] = "default",
    key_env: Annotated[str | None, typer.Option(help="Environment variable that holds the endpoint's key.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Build the paper's set from ESConv, as you have it."""
    from scenarios.esconv import EsconvError, build_to
    from scenarios.llm import LlmError, endpoint

    if source != "esconv":
        raise UserError(f"{source}: cannot be built from; there is: esconv")
    if regular < 1:
        raise UserError(f"--regular {regular}: must be at least 1")
    key = os.environ.get(key_env) if key_env else "none"
    if key is None:
        raise UserError(f"--key-env {key_env}: that environment variable is not set")
    try:
        complete = endpoint(llm, model, api_key=key) if llm else None
        written, report = build_to(path, out, regular=regular, seed=seed, complete=complete)
    except EsconvError as error:
        raise UserError(str(error)) from error
    except LlmError as error:
        raise AgentError(str(error)) from error
    if as_json:
        print(json.dumps(report, indent=2))
        return
    print(f"{report['items']} contexts: {report['regular']} regular, {report['adversarial']} adversarial, in {written}")
    for reason, count in sorted(report["removed"].items()):
        print(f"removed {count}: {reason}")
    for problem in report["problems"]:
        print(problem)


@app.command("import")
def import_contexts(
    kind: Annotated[str, typer.Argument(help="What to read: jsonl, or pipecat (its eval scenarios).")],
    path: Annotated[Path, typer.Argument(help="The JSON Lines file, or the scenario YAML.")],
    out: Annotated[Path, typer.Option(help="The pack file to write; it must not exist yet.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Make a pack of conversations that others hold, and name what could not be carried over."""
    from scenarios.imports import ImportFault, import_jsonl, import_pipecat_eval, write_imported

    readers = {"jsonl": import_jsonl, "pipecat": import_pipecat_eval}
    if kind not in readers:
        raise UserError(f"{kind}: cannot be imported; there are: {', '.join(readers)}")
    try:
        imported = readers[kind](path)
        written = write_imported(imported, out)
    except ImportFault as error:
        raise UserError(str(error)) from error
    if as_json:
        found = {"schema": 1, "pack": str(written), "items": len(imported.contexts)}
        print(json.dumps({**found, "not_carried": list(imported.not_carried)}, indent=2))
        return
    for what in imported.not_carried:
        print(what)
    print(f"{len(imported.contexts)} contexts in {written}")


def _load(name: str) -> Pack:
    try:
        return load_pack(name)
    except PackError as error:
        raise UserError(str(error)) from error
