"""What people did with a run's replies that is on no board: pairs that they skipped, and votes of raters who do not count.

A run whose votes are all excluded has votes: whoever reads that nobody voted would collect them again.
"""

from collections import Counter
from collections.abc import Collection, Mapping

from harness.store.paths import VOTES
from harness.store.selection import Selection
from harness.votes.rater_exclusion import all_left_out
from harness.votes.votes_of_run import votes_on_file
from harness.wording import command


def uncounted_votes(selection: Selection, condition: str, inside: Collection[str]) -> tuple[Mapping[str, int], str]:
    """Presentation → number of pairs that the raters who count saw and skipped, on these contexts; and why no vote on them
    counts if all are excluded, with the command that counts them, in one sentence without its full stop."""
    store = selection.store
    if not (store.folder / VOTES).is_dir():
        return {}, selection.left_out
    found = votes_on_file(store)
    here = [vote for vote in found.answers if vote.condition == condition and vote.context in inside]
    skipped = Counter[str](
        vote.presentation for vote in found.skipped if vote.condition == condition and vote.context in inside
    )
    voted = Counter(vote.rater for vote in here if vote.is_vote)
    raters = [rater for rater in found.raters if voted[rater.rater]]
    if not raters or not all(rater.excluded for rater in raters):
        return skipped, "" if raters else selection.left_out
    return skipped, all_left_out(voted.total(), raters, command("add-votes", store.folder, "--keep-excluded"))
