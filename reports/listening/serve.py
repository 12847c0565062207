"""The server of `harness listen`: it makes the sounds, opens the database and serves the test.

It listens on this machine only, unless it is public. A public test is by invitation: one link per rater, each of which
finds its own session again after a closed tab or on another device, until it expires or is revoked.
"""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UserError
from harness.reports.listening.answers import RaterRole, VoteStore
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.door import LOCALHOST, Door, opened, warnings
from harness.reports.listening.invitations import NewLinks, link_id, moment
from harness.reports.listening.material import FOLDER, Material
from harness.store.paths import plain_name
from harness.store.run_store import RunStore


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
        for token in votes.invitations.invite(count, role, expires_s)
    ]


def serve(
    store: RunStore,
    design: ListeningDesign,
    door: Door | None = None,
    *,
    people: NewLinks | None = None,
    announce: Callable[[str], None] = print,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Serve the test until interrupted. `door`: None for this machine only; `people`: those who get a link (None: ten raters).

    Raises:
        UserError: no material, a port in use, or a missing extra.
    """
    try:
        from harness.reports.listening.app import ListeningApp
        from harness.reports.listening.server import listen_on, run_app
    except ImportError as error:
        raise UserError("listening tests need an extra: pip install 'heart-voice-harness[listen]'") from error
    # Opened before links are given out: a link to a port in use would lead to another program.
    bound, door = opened(door or Door(LOCALHOST))
    try:
        votes, material = prepare(store, design, progress)
        try:
            listen_on(bound, door)
            wanted = people or NewLinks()
            expires_s = wanted.expires_s(time.time())
            links = invite(votes, wanted.raters, wanted.contributors, expires_s) if door.public else []
            for line in _announced(door, links, expires_s):
                announce(line)
            run_app(ListeningApp(votes, material, design, door).asgi(), bound, door)
        finally:
            votes.close()
    finally:
        bound.close()


def _announced(door: Door, links: list[Invitation], expires_s: float | None) -> list[str]:
    """The lines for the person who runs the test: address, links and warnings."""
    if not door.public:
        return [f"Listening test at {door.origin}/  (people's own replies: {door.origin}/collect)"]
    until = "" if expires_s is None else f"  (until {moment(expires_s)})"
    lines = [f"{link.role} {link.id}: {door.origin}{link.path}{until}" for link in links]
    lines.append(f"Listening test at {door.origin}/ for holders of a link alone, those given out before among them.")
    lines += warnings(door)
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
            for link in votes.invitations.links():
                if which in ("all", link.id) and link.ended(now_s) is None:
                    ended += votes.invitations.revoke(link.id)
    if not ended and which != "all":
        raise UserError(f"--revoke {which}: {run} has no open link with this id; --links lists them")
    return ended


def links_shown(run: Path) -> list[str]:
    """All links of a run's tests, one line each, by id; the links themselves are not stored."""
    shown = []
    for folder in vote_folders(run):
        with closing(VoteStore(folder)) as votes:
            shown += [f"{link.id}  {folder.name}  {link.role}  {link.state}" for link in votes.invitations.links()]
    return shown


def vote_folders(run: Path) -> list[Path]:
    """The folders of a run with raters' votes."""
    return sorted(path.parent for path in (run / FOLDER).glob("*/votes.sqlite"))
