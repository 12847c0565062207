"""Replies with the fifteen strategies labelled twice by a program, so that a labeller can be measured before people are asked.

No person labelled any of this, and the first row of each pass says so: agreement with it is agreement with a program. The two
passes were made apart from each other, in different orders, from the guide alone. Cells on which they disagree stay open:
one of the two settling them would be one opinion called two.

`source` says where a reply is from: `origin:` a reply of `benchmarks/judging_origins`, `pack:` a reference of a pack,
`written:` written for this set to a context of a pack, because several strategies are rare in the others.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, TypeAdapter

from harness.judging.completion import Completion
from harness.judging.schema import Strict
from harness.labelling.label_sheets import Marks, TwoLabellers, compare
from harness.ranking.strategies import STRATEGIES, StrategyLabel
from harness.scenarios.context import Context, Turn

FOLDER: Final = Path(__file__).parent
PASSES: Final = ("pass_a", "pass_b")
SYSTEM: Final = "reply"
"""Name of the one system that all replies are filed under: each has a context of its own."""
CONSENSUS: Final = "program:consensus"
_ROLES: Final[Mapping[str, Literal["seeker", "supporter"]]] = {"S: ": "seeker", "P: ": "supporter"}


class ReplyToLabel(Strict):
    """One reply and the conversation that it answers. Turns begin with `S: ` (seeker) or `P: ` (supporter)."""

    id: str
    source: Annotated[str, Field(pattern=r"^(origin|pack|written):")]
    turns: Annotated[tuple[str, ...], Field(min_length=1)]
    reply: str

    @property
    def context(self) -> Context:
        """The conversation as a labeller is given it."""
        return Context(
            id=self.id,
            subset="regular",
            emotion="neutral",
            problem="not stated",
            turns=tuple(Turn(role=_ROLES[turn[:3]], text=turn[3:]) for turn in self.turns),
            source=self.source,
            licence="Apache-2.0",
        )

    @property
    def completion(self) -> Completion:
        """The reply as a labeller is given it."""
        return Completion(self.id, SYSTEM, self.reply)


class Head(Strict):
    """First row of a pass: its maker. There is no other value, because no person made one."""

    labelled_by: Literal["program"]
    about: str


class _Row(Strict):
    id: str
    present: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of the two passes on one strategy. `first`, `second` and `both` count the replies that it was marked on."""

    strategy: str
    first: int
    second: int
    both: int
    kappa: float | None


def replies() -> tuple[ReplyToLabel, ...]:
    """All replies, in a random order."""
    rows = TypeAdapter(list[ReplyToLabel])
    return tuple(rows.validate_python([json.loads(line) for line in _lines("replies")]))


def head(name: str) -> Head:
    """The first row of a pass."""
    return Head.model_validate_json(_lines(name)[0])


def marks(name: str) -> Marks:
    """The marks of one pass, by the number of the reply in `replies()`, counted from 1.

    Raises:
        ValueError: a reply is missing, is there twice or is none of the set's; or a strategy is none of the fifteen.
    """
    head(name)
    rows = [_Row.model_validate_json(line) for line in _lines(name)[1:]]
    numbers = {reply.id: number for number, reply in enumerate(replies(), start=1)}
    if sorted(row.id for row in rows) != sorted(numbers) or any(set(row.present) - set(STRATEGIES) for row in rows):
        raise ValueError(f"{name}: not every reply once, or a strategy that does not exist")
    return {(numbers[row.id], strategy): strategy in row.present for row in rows for strategy in STRATEGIES}


def both() -> TwoLabellers:
    """The agreement of the two passes over all cells."""
    first, second = (marks(name) for name in PASSES)
    return compare(first, second)


def agreement() -> tuple[Agreement, ...]:
    """The agreement of the two passes on each strategy."""
    first, second = (marks(name) for name in PASSES)
    found = []
    for strategy in STRATEGIES:
        one, other = ({cell: yes for cell, yes in given.items() if cell[1] == strategy} for given in (first, second))
        two = compare(one, other)
        found.append(Agreement(strategy, sum(one.values()), sum(other.values()), sum(two.agreed.values()), two.kappa))
    return tuple(found)


def settled() -> list[StrategyLabel]:
    """The labels on which both passes agree; an open cell has none."""
    ids = [reply.id for reply in replies()]
    return [
        StrategyLabel(
            context=ids[item - 1],
            system=SYSTEM,
            strategy=strategy,
            state="present" if present else "absent",
            labeller=CONSENSUS,
        )
        for (item, strategy), present in both().agreed.items()
    ]


def _lines(name: str) -> list[str]:
    return (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
