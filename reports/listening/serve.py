"""The server of `harness listen`: it makes the sounds, opens the database and serves the test.

It listens on this machine only, unless it is public. A public test is by invitation: one link per rater, each of which
finds its own session again after a closed tab or on another device, until it expires or is revoked.
"""

import logging
import socket
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness.errors import UserError
from harness.reports.listening.answers import Link, RaterRole, VoteStore, link_id
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.door import LOCALHOST, Door, cannot_open, opened
from harness.reports.listening.material import FOLDER, Material
from harness.store.paths import plain_name
from harness.store.run_store import RunStore

KEEP_ALIVE_S = 90
"""Keep-alive time: people think longer than the usual five seconds; a connection closed before would only be opened again."""

FAREWELL_S = 2
"""Shutdown time: with TLS the default for an idle browser is half a minute; answers are on disk before acknowledgement."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """A link for one person. `id` names it in output and for `--revoke`, and does not open the test."""

    id: str
    role: RaterRole
    path: str


def prepare(
    store: RunStore, design: ListeningDesign, progress: Callable[[int, int], None] | None = None
) -> tuple[VoteStore, Material]:
    """Make every sound, and open the raters' database.

    Raises:
        UserError: the run has no material for this design.
    """
    material = Material(store, design)
    material.prepare(design, progress)
    return VoteStore(store.folder / FOLDER / design_folder(design)), material


def design_folder(design: ListeningDesign) -> str:
    """The name of a test's folder; each design has its own, because votes of different designs are not comparable."""
    condition = f"-{plain_name(design.condition)}" if design.condition else ""
    return f"{design.kind}-{design.medium}-{design.delays}{condition}"


def invite(votes: VoteStore, raters: int, contributors: int = 0, expires_s: float | None = None) -> list[Invitation]:
    """Links for this many raters and contributors, valid until `expires_s` (None: forever); each is for one person."""
    asked: tuple[tuple[RaterRole, str, int], ...] = (("rater", "", raters), ("contributor", "/collect", contributors))
    return [
        Invitation(link_id(token), role, f"{page}/invitation/{token}")
        for role, page, count in asked
        for token in votes.invite(count, role, expires_s)
    ]


def serve(
    store: RunStore,
    design: ListeningDesign,
    door: Door | None = None,
    *,
    raters: int = 10,
    contributors: int = 0,
    lifetime_s: float | None = None,
    announce: Callable[[str], None] = print,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Serve the test until interrupted. `door`: None for this machine only; `lifetime_s`: lifetime of new links.

    Raises:
        UserError: no material, a port in use, or a missing extra.
    """
    try:
        import uvicorn

        from harness.reports.listening.app import ListeningApp
    except ImportError as error:
        raise UserError("listening tests need an extra: pip install 'heart-voice-harness[listen]'") from error
    # Opened before links are given out: a link to a port in use would lead to another program.
    bound, door = opened(door or Door(LOCALHOST))
    try:
        votes, material = prepare(store, design, progress)
        try:
            _listen(bound, door)
            expires_s = None if lifetime_s is None else time.time() + lifetime_s
            links = invite(votes, raters, contributors, expires_s) if door.public else []
            for line in _announced(door, links, expires_s):
                announce(line)
            config = uvicorn.Config(
                ListeningApp(votes, material, design, door).asgi(),
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=FAREWELL_S,
                ssl_certfile=door.certificate,
                ssl_keyfile=door.key,
                proxy_headers=bool(door.proxies),
                forwarded_allow_ips=list(door.proxies),
            )
            logging.getLogger("uvicorn.error").addFilter(_worth_saying)
            try:
                uvicorn.Server(config).run(sockets=[bound])
            except KeyboardInterrupt:
                # uvicorn raises it again after it has closed all connections properly.
                pass
            except (SystemExit, OSError) as error:
                raise cannot_open(door, error) from error
        finally:
            votes.close()
    finally:
        bound.close()


def _worth_saying(record: logging.LogRecord) -> bool:
    """False for a browser that disconnected without closing: uvicorn logs an error, but it is none."""
    return not record.getMessage().startswith("Cancel 0 running")


def _listen(bound: socket.socket, door: Door) -> None:
    """Listen on the socket now: two servers can be bound to a port, but only one can listen."""
    try:
        bound.listen()
    except OSError as error:
        raise cannot_open(door, error) from error


def _announced(door: Door, links: list[Invitation], expires_s: float | None) -> list[str]:
    """The lines for the person who runs the test: address, links and warnings."""
    if not door.public:
        return [f"Listening test at {door.origin}/  (people's own replies: {door.origin}/collect)"]
    until = "" if expires_s is None else f"  (until {_moment(expires_s)})"
    lines = [f"{link.role} {link.id}: {door.origin}{link.path}{until}" for link in links]
    lines.append(f"Listening test at {door.origin}/ for holders of a link alone, those given out before among them.")
    if door.url is None and door.origin.split("//")[1].startswith("localhost"):
        lines.append("These links work on this machine alone; give --url with the address that others reach it at.")
    if not door.secure:
        lines.append(
            "Not encrypted: who is on the way can read links and answers, and browsers lend no microphone. "
            "Give --tls-cert and --tls-key, or --url https://… with --proxy."
        )
    return lines


def revoke(run: Path, which: str) -> int:
    """End one link of a run (by its id), or `all`, immediately, even while the test is served; returns their number.

    Raises:
        UserError: no test of the run has such a link, or it has ended already.
    """
    ended = 0
    now_s = time.time()
    for folder in vote_folders(run):
        with closing(VoteStore(folder)) as votes:
            for link in votes.links():
                if which in ("all", link.id) and link.ended(now_s) is None:
                    ended += votes.revoke(link.id)
    if not ended and which != "all":
        raise UserError(f"--revoke {which}: {run} has no open link with this id; --links lists them")
    return ended


def links_shown(run: Path) -> list[str]:
    """All links of a run's tests, one line each, by id; the links themselves are not stored."""
    shown = []
    for folder in vote_folders(run):
        with closing(VoteStore(folder)) as votes:
            shown += [f"{link.id}  {folder.name}  {link.role}  {_state(link)}" for link in votes.links()]
    return shown


def _state(link: Link) -> str:
    ended = link.ended(time.time())
    until = "" if link.expires_s is None or ended else f", until {_moment(link.expires_s)}"
    return f"{ended or 'open'}{until}, {f'begun as {link.rater}' if link.rater else 'not used'}"


def _moment(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).astimezone().strftime("%Y-%m-%d %H:%M %Z")


def vote_folders(run: Path) -> list[Path]:
    """The folders of a run with raters' votes."""
    return sorted(path.parent for path in (run / FOLDER).glob("*/votes.sqlite"))
