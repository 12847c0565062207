"""What a listening test has when its server ends: who answered, who is left out and why, and what to do next.

Whoever stops the server has seen nothing of the answers, and raters who are left out in silence would be invited again.
"""

from collections.abc import Iterator

from harness.reports.listening.answers import VoteStore
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.results import quality_of
from harness.store.run_store import RunStore
from harness.wording import command, counted


def sentences(store: RunStore, design: ListeningDesign, votes: VoteStore) -> Iterator[str]:
    """The sentences for the terminal."""
    raters = quality_of(store, votes)
    rated = [rater for rater in raters if rater.answers]
    out = [rater for rater in rated if rater.excluded]
    if not rated:
        yield f"Nobody has rated anything yet. To go on: {command('listen', store.folder)}"
        return
    answers = counted(sum(rater.answers for rater in rated), "answer")
    yield f"{counted(len(rated), 'rater')}, {answers}; {len(rated) - len(out)} of {len(rated)} count."
    for rater in out:
        yield f"{rater.rater} is left out: {'; '.join(rater.reasons)}."
    if begun := len(votes.raters()) - len(rated):
        yield f"{begun} more began and rated nothing."
    # Ratings of single replies are on the page alone: they compare nobody.
    kept = ("--keep-excluded",) if len(out) == len(rated) else ()
    first = command("rank", store.folder, "--people", *kept) if design.kind == "ab" else command("listen", store.folder)
    yield f"To {'rank them' if design.kind == 'ab' else 'invite more'}, and to write the page with them:"
    yield f"  {first}"
    yield f"  {command('report', store.folder)}"
