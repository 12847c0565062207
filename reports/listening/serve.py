"""`harness listen`: one command that makes the sounds, opens the database and serves the test.

It listens on this machine alone unless told otherwise. A public test is by invitation: one link a rater, each of which
finds its own session again after a closed tab or on another device.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UserError
from harness.store.run_store import RunStore
from reports.listening.answers import RaterRole, VoteStore
from reports.listening.design import ListeningDesign
from reports.listening.material import FOLDER, Material

LOCALHOST = "127.0.0.1"
KEEP_ALIVE_S = 90
"""People think for longer than the server's usual five seconds; a line closed under an answer would only be opened again."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """A link for one person."""

    role: RaterRole
    path: str


def prepare(
    store: RunStore, design: ListeningDesign, progress: Callable[[int, int], None] | None = None
) -> tuple[VoteStore, Material]:
    """Make every sound, and open the raters' database.

    Raises:
        UserError: the run has nothing that this design can ask about.
    """
    material = Material(store, design)
    material.prepare(design, progress)
    return VoteStore(store.folder / FOLDER / design_folder(design)), material


def design_folder(design: ListeningDesign) -> str:
    """Each test keeps its votes apart: a vote of one design is no vote of another."""
    return f"{design.kind}-{design.medium}-{design.delays}"


def invite(votes: VoteStore, raters: int, contributors: int = 0) -> list[Invitation]:
    """Links for so many raters and contributors; each can be given once."""
    found = [Invitation("rater", f"/?token={token}") for token in votes.invite(raters, "rater")]
    found += [Invitation("contributor", f"/collect?token={token}") for token in votes.invite(contributors, "contributor")]
    return found


def serve(
    store: RunStore,
    design: ListeningDesign,
    *,
    host: str = LOCALHOST,
    port: int = 8_177,
    public: bool = False,
    raters: int = 10,
    contributors: int = 0,
    announce: Callable[[str], None] = print,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Serve the test until interrupted.

    Raises:
        UserError: a public address without `public`, nothing to ask about, a port in use, or a missing extra.
    """
    try:
        import uvicorn

        from reports.listening.app import ListeningApp
    except ImportError as error:
        raise UserError("listening tests need an extra: pip install 'heart-voice-harness[listen]'") from error
    if host not in (LOCALHOST, "localhost", "::1") and not public:
        raise UserError(f"--host {host}: is reachable by others; add --public, so that every rater needs a link of their own")
    votes, material = prepare(store, design, progress)
    shown = f"http://{'localhost' if host in (LOCALHOST, '::1') else host}:{port}"
    if public:
        for invitation in invite(votes, raters, contributors):
            announce(f"{invitation.role}: {shown}{invitation.path}")
    else:
        announce(f"Listening test at {shown}/  (people's own replies: {shown}/collect)")
    app = ListeningApp(votes, material, design, public=public)
    try:
        uvicorn.run(
            app.asgi(),
            host=host,
            port=port,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_S,
        )
    except SystemExit as error:
        raise UserError(f"--port {port}: cannot be opened on {host}; choose another") from error
    finally:
        votes.close()


def vote_folders(run: Path) -> list[Path]:
    """The folders of a run that hold raters' votes."""
    return sorted(path.parent for path in (run / FOLDER).glob("*/votes.sqlite"))
