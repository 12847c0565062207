"""`harness measure RUN`: an old run's recordings measured again by the current method, and which figures changed."""

from pathlib import Path

from harness.errors import UserError
from harness.progress import RunProgress


def remeasure(run: Path, *, as_json: bool) -> int:
    """The exit code, after a run's recordings are measured again; nothing is played."""
    from harness.measuring.remeasure import remeasure as measure_again
    from harness.store.run_store import RunStore

    store = RunStore.open(run)
    if store.manifest.replies is not None:
        raise UserError(f"{run}: its replies were in a file, and nothing in it was measured")
    with RunProgress() as progress, store.lock():
        progress.phase("Measuring again")
        found = measure_again(store, progress=progress.count)
    if as_json:
        print(found.model_dump_json(by_alias=True, indent=2))
        return 3 if found.failed else 0
    for one in found.changed:
        before, after = (_words(getattr(one.ttfa_ms, which), getattr(one.discarded, which)) for which in ("before", "after"))
        print(f"{one.context} · {one.agent}: {before} → {after}")
    for failure in found.failed:
        print(f"{failure.session}: could not be measured ({failure.detail})")
    if found.turns_moved:
        why = ", ".join(f"{count} {reason}" for reason, count in sorted(found.turns_moved.items(), key=lambda item: -item[1]))
        print(f"{sum(found.turns_moved.values())} of {found.turns} turn(s) moved: {why}")
    was = ", ".join(found.methods_before) or "nothing"
    print(f"{found.sessions - len(found.failed)} session(s) measured, {len(found.changed)} changed; measured before by {was}")
    return 3 if found.failed else 0


def _words(ttfa_ms: float | None, discarded: str | None) -> str:
    if discarded is not None:
        return f"discarded ({discarded})"
    return "no TTFA" if ttfa_ms is None else f"TTFA {ttfa_ms:,.1f} ms"
