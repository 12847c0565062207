"""A local model's accuracy on iEval and on the red lines, its processor time and memory (docs/evidence/judges.md).

Run: `python -m benchmarks.judging_local MODEL.gguf ieval_data.json ANSWERS.jsonl [--pairs N] [--red-lines N]`. Answers are
stored as they come, so that a run that was stopped continues, and a larger N adds to it.

One pair of each person is drawn from iEval, because the pairs of one person depend on each other and a slow model can answer
few: so each counts in full. Only the whole is asked, as in a check. Processor time and not the clock is reported, because it
hardly depends on what else the machine does; on a quiet core a pair takes as long.
"""

import argparse
import asyncio
import json
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Final

import psutil

from harness.judging.judge import Question
from harness.judging.load_judge import open_judge
from harness.judging.validation.red_lines import shipped_red_lines
from harness.scenarios.context import Turn
from harness.statistics.clustered_means import clustered_mean, clustered_share

SEED: Final = 34
"""Of the draws; any number would do, and it is not to be chosen by its result."""
BOTS: Final = ("Pink", "Purple", "Yellow", "Green")


@dataclass(frozen=True, slots=True)
class Pair:
    """A question whose first reply is the better one; `kind` is iEval, or a red line's length class."""

    id: str
    kind: str
    question: Question


def ieval_pairs(path: Path) -> list[Pair]:
    """One pair of each person: two chats on one event that the person ranked apart, each shown as its opening and the
    chatbot's turns joined."""
    rng, found = random.Random(SEED), []
    for task in json.loads(path.read_text(encoding="utf-8")):
        ranked = [
            (one, other) if one["Rating"] > other["Rating"] else (other, one)
            for event in ("positive", "negative")
            for one, other in ((task[event][a], task[event][b]) for a, b in combinations(BOTS, 2))
            if one["Rating"] != other["Rating"]
        ]
        if ranked:
            better, worse = ([said[2:].strip() for said in chat["chat_log"].split("\n")] for chat in rng.choice(ranked))
            opening = (Turn(role="seeker", text=better[0]),)
            asked = Question(opening, " ".join(better[1::2]), " ".join(worse[1::2]))
            found.append(Pair(f"ieval-{task['part']}", "ieval", asked))
    return found


def red_line_pairs() -> list[Pair]:
    """The red lines in an order drawn once, so that the first N are a random part."""
    rows = [Pair(row.id, row.length, Question(row.turns, row.better, row.worse)) for row in shipped_red_lines()]
    random.Random(SEED).shuffle(rows)
    return rows


async def answer(model: str, pairs: Sequence[Pair], answers: Path) -> None:
    """Ask what `answers` does not have yet, and print the server's processor time and memory."""
    answered = set(read(answers))
    todo = [pair for pair in pairs if pair.id not in answered]
    if not todo:
        return
    async with open_judge(f"local:{model}", {model: Path(model)}) as judge:
        server = next(
            child for child in psutil.Process(os.getpid()).children(recursive=True) if "llm_server" in str(child.cmdline())
        )
        began_s = sum(server.cpu_times()[:2])
        with answers.open("a", encoding="utf-8") as file:
            for done, pair in enumerate(todo, start=1):
                question = Question(pair.question.turns, pair.question.first, pair.question.second, whole_alone=True)
                verdict = await judge.compare(question)
                print(json.dumps({"id": pair.id, "right": verdict.winner == "first"}), file=file, flush=True)
                each_s = (sum(server.cpu_times()[:2]) - began_s) / done
                print(
                    f"{done}/{len(todo)}: {each_s:.1f} s of processor a pair, {_peak_mb(server.pid):,.0f} MB at most",
                    flush=True,
                )


def _peak_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()[0]) / 1000


def read(answers: Path) -> dict[str, float]:
    """Pair → 1 right, 0 wrong."""
    rows = map(json.loads, answers.read_text(encoding="utf-8").splitlines()) if answers.exists() else ()
    return {row["id"]: float(row["right"]) for row in rows}


def by_length(question: Question) -> float:
    """Score of "the longer reply wins"."""
    better, worse = len(question.first.split()), len(question.second.split())
    return 0.5 + 0.5 * ((better > worse) - (better < worse))


def main() -> None:
    """Ask, and print accuracy, that of the rule on the same pairs, and the difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("ieval", type=Path)
    parser.add_argument("answers", type=Path)
    parser.add_argument("--pairs", type=int, default=240)
    parser.add_argument("--red-lines", type=int, default=228)
    given = parser.parse_args()
    pairs = [*ieval_pairs(given.ieval)[: given.pairs], *red_line_pairs()[: given.red_lines]]
    asyncio.run(answer(given.model, pairs, given.answers))
    right = read(given.answers)
    for name, kinds in (
        ("iEval", ("ieval",)),
        ("red lines", ("short_right", "long_right", "equal")),
        *((k, (k,)) for k in ("short_right", "long_right", "equal")),
    ):
        scored = [(pair, right[pair.id]) for pair in pairs if pair.kind in kinds and pair.id in right]
        if scored:
            print(name, len(scored), clustered_share([(pair.id, score) for pair, score in scored]))
            print(
                "  the longer reply wins",
                clustered_share([(pair.id, by_length(pair.question)) for pair, _ in scored]),
            )
            print(
                "  difference",
                clustered_mean([(pair.id, score - by_length(pair.question)) for pair, score in scored], seed=SEED),
            )


if __name__ == "__main__":
    main()
