"""What people did with a run's replies that is on no board: pairs that they skipped, and votes of raters who do not count.

A run whose votes are all excluded has votes: whoever reads that nobody voted would collect them again.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

from harness.store.paths import VOTES
from harness.store.run_store import RunStore
from harness.votes.votes_of_run import votes_on_file
from harness.wording import command, counted

MOST_NAMED: Final = 3
"""Raters whose reason is in the sentence; `harness add-votes` names all."""


def uncounted_votes(store: RunStore, condition: str, inside: Collection[str]) -> tuple[Mapping[str, int], str]:
    """Presentation → number of pairs that the raters who count saw and skipped, on these contexts; and why no vote on them
    counts if all are excluded, with the command that counts them, in one sentence without its full stop."""
    if not (store.folder / VOTES).is_dir():
        return {}, ""
    found = votes_on_file(store)
    here = [vote for vote in found.answers if vote.condition == condition and vote.context in inside]
    skipped = Counter[str](
        vote.presentation for vote in found.skipped if vote.condition == condition and vote.context in inside
    )
    voted = Counter(vote.rater for vote in here if vote.is_vote)
    raters = [rater for rater in found.raters if voted[rater.rater]]
    if not raters or not all(rater.excluded for rater in raters):
        return skipped, ""
    reasons = [f"{rater.rater}: {'; '.join(rater.reasons)}" for rater in raters[:MOST_NAMED]]
    more = [f"and {len(raters) - MOST_NAMED} more"] if len(raters) > MOST_NAMED else []
    votes = f"{counted(voted.total(), 'vote')} {'is' if voted.total() == 1 else 'are'} there, all excluded"
    way = command("add-votes", store.folder, "--keep-excluded")
    return skipped, f"{votes} ({', '.join([*reasons, *more])}): count them with `{way}`"
