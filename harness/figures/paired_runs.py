"""Two runs of the same callers: which conversations and agents of the one have a partner in the other.

A difference between two versions of an agent is theirs only if both heard the same callers, word for word. A conversation
that one run lacks is left out and named; one that has another text under the same id is refused, because nobody would notice
it in a figure. A version often has a new name: where each run has a single agent, the two are versions of each other.
"""

from collections.abc import Collection, Mapping
from typing import Final

from harness.errors import UserError
from harness.scenarios.context import Context
from harness.store.manifest import RunManifest
from harness.store.run_store import RunStore

NAMED: Final = 2
"""Conversations that are named where many are not shared."""


def counterparts(now: RunManifest, before: RunManifest) -> Mapping[str, str]:
    """Agent → the agent of the baseline that it is compared with: the one of its name, or the only one of each run."""
    names, earlier = [a.name for a in now.played], [a.name for a in before.played]
    if len(names) == len(earlier) == 1:
        return {names[0]: earlier[0]}
    return {name: name for name in names if name in earlier}


def refuse_other_callers(baseline: RunStore, manifest: RunManifest, contexts: Collection[Context]) -> None:
    """Check that a run and its baseline can be paired; otherwise their callers could cause a difference.

    Raises UserError: another mode, no condition or agent in common, another text under the same id, or no shared conversation.
    """
    then, where = baseline.manifest, f"--baseline {baseline.folder}"
    before = {c.id: c for c in baseline.contexts_as_played()}
    other = [c.id for c in contexts if c.id in before and not same_caller(c, before[c.id])]
    if other or not any(c.id in before for c in contexts):
        more = f" and {len(other) - 1} more" if len(other) > 1 else ""
        what = f"{other[0]}{more} has another text" if other else "none of the run's is there"
        raise UserError(f"{where}: has other conversations ({what}); play the baseline again on the same pack")
    if manifest.mode != then.mode:
        raise UserError(f"{where}: has no mode {manifest.mode}; it has {then.mode}")
    if not set(manifest.conditions) & set(then.conditions):
        raise UserError(f"{where}: has no condition {manifest.conditions[0]}; it has {', '.join(then.conditions)}")
    if not counterparts(manifest, then):
        raise UserError(f"{where}: has no agent {manifest.played[0].name}; it has {', '.join(a.name for a in then.played)}")


def same_caller(one: Context, other: Context) -> bool:
    """True if the caller says the same after the same history, and references with the same name have the same words."""
    texts = {r.id: r.text for r in one.references}
    alike = (one.turns, one.subset) == (other.turns, other.subset)
    return alike and all(texts.get(r.id, r.text) == r.text for r in other.references)


def shared_ids(now: RunManifest, before: RunManifest) -> frozenset[str]:
    """The conversations that both runs have."""
    return frozenset(now.context_ids) & frozenset(before.context_ids)


def not_shared(now: Collection[str], before: Collection[str]) -> str:
    """The conversations that only one of two runs has, in one sentence; empty if both have the same."""
    apart = sorted(set(now) ^ set(before))
    if not apart:
        return ""
    more = f" and {len(apart) - NAMED} more" if len(apart) > NAMED else ""
    both, every = len(set(now) & set(before)), len(set(now) | set(before))
    return f"{both} of {every} conversations are in both runs; the others are left out: {', '.join(apart[:NAMED])}{more}."
