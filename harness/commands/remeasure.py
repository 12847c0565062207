"""`harness remeasure`: an old run's recordings measured again by the current method, and which figures changed."""

import json
from pathlib import Path
from typing import Annotated

import typer

from harness.commands.screen import AsJson
from harness.progress import RunProgress


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
        before = _words(change.before_ms, change.before_discarded)
        print(f"{change.context} · {change.agent}: {before} → {_words(change.after_ms, change.after_discarded)}")
    for failure in found.failures:
        print(f"{failure.session}: could not be measured ({failure.detail})")
    was = ", ".join(found.methods_before) or "nothing"
    print(f"{found.sessions - len(found.failures)} session(s) measured, {len(found.changes)} changed; measured before by {was}")
    return 3 if found.failures else 0


def _words(ttfa_ms: float | None, discarded: str | None) -> str:
    if discarded is not None:
        return f"discarded ({discarded})"
    return f"TTFA {ttfa_ms:,.1f} ms" if ttfa_ms is not None else "no TTFA"
