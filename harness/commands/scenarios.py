"""`harness scenarios`: the packs that ship, and what is in one."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.errors import UserError
from scenarios.pack import Pack, PackError, load_pack, shipped_packs

app = typer.Typer(no_args_is_help=True, help="List, show, check and build packs of contexts.")


@app.command("list")
def list_packs() -> None:
    """List the packs that ship."""
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


def _load(name: str) -> Pack:
    try:
        return load_pack(name)
    except PackError as error:
        raise UserError(str(error)) from error
