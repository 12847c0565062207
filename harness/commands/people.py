"""`harness people`: people in the caller's seat and in the supporter's, and everything of one person removed."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands import door_options as given
from harness.errors import UserError
from harness.progress import RunProgress
from harness.wording import command

if TYPE_CHECKING:
    from harness.people.records import SeatStore
    from harness.people.supporter.conversations import Conversations
    from harness.store.run_store import RunStore

app = typer.Typer(
    no_args_is_help=True, help="Let people sit in both seats: record callers, or answer the callers of a run aloud."
)

_REHEARSAL = Annotated[
    bool,
    typer.Option("--rehearsal", help="Programs sit there, or people try it out: nothing counts as a person's."),
]


@app.command("record")
def record(
    pack: Annotated[
        str | None,
        typer.Option(
            metavar="PACK", show_default="free topics alone", help="Pack whose turns are retold in the callers' own words."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of the recordings, and of the pack that is made of them.")
    ] = Path("people"),
    turns: Annotated[int, typer.Option(help="Recordings asked of each caller.", min=1, max=100)] = 12,
    callers: Annotated[int, typer.Option(help="With --public: number of links.", min=0, max=10_000)] = 10,
    host: given.Host = None,
    port: given.Port = 8_177,
    public: given.Public = False,
    url: given.Url = None,
    tls_cert: given.TlsCert = None,
    tls_key: given.TlsKey = None,
    proxy: given.Proxy = None,
    expires: given.Expires = "30d",
    revoke: given.Revoke = None,
    links: given.Links = False,
    rehearsal: _REHEARSAL = False,
    make_pack: Annotated[
        bool, typer.Option("--make-pack", help="Only make the pack of what has been recorded; serve nothing.")
    ] = False,
) -> None:
    """Record people as callers until Ctrl-C; then make a pack of their recordings."""
    from harness.people.caller.prompts import prompts_of
    from harness.people.caller.seat import CallerSeat
    from harness.people.caller.take_in import write_packs
    from harness.people.records import SeatStore
    from harness.people.serve import opened_records, serve
    from harness.people.withdraw import withdraw_on_page
    from harness.reports.listening.door import door, lifetime_s
    from harness.reports.listening.invitations import NewLinks
    from harness.scenarios.pack import load_pack

    reached = door(host=host, port=port, public=public, url=url, certificate=tls_cert, key=tls_key, proxies=tuple(proxy or ()))
    works_s = lifetime_s(expires)
    with RunProgress() as progress:
        if _links_alone(out, revoke, links, progress):
            return
        if pack is not None and not make_pack:
            # Before anything is written, because a pack may be misspelt.
            progress.note(f"{pack}: {prompts_of(load_pack(pack)).in_words()}")
        with closing(opened_records(out) if make_pack else SeatStore(out)) as records:
            if not make_pack:
                _end_withdrawals(out, records, progress)
                seat = CallerSeat(records, pack, turns)
                serve(
                    records,
                    seat,
                    reached,
                    lambda person: withdraw_on_page(out, records, person),
                    people=NewLinks(callers, lifetime_s=works_s),
                    rehearsal=rehearsal,
                    announce=progress.note,
                )
            for sentence in write_packs(records, out, progress.phase):
                progress.note(sentence)


def _links_alone(folder: Path, revoke: str | None, links: bool, progress: RunProgress) -> bool:
    """True if only links were asked for: they are ended or listed, and nothing is served."""
    from harness.people.serve import end_links, links_shown

    if revoke is not None:
        progress.note(f"Links ended: {end_links(folder, revoke)}")
    elif links:
        for line in links_shown(folder):
            typer.echo(line)
    return revoke is not None or links


@app.command("answer")
def answer(
    run: Annotated[Path, typer.Argument(help="Folder of a run in seeded mode.")],
    supporters: Annotated[int, typer.Option(help="With --public: number of links.", min=0, max=10_000)] = 12,
    host: given.Host = None,
    port: given.Port = 8_177,
    public: given.Public = False,
    url: given.Url = None,
    tls_cert: given.TlsCert = None,
    tls_key: given.TlsKey = None,
    proxy: given.Proxy = None,
    expires: given.Expires = "30d",
    revoke: given.Revoke = None,
    links: given.Links = False,
    rehearsal: _REHEARSAL = False,
    take_in: Annotated[
        bool, typer.Option("--take-in", help="Only add the answers that are kept to the run; serve nothing.")
    ] = False,
) -> None:
    """Let people answer the callers of a run aloud until Ctrl-C; then add their answers to the run."""
    from harness.people.records import SeatStore
    from harness.people.serve import opened_records, serve
    from harness.people.supporter.conversations import Conversations
    from harness.people.supporter.seat import SupporterSeat
    from harness.people.withdraw import FOLDER, withdraw_on_page
    from harness.reports.listening.door import door, lifetime_s
    from harness.reports.listening.invitations import NewLinks
    from harness.store.run_store import RunStore

    reached = door(host=host, port=port, public=public, url=url, certificate=tls_cert, key=tls_key, proxies=tuple(proxy or ()))
    works_s = lifetime_s(expires)
    with RunProgress() as progress:
        store = RunStore.open(run)
        folder = store.folder / FOLDER
        if _links_alone(folder, revoke, links, progress):
            return
        conversations = Conversations(store)
        with closing(opened_records(folder) if take_in else SeatStore(folder)) as records:
            if not take_in:
                _end_withdrawals(store.folder, records, progress)
                serve(
                    records,
                    SupporterSeat(records, conversations),
                    reached,
                    lambda person: withdraw_on_page(store.folder, records, person),
                    people=NewLinks(supporters, lifetime_s=works_s),
                    rehearsal=rehearsal,
                    announce=progress.note,
                )
            _take_in(store, records, conversations, progress)


def _end_withdrawals(folder: Path, records: "SeatStore", progress: RunProgress) -> None:
    """End the withdrawals that a kill or a busy run cut short; what cannot be ended now does not stop the seat."""
    from harness.people.withdraw import end_withdrawals

    try:
        end_withdrawals(folder, records, wait=False)
    except UserError as fault:
        progress.note(str(fault))
    for person in records.leaving():
        progress.note(_not_yet(person, folder))


def _not_yet(person: str, folder: Path) -> str:
    return f"{person} has withdrawn, and is not removed everywhere yet: {command('people', 'withdraw', person, folder)}"


def _take_in(store: "RunStore", records: "SeatStore", conversations: "Conversations", progress: RunProgress) -> None:
    from harness.people.supporter.replies import left_out
    from harness.people.supporter.take_in import take_in

    for sentence in left_out(records, conversations):
        progress.note(sentence)
    added = take_in(store, records, conversations, progress)
    if added:
        progress.note(
            f"{added} answers are in the run; to judge and show them: {command('judge', 'run', store.folder)}, "
            f"then {command('report', store.folder)}"
        )


@app.command("withdraw")
def withdraw(
    person: Annotated[str, typer.Argument(help="Pseudonym of the person, as on their page.")],
    folder: Annotated[Path, typer.Argument(help="Folder of a run, or of callers' recordings.")],
) -> None:
    """Remove everything of one person: recordings, their place in the run or pack, and verdicts and votes on them."""
    from harness.people.withdraw import withdraw_everywhere

    with RunProgress() as progress:
        progress.note(withdraw_everywhere(folder, person))


@app.command("list")
def list_people(
    folder: Annotated[Path, typer.Argument(help="Folder of a run, or of callers' recordings.")],
) -> None:
    """List the people who sat there, by pseudonym, with what each recorded."""
    from harness.people.serve import opened_records
    from harness.people.withdraw import records_folder

    with closing(opened_records(records_folder(folder))) as records:
        for person in records.people():
            takes = [take for take in records.takes(person.id) if take.kind != "calibration"]
            counts = ", ".join(f"{sum(t.state == state for t in takes)} {state}" for state in ("kept", "discarded"))
            undecided = sum(take.state in ("open", "ended") for take in takes)
            typer.echo(
                f"{person.id}  {'automatic' if person.automatic else 'person'}  {person.seat}  {counts}"
                + (f", {undecided} not decided" if undecided else "")
            )
        for name in records.leaving():
            typer.echo(_not_yet(name, folder))
        if records.withdrawn:
            typer.echo(f"withdrawn: {records.withdrawn}")
