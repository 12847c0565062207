"""How often each flag is raised: on replies that have the fault, on honest ones, and on chatbots' turns that people ranked.

Run: `python -m benchmarks.reply_flags IEVAL_FILE ESCONV_TEST [--write]`. Honest replies are this project's authors' (graded 3
and above) and the supporters' turns of ESConv's test part (Liu et al. 2021), which took no part in the choice of any rule; its
training part did. Faulty ones are made by the program of `judging_reader.made`: a figure of these says that a rule does what it
is meant to, and not how often agents do such a thing.
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.judging_reader import faults, material
from benchmarks.judging_reader.made import with_faults
from harness.figures.reply_flags import FLAGS
from harness.scenarios.context import Turn

RECORD = material.SETS / "flags_record.json"
ROLES = {"S": "seeker", "P": "supporter"}
Asked = tuple[tuple[Turn, ...], str]


def main() -> None:
    people, strangers = (Path(word) for word in sys.argv[1:3])
    groups = [g for each in material.authors().values() for g in with_faults(each, seed=1)]
    found: dict[str, object] = {"our honest replies": raised(asked(groups, faults.is_honest))}
    found["people's honest replies"] = raised(esconv(strangers))
    for fault in ("echo", "language"):
        found[f"made: {fault}"] = raised(asked(groups, partial(has_fault, fault=fault)))
    ranked = material.ieval(people)
    for name, worth in (("first", 1.0), ("middle", 0.5), ("last", 0.0)):
        found[f"bots that a person ranked {name}"] = raised(asked(ranked, partial(has_worth, worth=worth)))
    for name, rates in found.items():
        print(f"{name:36} {rates}")
    if "--write" in sys.argv:
        RECORD.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def has_fault(group: material.Group, reply: material.Reply, *, fault: str) -> bool:
    return faults.fault_of(group, reply) == fault


def has_worth(_: material.Group, reply: material.Reply, *, worth: float) -> bool:
    return reply.worth == worth


def asked(groups: Iterable[material.Group], wanted: Callable[[material.Group, material.Reply], bool]) -> list[Asked]:
    """The replies that are wanted, each with the turns that it answers."""
    found = []
    for group in groups:
        own = (*group.own, *(group.turns,) * (len(group.replies) - len(group.own)))
        found += [(turns_of(t), r.text) for t, r in zip(own, group.replies, strict=True) if wanted(group, r)]
    return found


def raised(replies: Sequence[Asked]) -> dict[str, int]:
    """How many replies there are, and on how many each flag is raised."""
    return {"replies": len(replies)} | {name: sum(shows(*one) for one in replies) for name, shows in FLAGS.items()}


def esconv(path: Path) -> list[Asked]:
    """Every supporter's turn after a seeker's, with the six turns before it."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        turns: list[Turn] = []
        for said in json.loads(line)["dialog"]:
            turn = Turn(role="supporter" if said["speaker"] == "sys" else "seeker", text=said["text"].strip() or ".")
            if turn.role == "supporter" and turns and turns[-1].role == "seeker":
                found.append((tuple(turns[-6:]), turn.text))
            turns.append(turn)
    return found


def turns_of(lines: Sequence[str]) -> tuple[Turn, ...]:
    return tuple(Turn.model_validate({"role": ROLES[line[0]], "text": line[3:]}) for line in lines)


if __name__ == "__main__":
    main()
