"""What a finished run, or a file of judgments, gives the ranking.

Of a run: its verdicts, and of every session that was played the latencies and cut-ins that stand beside them. A turn on which
the agent began before the caller had ended fails its budget and ranks slowest, as one without reply does: waiting less than
nothing is no merit. Discarded turns are unknown and take no part. The joint figure takes one condition, the run's first, and
the first repeat, since each context has one reply that was judged.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.judging.record import read_records, stops_in_words
from harness.ranking.joint import Latencies
from harness.ranking.ranking import Ranking, rank
from harness.ranking.scores import Scores
from harness.store import judgment_files as files
from harness.store.judgment import Judgment, Presentation, reference_name
from harness.store.run_store import RunStore, Session
from harness.timing.figures import TurnTiming

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
    texts = {(c.id, reference_name(r.id)): r.text for c in store.contexts() for r in c.references}
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


def counted_rows(store: RunStore, *, keep_excluded: bool = False) -> list[Judgment]:
    """A run's verdicts without those of judges that got half or more of the pairs with known answers wrong."""
    failed = set() if keep_excluded else {check.judge for check in store.judge_checks() if check.excluded}
    return [row for row in store.judgments() if row.judge not in failed]


def rank_target(
    path: Path,
    *,
    presentation: Presentation | None = None,
    budget_ms: float | None = None,
    votes: Sequence[Judgment] = (),
    keep_excluded: bool = False,
    scores: Scores | None = None,
    **options: Any,
) -> Ranking:
    """Rank a run's folder or a judgment file; `options` are those of `command.rank`.

    `votes`: people's, from a listening test of the run. `scores`: a user's own table of families and external scores.

    Raises UserError: nothing there, an unreadable file, a run without judgments, several presentations with none chosen.
    """
    table = scores or Scores({}, {})
    if not path.is_dir():
        return rank(
            files.read(path),
            presentation=presentation,
            budget_ms=budget_ms or 500.0,
            families=table.families,
            external=table.scores,
            **options,
        )
    store = RunStore.open(path)
    try:
        judged = counted_rows(store, keep_excluded=keep_excluded)
        rows = [*judged, *votes]
        if not rows:
            raise UserError(_nothing_counts(path, store))
        chosen = presentation or _only_presentation(path, judged or rows)
        found = measured(store, chosen)
        authors = {reference_name(r.id): r.author for c in store.contexts() for r in c.references}
        checks = {check.judge: check for check in store.judge_checks()}
        families = {judge: check.family for judge, check in checks.items()}
        families |= {agent.name: agent.family for agent in store.manifest.agents if agent.family}
        ranking = rank(
            rows,
            found.ttfa,
            other_latencies=found.others,
            cut_ins=found.cut_ins,
            budget_ms=budget_ms or store.manifest.budgets_ms["ttfa"],
            presentation=chosen,
            texts=found.texts,
            is_human=lambda name: authors.get(name, name).startswith("human:"),
            families={**families, **table.families},
            external=table.scores,
            checks=checks,
            **options,
        )
        return ranking.with_notes(_notes(path, rows, chosen))
    finally:
        store.close()


def _only_presentation(path: Path, rows: Sequence[Judgment]) -> Presentation:
    seen = {row.presentation for row in rows}
    if len(seen) > 1:
        raise UserError(
            f"{path}: judged as {', '.join(sorted(seen))}, which never share a ranking: choose one with --presentation"
        )
    return next(iter(seen))


def _nothing_counts(path: Path, store: RunStore) -> str:
    failed = sorted(check.judge for check in store.judge_checks() if check.excluded)
    if failed and store.judgments():
        return (
            f"{path}: {', '.join(failed)} got half or more of the pairs with known answers wrong and is excluded; "
            "judge with another, or rank all the same with --keep-excluded"
        )
    return f"{path}: the run holds no judgments yet; judge it with: harness judge {path}"


def _notes(path: Path, rows: Sequence[Judgment], chosen: Presentation) -> list[str]:
    """How judging ended, and votes that another ranking would hold."""
    judges = {row.judge for row in rows if row.presentation == chosen}
    records = [record for (judge, p), record in read_records(path).items() if p == chosen and judge in judges]
    elsewhere = Counter(row.presentation for row in rows if row.source == "human" and row.presentation != chosen)
    return stops_in_words(records) + [
        f"{count} votes of people on another presentation are not part of this: rank them with --presentation {name}."
        for name, count in sorted(elsewhere.items())
    ]
