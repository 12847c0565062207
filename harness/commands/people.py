"""`harness people`: people in the caller's seat and in the supporter's, their links, and everything of one person removed."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.address_options import AddressOptions, with_address
from harness.commands.study_option import StudyFile
from harness.errors import UserError
from harness.printable import printable
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
_FOLDER = Annotated[Path, typer.Argument(help="Folder of a run, or of callers' recordings.")]


@app.command("record")
@with_address
def record(
    at: AddressOptions,
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
    study: StudyFile = None,
    rehearsal: _REHEARSAL = False,
) -> None:
    """Record people as callers until Ctrl-C; then make a pack of their recordings."""
    from harness.people.caller.prompts import prompts_of
    from harness.people.caller.seat import CallerSeat
    from harness.people.caller.take_in import write_packs
    from harness.people.records import SeatStore
    from harness.people.serve import serve
    from harness.people.withdraw import withdraw_on_page
    from harness.scenarios.pack import load_pack
    from harness.study.read import read_study

    address, lifetime_s = at.checked()
    asked = read_study(study)
    with RunProgress() as progress:
        if pack is not None:
            # Before anything is written, because a pack may be misspelt.
            progress.note(f"{pack}: {prompts_of(load_pack(pack)).in_words()}")
        with closing(SeatStore(out)) as records:
            _end_withdrawals(out, records, progress)
            serve(
                records,
                CallerSeat(records, pack, turns, asked),
                address,
                lambda person: withdraw_on_page(out, records, person),
                people=callers,
                lifetime_s=lifetime_s,
                rehearsal=rehearsal,
                announce=progress.note,
            )
            for sentence in write_packs(records, out, progress.phase):
                progress.note(sentence)


@app.command("answer")
@with_address
def answer(
    run: Annotated[Path, typer.Argument(help="Folder of a run in seeded mode.")],
    at: AddressOptions,
    supporters: Annotated[int, typer.Option(help="With --public: number of links.", min=0, max=10_000)] = 12,
    study: StudyFile = None,
    rehearsal: _REHEARSAL = False,
) -> None:
    """Let people answer the callers of a run aloud until Ctrl-C; then add their answers to the run."""
    from harness.people.records import SeatStore
    from harness.people.serve import serve
    from harness.people.supporter.conversations import Conversations
    from harness.people.supporter.seat import SupporterSeat
    from harness.people.withdraw import FOLDER, withdraw_on_page
    from harness.store.run_store import RunStore
    from harness.study.read import read_study

    address, lifetime_s = at.checked()
    asked = read_study(study)
    with RunProgress() as progress:
        store = RunStore.open(run)
        conversations = Conversations(store)
        with closing(SeatStore(store.folder / FOLDER)) as records:
            _end_withdrawals(store.folder, records, progress)
            serve(
                records,
                SupporterSeat(records, conversations, asked),
                address,
                lambda person: withdraw_on_page(store.folder, records, person),
                people=supporters,
                lifetime_s=lifetime_s,
                rehearsal=rehearsal,
                announce=progress.note,
            )
            _take_in_answers(store, records, conversations, progress)


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


@app.command("take-in")
def take_in(folder: _FOLDER) -> None:
    """Add what people said to the run, or make the pack of callers' recordings, as its server does at its end."""
    from harness.people.caller.take_in import write_packs
    from harness.people.serve import opened_records
    from harness.people.supporter.conversations import Conversations
    from harness.people.withdraw import records_folder
    from harness.store.run_store import RunStore

    where = records_folder(folder)
    with RunProgress() as progress:
        if where == folder:
            with closing(opened_records(folder)) as records:
                for sentence in write_packs(records, folder, progress.phase):
                    progress.note(sentence)
            return
        with closing(RunStore.open(folder)) as store:
            take_in_contributions(store, progress)
            if where.exists():
                with closing(opened_records(where)) as records:
                    _take_in_answers(store, records, Conversations(store), progress)


def _take_in_answers(store: "RunStore", records: "SeatStore", conversations: "Conversations", progress: RunProgress) -> None:
    """Add the supporters' answers that are kept to the run."""
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


def take_in_contributions(store: "RunStore", progress: RunProgress) -> None:
    """Add the replies that a listening test collected as references for judges; spoken ones are transcribed as agents' are."""
    from harness import models
    from harness.measuring.transcribe import TRANSCRIBER, Transcribe
    from harness.reports.listening.people import take_in, untranscribed

    transcribe: Transcribe | None = None
    if waiting := untranscribed(store):
        try:
            from harness.audio.transcribe import Transcriber

            progress.phase(f"Transcribing people's spoken replies ({waiting})")
            transcribe = Transcriber(models.resolve(TRANSCRIBER)).transcribe
        except UserError as error:
            progress.note(f"{waiting} spoken replies have no words yet: {error}")
    count = take_in(store, transcribe)
    if transcribe is not None and (mute := untranscribed(store)):
        progress.note(f"{mute} spoken replies have no words: the transcriber heard none.")
    if count:
        judge = command("judge", "run", store.folder)
        progress.note(f"{count} replies by people are references of this run; to judge them: {judge}")


@app.command("withdraw")
def withdraw(
    person: Annotated[str, typer.Argument(help="Pseudonym of the person, as on their page, or id of a rater.")],
    folder: _FOLDER,
) -> None:
    """Remove everything of one person: recordings, their place in the run or pack, and verdicts and votes on them."""
    from harness.people.withdraw import withdraw_everywhere

    with RunProgress() as progress:
        progress.note(withdraw_everywhere(folder, person))


@app.command("list")
def list_people(
    folder: _FOLDER,
    end_link: Annotated[
        str | None, typer.Option(metavar="ID|all", show_default="none", help="Only end the link with this id, or all.")
    ] = None,
) -> None:
    """List the people who sat there, by pseudonym, with what each recorded, and the ids of the links that were given out."""
    from harness.people.serve import links_of, opened_records
    from harness.people.withdraw import records_folder
    from harness.reports.invited.links import end_links, list_links

    if end_link is not None:
        with RunProgress() as progress:
            progress.note(f"Links ended: {end_links(links_of(folder), end_link, folder)}")
        return
    links = list_links(links_of(folder))
    where = records_folder(folder)
    if where == folder or where.exists():
        with closing(opened_records(where)) as records:
            said = records.participants.every()
            for person in records.people():
                takes = [take for take in records.takes(person.id) if take.kind != "calibration"]
                counts = ", ".join(f"{sum(t.state == state for t in takes)} {state}" for state in ("kept", "discarded"))
                undecided = sum(take.state in ("open", "ended") for take in takes)
                typer.echo(
                    f"{person.id}  {'automatic' if person.automatic else 'person'}  {person.seat}  {counts}"
                    + (f", {undecided} not decided" if undecided else "")
                    + "".join(
                        f"; {printable(question)} {printable(str(given))}"
                        for question, given in said.get(person.id, {}).items()
                    )
                )
            for name in records.leaving():
                typer.echo(_not_yet(name, folder))
            if records.withdrawn:
                typer.echo(f"withdrawn: {records.withdrawn}")
    for link in links:
        typer.echo(f"link {link}")
