"""The server of a seat: it gives out links and serves the page until Ctrl-C."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from harness.errors import UserError
from harness.extras import require_listen
from harness.people.records import DATABASE, SeatStore
from harness.people.seat import Seat
from harness.people.withdraw import Withdraw, records_folder
from harness.reports.invited.address import Address, opened
from harness.reports.invited.links import Links
from harness.reports.listening.answers import tests_of

PLACES: Final = {"caller": "Caller's seat", "supporter": "Supporter's seat"}


def serve(
    records: SeatStore,
    seat: Seat,
    address: Address,
    withdraw: Withdraw,
    *,
    people: int,
    lifetime_s: float | None,
    rehearsal: bool,
    announce: Callable[[str], None],
) -> None:
    """Serve a seat until interrupted. `people`: the number of those who get a link of a public server.

    Raises:
        UserError: a port in use, or a missing extra.
    """
    require_listen("a seat")
    from harness.people.app import SeatApp
    from harness.reports.invited.server import serve_on

    with opened(address) as (bound, here):
        app = SeatApp(records, seat, here, withdraw, rehearsal=rehearsal).asgi()
        serve_on(
            bound, here, app, records.links, PLACES[seat.name], announce, invited=((seat.name, people, ""),),
            lifetime_s=lifetime_s,
            notes=("A rehearsal: nothing that is recorded now counts as a person's.",) if rehearsal else (),
        )  # fmt: skip


def links_of(folder: Path) -> Iterator[tuple[str, Links]]:
    """(name of a listening test, or empty for a seat, its links) of a folder; each database is open until the next.

    Raises:
        UserError: nobody was ever invited or recorded there.
    """
    where = records_folder(folder)
    for votes in tests_of(folder) if where != folder else ():
        yield votes.folder.name, votes.links
    if where == folder or (where / DATABASE).exists():
        with closing(opened_records(where)) as records:
            yield "", records.links


def opened_records(folder: Path) -> SeatStore:
    """The records in a folder.

    Raises:
        UserError: nobody was ever invited or recorded there.
    """
    if not (folder / DATABASE).exists():
        raise UserError(f"{folder}: nobody has been recorded here, and no link was given out")
    return SeatStore(folder)
