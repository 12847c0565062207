"""The replies of a run as sounds, for a judge that hears: those of agents that speak, cut as for people who compare by ear.

References and text agents have no sound, so they take no part. A side that gave no reply does: it loses by rule, as where
replies are read.
"""

from collections.abc import Sequence
from functools import partial
from itertools import combinations

import numpy as np

from harness.judging.completion import Completion
from harness.judging.sound import Clip, wav
from harness.store.reply_sound import RATE_HZ, cut, part_of
from harness.store.run_store import RunStore
from harness.store.session import Session


def clip_of(store: RunStore, session: Session) -> Clip | None:
    """The sound of a session's last reply; None where none was measured or recorded."""
    part = part_of(session.timing)
    if part is None or not (session.folder / "agent.flac").exists():
        return None
    return Clip((part[1] - part[0]) / 1_000, partial(_file, store, session, *part))


def _file(store: RunStore, session: Session, begin_ms: float, end_ms: float) -> bytes:
    sound = cut(store.recording(session), begin_ms, end_ms)
    return wav(np.round(np.clip(sound, -1, 1) * 32_767).astype(np.int16), RATE_HZ)


def pairs(competing: Sequence[Completion], between: frozenset[str]) -> int:
    """Number of pairs of replies to one context. `between`: systems of which each pair has exactly one; none: all pairs."""
    systems: dict[str, set[str]] = {}
    for completion in competing:
        systems.setdefault(completion.context_id, set()).add(completion.system)
    return sum(
        not between or len(between & set(pair)) == 1 for names in systems.values() for pair in combinations(sorted(names), 2)
    )
