"""What a finished run, or a file of judgments, gives the ranking.

Of a run: its verdicts, and of every session that was played the latencies and cut-ins that stand beside them. A turn on which
the agent began before the caller had ended fails its budget and ranks slowest, as one without reply does: waiting less than
nothing is no merit. Discarded turns are unknown and take no part. The joint figure takes one condition, the run's first, and
the first repeat, since each context has one reply that was judged.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.judgment import Presentation
from harness.ranking import files
from harness.ranking.command import Ranking, rank
from harness.ranking.joint import Latencies
from harness.store import RunStore, Session
from harness.turn_timing import TurnTiming

LATENCIES = ("ttft_ms", "first_sound_ms", "first_speech_ms", "first_word_ms", "first_substance_ms")
"""Beside TTFA: TTFT, and onset with fillers counted (any sound) or not (first speech, first word, first word of substance)."""


@dataclass(frozen=True, slots=True)
class Measured:
    """System → context → value. `texts`: (context, system) → reply as judged, where known."""

    ttfa: Latencies
    others: dict[str, Latencies]
    cut_ins: dict[str, dict[str, bool]]
    texts: dict[tuple[str, str], str]


def measured(store: RunStore, presentation: Presentation) -> Measured:
    """Latencies, cut-ins and reply texts of a run's first condition."""
    ttfa: dict[str, dict[str, float | None]] = {}
    others: dict[str, dict[str, dict[str, float | None]]] = {}
    cut_ins: dict[str, dict[str, bool]] = {}
    texts = {(c.id, f"ref:{r.id}"): r.text for c in store.contexts() for r in c.references}
    for session in store.sessions():
        key, timing = session.key, session.timing
        if session.status != "finished" or key.condition != store.manifest.conditions[0] or key.repeat != 0:
            continue
        text = _text(session, presentation)
        if text:
            texts[key.context_id, key.agent] = text
        if timing is None or timing.discarded is not None:
            continue
        for name in LATENCIES:
            value = getattr(timing, name)
            if value is not None or timing.no_reply:
                others.setdefault(name.removesuffix("_ms"), {}).setdefault(key.agent, {})[key.context_id] = value
        if _was_heard(timing):
            ttfa.setdefault(key.agent, {})[key.context_id] = None if timing.signed_ms is not None else timing.ttfa_ms
            cut_ins.setdefault(key.agent, {})[key.context_id] = timing.cut_in
    return Measured(ttfa, dict(others), cut_ins, texts)


def _was_heard(timing: TurnTiming) -> bool:
    return timing.ttfa_ms is not None or timing.signed_ms is not None or timing.no_reply


def _text(session: Session, presentation: Presentation) -> str | None:
    return session.written_text if presentation == "written" else session.heard_text or session.written_text


def rank_target(
    path: Path, *, presentation: Presentation | None = None, budget_ms: float | None = None, **options: Any
) -> Ranking:
    """Rank a run's folder or a judgment file; `options` are those of `command.rank`.

    Raises UserError: nothing there, an unreadable file, a run without judgments, several presentations with none chosen.
    """
    if not path.is_dir():
        return rank(files.read(path), presentation=presentation, budget_ms=budget_ms or 500.0, **options)
    store = RunStore.open(path)
    try:
        rows = store.judgments()
        if not rows:
            raise UserError(f"{path}: the run holds no judgments yet; judge it with: harness judge {path}")
        seen = {row.presentation for row in rows}
        chosen = presentation or (next(iter(seen)) if len(seen) == 1 else None)
        if chosen is None:
            raise UserError(f"{path}: judged as {', '.join(sorted(seen))}, which never share a ranking: choose one")
        found = measured(store, chosen)
        authors = {f"ref:{r.id}": r.author for c in store.contexts() for r in c.references}
        return rank(
            rows,
            found.ttfa,
            other_latencies=found.others,
            cut_ins=found.cut_ins,
            budget_ms=budget_ms or store.manifest.budgets_ms["ttfa"],
            presentation=chosen,
            texts=found.texts,
            is_human=lambda name: authors.get(name, name).startswith("human:"),
            **options,
        )
    finally:
        store.close()
