"""`harness remeasure`: an old run's recordings measured again by the current method, and which figures changed."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.screen import AsJson
from harness.progress import RunProgress

if TYPE_CHECKING:  # the harness starts without what measures
    from harness.timing.figures import TurnTiming


def remeasure(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    as_json: AsJson = False,
) -> int:
    """Measure a run's recordings again; nothing is played."""
    from harness.measuring.remeasure import remeasure as measure_again
    from harness.store.run_store import RunStore

    store = RunStore.open(run)
    with RunProgress() as progress, store.lock():
        progress.phase("Measuring again")
        found = measure_again(store, progress=progress.count)
    if as_json:
        print(json.dumps(found.to_json(), indent=2))
        return 3 if found.failures else 0
    for change in found.changes:
        key = change.session.key
        print(f"{key.context_id} · {key.agent}: {_words(change.session.timing)} → {_words(change.after)}")
    for failure in found.failures:
        print(f"{failure.session}: could not be measured ({failure.detail})")
    if found.moved:
        why = ", ".join(f"{count} {reason}" for reason, count in sorted(found.moved.items(), key=lambda item: -item[1]))
        print(f"{sum(found.moved.values())} of {found.turns} turn(s) moved: {why}")
    was = ", ".join(found.methods_before) or "nothing"
    print(f"{found.sessions - len(found.failures)} session(s) measured, {len(found.changes)} changed; measured before by {was}")
    return 3 if found.failures else 0


def _words(timing: "TurnTiming | None") -> str:
    if timing is None or (timing.discarded is None and timing.ttfa_ms is None):
        return "no TTFA"
    return f"TTFA {timing.ttfa_ms:,.1f} ms" if timing.discarded is None else f"discarded ({timing.discarded})"
