"""People's votes on a run: the files as received, and the rows of the raters who count.

The files stay in the run's folder unchanged, and the votes that count are computed from all of them each time. So an exclusion
can be reversed, and a rater in two files is checked by both. A file is known by its votes and never by its name, because every
person's file may be called `votes.csv`: a new one is stored beside the others, in order, and one that is there already is not
stored again. A file that was corrected needs no name either: of a rater's votes on one pair the last counts. A prefix separates
raters' names from judges'.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from harness.errors import UserError
from harness.files import own_folder, write_whole
from harness.statistics.effective import effective_number
from harness.store.judgment import Judgment, Presentation, reference_name
from harness.store.paths import VOTES
from harness.store.run_store import RunStore
from harness.tables.lines import lines_of
from harness.tables.names import NamesRead
from harness.votes.from_vote_file import votes_from_vote_file
from harness.votes.rater_exclusion import RaterQuality
from harness.votes.vote import Vote, raters_of, read_votes, rows_and_skips
from harness.wording import counted

RATER_PREFIX = "votes/"
MOST_OF_A_STEM: Final = 60
"""Characters of a file's name that are part of the stored one's, for whoever looks into the folder."""
_NUMBERED: Final = re.compile(r"(\d{4,8})-")


@dataclass(frozen=True, slots=True)
class CountedVotes:
    """The votes of a run. `rows` are those of the raters who count."""

    raters: tuple[RaterQuality, ...]
    rows: tuple[Judgment, ...]
    answers: tuple[Vote, ...]
    """Everything on file: votes, skipped pairs and quality checks, of all raters."""
    skipped: tuple[Vote, ...]
    """Pairs that the raters who count skipped."""
    files: Mapping[str, int]
    """Rater → number of files with answers of theirs."""

    @property
    def votes(self) -> int:
        """Number of votes on file, without quality checks and skipped pairs."""
        return sum(answer.is_vote for answer in self.answers)

    @property
    def counted(self) -> tuple[Judgment, ...]:
        """The rows that rate: of a rater's votes on one pair the last."""
        return tuple(row for row in self.rows if row.purpose == "main")

    @property
    def sizes(self) -> Counter[str]:
        """Rater → votes that rate, the most first."""
        return Counter(dict(Counter(row.judge.removeprefix(RATER_PREFIX) for row in self.counted).most_common()))

    @property
    def effective_raters(self) -> float:
        """Raters with equally many votes who would say as much: one with most of them leaves the others little to say."""
        return effective_number(np.array(list(self.sizes.values()), dtype=np.float64))

    @property
    def leading(self) -> tuple[str, float] | None:
        """The rater with over half of the votes of several, and the share."""
        sizes = self.sizes
        rater, most = next(iter(sizes.items()), ("", 0))
        return (rater, most / sizes.total()) if len(sizes) > 1 and 2 * most > sizes.total() else None

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on raters in several files, and on votes that a later one of the same rater replaces."""
        found = [
            f"{rater} is in {count} files and counts as one rater: if these are two people, give one of them another name."
            for rater, count in self.files.items()
            if count > 1
        ]
        if earlier := len(self.rows) - len(self.counted):
            found.append(
                f"{counted(earlier, 'earlier vote')} of a rater on a pair that they answered again left out: the last answer "
                "counts."
            )
        if self.leading is not None:
            rater, share = self.leading
            found.append(
                f"{rater} gave {100 * share:.0f} % of the votes that count: {counted(len(self.sizes), 'rater')} are worth "
                f"{self.effective_raters:.1f} who give as many each, so what people prefer is above all what {rater} prefers."
            )
        return tuple(found)


def add_votes(store: RunStore, path: Path, presentation: Presentation, condition: str | None = None) -> list[str]:
    """Notes on a file of votes, which is checked against the run and stored there beside all earlier ones: a CSV, or what one
    person sent from a vote file.

    `condition`: for rows that name none; a run with one condition needs neither.

    Raises:
        UserError: a bad file, or a vote on a reply that the run does not have; names file and line.
    """
    conditions = store.manifest.conditions
    unsaid = condition or (conditions[0] if len(conditions) == 1 else "")
    problem = _problems(store, unsaid)
    read: Sequence[Vote]
    if _is_from_a_vote_file(path):
        placed, notes = votes_from_vote_file(store, path)
        if wrong := next((f"{where}: {fault}" for vote, where in placed if (fault := problem(vote))), None):
            raise UserError(wrong)
        read = [vote for vote, _ in placed]
    else:
        names = NamesRead()
        read = read_votes(path, presentation, problem, names)
        notes = names.notes()
    votes = [v.model_copy(update={"condition": v.condition or unsaid}) for v in read]
    folder = store.folder / VOTES
    own_folder(folder)
    text = "".join(vote.model_dump_json(exclude_none=True) + "\n" for vote in votes)
    there, content = _files(store), text.encode()
    if any(file.stat().st_size == len(content) and file.read_bytes() == content for file in there):
        return [*notes, f"{path}: these votes were added before, and count once."]
    plain = re.sub(r"[^\w.-]+", "-", path.stem)[:MOST_OF_A_STEM]
    number = 1 + max(map(_number, there), default=0)
    write_whole(folder / f"{number:04d}-{plain}.jsonl", content)
    return notes


def _problems(store: RunStore, unsaid: str) -> Callable[[Vote], str | None]:
    """What is wrong with a vote on this run, if anything. `unsaid`: the condition of a vote that names none."""
    subset = {context.id: context.subset for context in store.contexts()}
    known = {agent.name for agent in store.manifest.agents}
    references = {(c.id, reference_name(r.id)) for c in store.contexts() for r in c.references}
    conditions = store.manifest.conditions

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

    return problem


def _is_from_a_vote_file(path: Path) -> bool:
    """True for JSON: no header of a table begins with a brace."""
    return next(lines_of(path), "").lstrip().startswith(("{", "["))


def _files(store: RunStore) -> list[Path]:
    """The files of votes, in the order in which they were added."""
    return sorted((store.folder / VOTES).glob("[!.]*.jsonl"), key=lambda file: (_number(file), file.name))


def _number(file: Path) -> int:
    found = _NUMBERED.match(file.name)
    return int(found[1]) if found else 0


def votes_on_file(store: RunStore, *, keep_excluded: bool = False) -> CountedVotes:
    """The votes of all files that were added; one that a later file repeats in every field, each once."""
    every: dict[Vote, None] = {}
    files: Counter[str] = Counter()
    votes: list[Vote] = []
    for file in _files(store):
        lines = file.read_text(encoding="utf-8").split("\n")
        new = [vote for line in lines if line and (vote := Vote.model_validate_json(line)) not in every]
        votes += new
        every |= dict.fromkeys(new)
        files.update({vote.rater for vote in new})
    rows, skipped = rows_and_skips(votes, keep_excluded=keep_excluded)
    named = tuple(row.model_copy(update={"judge": RATER_PREFIX + row.judge}) for row in rows)
    return CountedVotes(raters_of(votes), named, tuple(votes), skipped, dict(sorted(files.items())))


def count_votes(store: RunStore, *, keep_excluded: bool = False) -> CountedVotes:
    """Replace the run's rows of votes by those of the raters who count (or of all)."""
    found = votes_on_file(store, keep_excluded=keep_excluded)
    _replace(store, found.rows)
    return found


def _replace(store: RunStore, rows: Sequence[Judgment]) -> None:
    raters: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    new: defaultdict[tuple[str, str], list[Judgment]] = defaultdict(list)
    for row in (*store.judgments(), *rows):
        if row.judge.startswith(RATER_PREFIX):
            raters[row.presentation, row.condition].add(row.judge)
    for row in rows:
        new[row.presentation, row.condition].append(row)
    for board, judges in sorted(raters.items()):
        store.replace_judgments(judges, new[board], *board)
