"""People's votes on a run: the files as received, and the rows of the raters who count.

The files stay in the run's folder unchanged, and the votes that count are computed from all of them each time. So an exclusion
can be reversed, and a rater in two files is checked by both. A prefix separates raters' names from judges'.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.store.judgment import Judgment, Presentation, reference_name
from harness.store.run_store import RunStore
from harness.votes.rater_exclusion import RaterQuality
from harness.votes.vote import Vote, raters_of, read_votes, to_judgments

FOLDER = "votes"
RATER_PREFIX = "votes/"


@dataclass(frozen=True, slots=True)
class CountedVotes:
    """The votes of a run. `rows` are in the store; `presentations` are those that were voted on."""

    raters: tuple[RaterQuality, ...]
    rows: tuple[Judgment, ...]
    votes: int
    """Number of votes on file, without quality checks."""


def add_votes(store: RunStore, path: Path, presentation: Presentation, condition: str | None = None) -> None:
    """Check a CSV of votes against the run and store it there; it replaces an earlier file of the same name.

    `condition`: for rows that name none; a run with one condition needs neither.

    Raises:
        UserError: a bad file, or a vote on a reply that the run does not have; names file and line.
    """
    subset = {context.id: context.subset for context in store.contexts()}
    known = {agent.name for agent in store.manifest.agents}
    references = {(c.id, reference_name(r.id)) for c in store.contexts() for r in c.references}

    conditions = store.manifest.conditions
    unsaid = condition or (conditions[0] if len(conditions) == 1 else "")

    def problem(vote: Vote) -> str | None:
        if vote.run and vote.run != store.manifest.id:
            return f"run: a vote on another run ({vote.run}, not {store.manifest.id}); add the file to the run whose page asked"
        if (vote.condition or unsaid) not in conditions:
            played = ", ".join(conditions)
            return (
                f"condition: {vote.condition or unsaid!r} is not one of {played}; add a column `condition`, or --condition NAME"
            )
        if vote.context not in subset:
            return f"context: {vote.context!r} is not part of {store.folder}"
        if vote.subset != subset[vote.context]:
            return f"subset: {vote.context!r} is {subset[vote.context]}, not {vote.subset}"
        for side, system in (("system_a", vote.system_a), ("system_b", vote.system_b)):
            if system not in known and (vote.context, system) not in references:
                return f"{side}: {system!r} gave no reply to {vote.context!r} in {store.folder}"
        return None

    votes = [v.model_copy(update={"condition": v.condition or unsaid}) for v in read_votes(path, presentation, problem)]
    folder = store.folder / FOLDER
    folder.mkdir(exist_ok=True)
    kept = [vote.model_dump_json(exclude_none=True) for vote in votes]
    # At once or not at all: an end in the middle must not cost the votes of an earlier file.
    part = folder / f".{path.stem}.jsonl.part"
    part.write_text("".join(line + "\n" for line in kept), encoding="utf-8")
    part.replace(folder / f"{path.stem}.jsonl")


def kept_votes(store: RunStore) -> list[Vote]:
    """All votes of all files that were added; of those from a run's page, which one file may repeat of another, each once."""
    every = [
        Vote.model_validate_json(line)
        for path in sorted((store.folder / FOLDER).glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").split("\n")
        if line
    ]
    of_page = dict.fromkeys(vote for vote in every if vote.run)
    return [*(vote for vote in every if not vote.run), *of_page]


def count_votes(store: RunStore, *, keep_excluded: bool = False) -> CountedVotes:
    """Replace the run's rows of votes by those of the raters who count (or of all)."""
    votes = kept_votes(store)
    rows = [
        row.model_copy(update={"judge": RATER_PREFIX + row.judge}) for row in to_judgments(votes, keep_excluded=keep_excluded)
    ]
    _replace(store, rows)
    return CountedVotes(raters_of(votes), tuple(rows), sum(vote.check is None for vote in votes))


def _replace(store: RunStore, rows: Sequence[Judgment]) -> None:
    stood = {(r.judge, r.presentation, r.condition) for r in store.judgments() if r.judge.startswith(RATER_PREFIX)}
    for judge, presentation, condition in sorted(stood | {(r.judge, r.presentation, r.condition) for r in rows}):
        mine = [r for r in rows if (r.judge, r.presentation, r.condition) == (judge, presentation, condition)]
        store.replace_judgments({judge}, mine, presentation, condition)
