"""`harness import-replies`: a run made of replies in a file, which people and judges can then compare."""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from harness.commands.screen import AsJson
from harness.progress import RunProgress
from harness.wording import command, counted

if TYPE_CHECKING:  # the harness starts without what reads sound
    from harness.imported.replies import RepliesRead
    from harness.imported.rows import Fault

SHOWN: Final = 3
"""Rows of a kind that are named; `--json` has them all."""


def import_replies(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Replies: CSV, TSV, JSON Lines, or a list in JSON; docs/calls.md has the columns."),
    ],
    pack: Annotated[
        str,
        typer.Option(
            metavar="PACK", help="Pack of the conversations that they answer: a shipped name, a YAML file or a folder."
        ),
    ],
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="COLUMN=FIELD",
            show_default="columns by their own names",
            help="A column with another name, as in response=text; may be repeated. Fields: context, agent, text, audio, "
            "ttft_ms, ttfa_ms, family.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", show_default="a new one under runs/", help="Folder of the new run.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Make a run of replies that are in a file, for judges, people and reports. Exit code 3 if rows were left out."""
    from harness.figures.summarise import summarise
    from harness.imported.as_run import import_replies as make_run
    from harness.imported.columns import mapped
    from harness.imported.replies import read_replies
    from harness.reports.write import write_played
    from harness.scenarios.pack import load_pack

    maps = mapped(columns or ())
    conversations = load_pack(pack)
    read = read_replies(file, maps, conversations.contexts, conversations.name)
    folder = out or Path("runs") / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-replies"
    with RunProgress() as progress:
        progress.phase("Storing the replies", len(read.replies))
        made = make_run(read, file, conversations, folder, progress.count)
        progress.phase("Writing the report")
        summary = write_played(made.store, summarise(made.store))
    made.store.close()
    not_taken = (*read.not_taken, *made.without_sound)
    if as_json:
        print(json.dumps(_object(read, not_taken, folder, conversations.name, summary.report), indent=2))
    else:
        _print(read, not_taken, folder, conversations.name, len(conversations.contexts))
    return 3 if read.left_out or not_taken else 0


def _object(read: "RepliesRead", not_taken: "Sequence[Fault]", folder: Path, pack: str, page: str | None) -> dict[str, Any]:
    def listed(faults: "Sequence[Fault]") -> list[dict[str, str]]:
        return [{"where": fault.where, "kind": fault.kind, "why": fault.why} for fault in faults]

    return {
        "schema": 1,
        "run": str(folder),
        "report": page,
        "pack": pack,
        "rows": read.rows,
        "replies": len(read.replies),
        "agents": {name: sum(reply.system == name for reply in read.replies) for name in read.agents},
        "contexts": len({reply.context for reply in read.replies}),
        "unanswered": read.unanswered(),
        "left_out": listed(read.left_out),
        "not_taken": listed(not_taken),
        "notes": list(read.notes),
    }


def _print(read: "RepliesRead", not_taken: "Sequence[Fault]", folder: Path, pack: str, of_pack: int) -> None:
    contexts = len({reply.context for reply in read.replies})
    for total, faults, what in ((read.rows, read.left_out, "row"), (len(read.replies), not_taken, "latency or sound")):
        if faults:
            print(_left_out(total, faults, what))
    for name, count in read.unanswered().items():
        print(f"{name} has no reply to {count} of {counted(contexts, 'conversation')}: nobody is asked about it there.")
    if contexts < of_pack:
        without = f"{of_pack - contexts} of {counted(of_pack, 'conversation')} of {pack}"
        print(f"{without} have no reply at all, and are not in the run.")
    for note in read.notes:
        print(note)
    if len(read.agents) == 1:
        print(f"{read.agents[0]} is the only agent: it can be compared with the pack's reference replies alone.")
    print(
        f"{counted(len(read.replies), 'reply', 'replies')} of {counted(len(read.agents), 'agent')} to "
        f"{counted(contexts, 'conversation')} are the run {folder}. Next:"
    )
    print(f"  people vote:     {command('report', folder, '--vote-file', 'vote.html')}")
    print(f"  or listen:       {command('listen', folder)}")
    print(f"  a judge reads:   {command('judge', 'run', folder)}")


def _left_out(total: int, faults: "Sequence[Fault]", what: str) -> str:
    """`3 of 200 rows were left out: line 5 has no text; …`: the first of each kind, and how many more."""
    by_kind = Counter(fault.kind for fault in faults)
    first = {fault.kind: fault for fault in reversed(faults)}
    parts = []
    for kind, count in by_kind.most_common():
        more = f" (and {count - 1} more like it)" if count > 1 else ""
        parts.append(f"{first[kind].where} {first[kind].why}{more}")
    if what == "row":
        return f"{len(faults)} of {counted(total, 'row')} {'was' if len(faults) == 1 else 'were'} left out: {'; '.join(parts)}."
    return f"Of {counted(total, 'reply', 'replies')} {len(faults)} are without their {what}: {'; '.join(parts)}."
