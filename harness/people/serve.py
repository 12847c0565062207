"""The server of a seat: it opens the database, gives out links and serves the page until Ctrl-C."""

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from harness.errors import UserError
from harness.people.records import DATABASE, SeatStore
from harness.people.seat import Seat
from harness.people.withdraw import Withdraw
from harness.reports.listening.door import Door, opened, warnings
from harness.reports.listening.invitations import NewLinks, link_id, moment

PLACES: Final = {"caller": "Caller's seat", "supporter": "Supporter's seat"}


def serve(
    records: SeatStore,
    seat: Seat,
    door: Door,
    withdraw: Withdraw,
    *,
    people: NewLinks,
    rehearsal: bool,
    announce: Callable[[str], None],
) -> None:
    """Serve a seat until interrupted. `people`: those who get a link of a public server.

    Raises:
        UserError: a port in use, or a missing extra.
    """
    try:
        from harness.people.app import SeatApp
        from harness.reports.listening.server import listen_on, run_app
    except ImportError as error:
        raise UserError("the seats need an extra: pip install 'heart-voice-harness[listen]'") from error
    bound, door = opened(door)
    try:
        listen_on(bound, door)
        place = PLACES[seat.name]
        if door.public:
            expires_s = people.expires_s(time.time())
            until = "" if expires_s is None else f"  (until {moment(expires_s)})"
            for token in records.invitations.invite(people.raters, seat.name, expires_s):
                announce(f"{seat.name} {link_id(token)}: {door.origin}/invitation/{token}{until}")
            announce(f"{place} at {door.origin}/ for holders of a link alone, those given out before among them.")
            for sentence in warnings(door):
                announce(sentence)
        else:
            announce(f"{place} at {door.origin}/")
        if rehearsal:
            announce("A rehearsal: nothing that is recorded now counts as a person's.")
        run_app(SeatApp(records, seat, door, withdraw, rehearsal=rehearsal).asgi(), bound, door)
    finally:
        bound.close()


def end_links(folder: Path, which: str) -> int:
    """End one link (by its id), or `all`, immediately; returns their number.

    Raises:
        UserError: there is no such link, or it has ended already.
    """
    ended, now_s = 0, time.time()
    with closing(opened_records(folder)) as records:
        for link in records.invitations.links():
            if which in ("all", link.id) and link.ended(now_s) is None:
                ended += records.invitations.revoke(link.id)
    if not ended and which != "all":
        raise UserError(f"--revoke {which}: {folder} has no open link with this id; --links lists them")
    return ended


def links_shown(folder: Path) -> list[str]:
    """All links of a seat, one line each, by id; the links themselves are not stored."""
    with closing(opened_records(folder)) as records:
        return [f"{link.id}  {link.role}  {link.state}" for link in records.invitations.links()]


def opened_records(folder: Path) -> SeatStore:
    """The records in a folder.

    Raises:
        UserError: nobody was ever invited or recorded there.
    """
    if not (folder / DATABASE).exists():
        raise UserError(f"{folder}: nobody has been recorded here, and no link was given out")
    return SeatStore(folder)
