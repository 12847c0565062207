"""Refusal of what recorded calls cannot give: their callers' words are unknown, so nobody can judge a reply to them."""

from typing import TYPE_CHECKING

from harness.errors import UserError

if TYPE_CHECKING:
    from harness.store.run_store import RunStore


def refuse_recorded(store: "RunStore") -> None:
    """Raise `UserError` for a run of calls that already happened."""
    if store.manifest.calls is not None:
        raise UserError(
            f"{store.folder}: its calls already happened, and nobody has the callers' texts: they are timed, not judged"
        )
