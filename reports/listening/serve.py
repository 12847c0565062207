"""The server of a listening test: it makes the sounds, opens the database and serves the test.

It listens on this machine only, unless it is public. A public test is by invitation: one link per rater, each of which
finds its own session again after a closed tab or on another device, until it expires or is revoked.
"""

from collections.abc import Callable
from contextlib import closing
from typing import Final

from harness.extras import require_listen
from harness.reports.invited.address import Address, opened
from harness.reports.listening.answers import VoteStore
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.ended import sentences
from harness.reports.listening.material import FOLDER, Material
from harness.store.paths import plain_name
from harness.store.run_store import RunStore
from harness.study.study import Study

NO_CHECKS: Final = (
    "Nothing in this test checks attention: there are too few conversations, or the replies to one would do for any other. "
    "Raters are left out by their times and habits alone."
)


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


def serve(
    store: RunStore,
    design: ListeningDesign,
    address: Address,
    *,
    study: Study | None = None,
    raters: int = 10,
    contributors: int = 0,
    lifetime_s: float | None = None,
    announce: Callable[[str], None] = print,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Serve the test until interrupted, then say what it has. `raters`, `contributors`: people who get a link of a public
    server.

    Raises:
        UserError: no material, a port in use, or a missing extra.
    """
    require_listen("a listening test")
    from harness.reports.invited.server import serve_on
    from harness.reports.listening.app import ListeningApp

    with opened(address) as (bound, here):
        votes, material = prepare(store, design, progress)
        with closing(votes):
            app = ListeningApp(votes, material, design, here, study=study)
            if not app.checks_attention:
                announce(NO_CHECKS)
            serve_on(
                bound, here, app.asgi(), votes.links, "Listening test", announce,
                invited=(("rater", raters, ""), ("contributor", contributors, "/collect")),
                lifetime_s=lifetime_s,
                notes=() if here.public else (f"People's own replies: {here.origin}/collect",),
            )  # fmt: skip
            for sentence in sentences(store, design, votes):
                announce(sentence)
