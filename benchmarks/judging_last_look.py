"""A judge on the second set of red lines, once per fingerprint, and the look written down beside the set.

Run: `python -m benchmarks.judging_last_look JUDGE` (`local:FILE.gguf` for a local model). A set that guides a change is no
longer unseen, and nobody can prove afterwards how often they looked. So every look is recorded before its figures are printed,
and a second one at the same judge is refused; `judging_sets/red_lines_last_look.md` has the rule.

Each pair has a conversation of its own, so pairs are independent and a resample of clusters would add nothing. Families have as
few as seven pairs, and most judges miss none or all of some: an exact interval has an answer there, a bootstrap has not. A pair
whose two orders disagree is half right; its half is taken as wrong for the lower bound and as right for the upper one.
"""

import argparse
import asyncio
import hashlib
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, TypeAdapter, ValidationError

from harness.errors import UserError
from harness.judging.cache import VerdictCache, ask_all, ask_both
from harness.judging.judge import Judge, JudgeFailure, Question
from harness.judging.load_judge import open_judge
from harness.judging.schema import Strict
from harness.progress import RunProgress
from harness.scenarios.context import Turn
from harness.statistics.interval import TAIL
from harness.statistics.share_bounds import clopper_pearson
from harness.verdicts.judge import weights_for
from harness.wording import counted, share, share_band

FOLDER: Final = Path(__file__).parent / "judging_sets"
PAIRS: Final = FOLDER / "red_lines_last_look.jsonl"
RECORD: Final = FOLDER / "red_lines_looks.json"


class RedLine(Strict):
    """One line of the set: a conversation, a reply that serves it, and one that crosses a line of this family."""

    id: str
    family: str
    length: Literal["short_right", "long_right", "equal"]
    turns: Annotated[tuple[Turn, ...], Field(min_length=1)]
    better: str
    worse: str


class Share(Strict):
    """The share of a group's pairs on which a judge was right, with its 95 % interval."""

    pairs: int
    accuracy: float
    interval: tuple[float, float]


class Look(Strict):
    """One look at the set: the judge, when, and all that was seen."""

    judge: str
    fingerprint: str
    date: str
    set: str
    missing: int
    """Pairs without an answer in both orders; no figure counts them."""
    flip_rate: float
    overall: Share
    families: dict[str, Share]
    lengths: dict[str, Share]


_LOOKS: Final = TypeAdapter(tuple[Look, ...])


@dataclass(frozen=True, slots=True)
class Answered:
    """A pair with the judge's score on it: 1 right, 0 wrong, ½ where the two orders disagree."""

    line: RedLine
    score: float


def read_red_lines(path: Path) -> tuple[RedLine, ...]:
    """The pairs of a file, in its order.

    Raises:
        UserError: the file is absent, empty, or a line of it is no such pair.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); name a file of red lines") from error
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            found.append(RedLine.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise UserError(f"{path}, line {number}: {place or 'JSON'}: {first['msg']}; correct the line") from error
    if not found:
        raise UserError(f"{path}: holds no pair; restore the file")
    return tuple(found)


def read_looks(path: Path) -> tuple[Look, ...]:
    """All looks so far.

    Raises:
        UserError: the record is absent or damaged. It is never begun anew, because looks would be forgotten.
    """
    try:
        return _LOOKS.validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise UserError(f"{path}: the record of looks cannot be read; restore it from version control") from error


async def answers_of(judge: Judge, lines: Sequence[RedLine]) -> list[Answered]:
    """The judge's answers, asked in both orders; pairs without an answer are absent."""

    async def one(line: RedLine) -> Answered | None:
        try:
            (forward, _), (backward, _) = await ask_both(judge, Question(line.turns, line.better, line.worse), cache)
        except JudgeFailure:
            return None
        return Answered(line, ((forward.winner == "first") + (backward.winner == "second")) / 2)

    with VerdictCache() as cache:
        answers = await ask_all(judge, lines, one, lambda line: line.id, None)
    return [answer for answer in answers if answer is not None]


def share_of(scores: Iterable[float]) -> Share:
    """The share of one group of answered pairs."""
    given = list(scores)
    right, n = sum(given), len(given)
    return Share(
        pairs=n,
        accuracy=right / n,
        interval=(clopper_pearson(math.floor(right), n, TAIL)[0], clopper_pearson(math.ceil(right), n, TAIL)[1]),
    )


def shares_by(answered: Sequence[Answered], group: Callable[[RedLine], str]) -> dict[str, Share]:
    """The share of each group, in the groups' first order."""
    names = dict.fromkeys(group(a.line) for a in answered)
    return {name: share_of(a.score for a in answered if group(a.line) == name) for name in names}


def look(judge: Judge, pairs: Path, record: Path, today: str) -> Look:
    """The figures of a judge that was never asked about this set, after they were added to the record.

    Raises:
        UserError: a bad file, a second look, or a judge that answered nothing (which is no look, and is not recorded).
    """
    earlier, lines = read_looks(record), read_red_lines(pairs)
    for seen in earlier:
        if seen.fingerprint == judge.fingerprint:
            raise UserError(f"{judge.id}: was asked on {seen.date}, and one look is all; its figures are in {record}")
    answered = asyncio.run(answers_of(judge, lines))
    if not answered:
        raise UserError(f"{judge.id}: answered no pair; try it with `harness judge --check` first. No look was recorded")
    found = Look(
        judge=judge.id,
        fingerprint=judge.fingerprint,
        date=today,
        set=hashlib.sha256(pairs.read_bytes()).hexdigest()[:16],
        missing=len(lines) - len(answered),
        flip_rate=sum(a.score == 0.5 for a in answered) / len(answered),
        overall=share_of(a.score for a in answered),
        families=shares_by(answered, lambda line: line.family),
        lengths=shares_by(answered, lambda line: line.length),
    )
    record.write_bytes(_LOOKS.dump_json((*earlier, found), indent=1) + b"\n")
    return found


def in_words(found: Look) -> str:
    """The look as a table: one row for each family and each length class, and the whole last."""
    rows = [*found.families.items(), *found.lengths.items(), ("all", found.overall)]
    wide = max(len(name) for name, _ in rows)
    table = [f"{n:<{wide}}  {s.pairs:>4} {share(s.accuracy):>6}  {share_band(s.interval)}" for n, s in rows]
    end = f"{counted(found.missing, 'pair')} not answered; the orders disagreed on {share(found.flip_rate)}"
    return "\n".join([f"{found.judge} ({found.fingerprint[:12]}), {found.date}", *table, end])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("judge", help="a shipped name, local:FILE.gguf, or a .toml file")
    parser.add_argument("--pairs", type=Path, default=PAIRS)
    parser.add_argument("--record", type=Path, default=RECORD)
    chosen = parser.parse_args()
    try:
        with RunProgress() as progress:
            judge = open_judge(chosen.judge, weights_for(chosen.judge, progress))
            progress.phase(f"{judge.id} on the second red lines")
            found = look(judge, chosen.pairs, chosen.record, datetime.now(UTC).date().isoformat())
        print(in_words(found))
    except UserError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from error


if __name__ == "__main__":
    main()
