"""People's odds of a pause at each kind of gap between words, from timed utterances of the patients of PriMock57.

    python -m benchmarks.pause_places utterances.csv         # seconds; prints what `scenarios/pause_places.py` holds

PriMock57 (Korfiatis et al. 2022, https://github.com/babylonhealth/primock57, CC BY 4.0) times utterances, not words, so pauses
are found twice over and added up:

* *between* utterances: 200 ms to 5 s of silence of both sides between two utterances of one speaker, counted by the kind of
  gap;
* *inside* them, where only the whole duration is known: it is split by least squares (no coefficient below zero) into time a
  syllable, by speaker, and extra time a gap of each kind. Extra time divided by the mean length of a pause by people's law
  gives a share of gaps.

What it cannot tell: extra time holds final lengthening too, so gaps inside an utterance are rather over- than underestimated,
and who transcribed may have parted utterances more readily after a sentence.
"""

import argparse
import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from harness.scenarios.pause_law import LONGEST_MS, SHORTEST_MS, TO_AGENTS
from harness.scenarios.pause_places import KINDS, Kind, kind_of_gap

DRAWS = 200
_LEAST_WORDS = 4
"""In shorter utterances the annotator's margins are a large part of the duration."""
_UNHEARD = re.compile(r"<(?:UNIN|INAUDIBLE_SPEECH)\s*/>")


@dataclass(frozen=True, slots=True)
class Utterance:
    """One timed utterance of PriMock57, marks of the transcriber taken out of its words."""

    talk: str
    speaker: str
    start_s: float
    end_s: float
    words: tuple[str, ...]
    whole: bool
    """Whether every word of it was heard."""


def read(path: Path) -> list[Utterance]:
    """Utterances in the order of the file (columns consultation, speaker, start_s, end_s, text)."""
    with path.open(encoding="utf-8", newline="") as file:
        return [_utterance(row) for row in csv.DictReader(file)]


def _utterance(row: Mapping[str, str]) -> Utterance:
    text = _UNHEARD.sub(" ", row["text"])
    words = tuple(w for w in re.sub(r"</?[A-Z_]+/?>", "", text).split() if any(c.isalnum() for c in w))
    whole = not _UNHEARD.search(row["text"])
    return Utterance(row["consultation"], row["speaker"], float(row["start_s"]), float(row["end_s"]), words, whole)


def between(talk: Sequence[Utterance], speaker: str) -> Iterator[Kind]:
    """Kinds of the silences of both sides between two utterances of one speaker."""
    own = sorted((u for u in talk if u.speaker == speaker and u.words), key=lambda u: u.start_s)
    others = [u for u in talk if u.speaker != speaker]
    for first, second in pairwise(own):
        silent_ms = 1_000 * (second.start_s - first.end_s)
        if SHORTEST_MS <= silent_ms <= LONGEST_MS and not any(
            o.start_s < second.start_s and o.end_s > first.end_s for o in others
        ):
            yield kind_of_gap((*first.words, *second.words), len(first.words))


def syllables(word: str) -> int:
    """Groups of vowels, a silent final e left out: right within one for nearly all English words."""
    groups = len(re.findall(r"[aeiouy]+", re.sub(r"e$", "", word.lower().strip(".,?!"))))
    return max(1, groups)


def inner_gaps(utterance: Utterance) -> Counter[Kind]:
    """How many gaps of each kind an utterance holds."""
    return Counter(kind_of_gap(utterance.words, k) for k in range(1, len(utterance.words)))


def odds(talks: Sequence[Sequence[Utterance]], speaker: str) -> dict[str, dict[str, float]]:
    """Pauses a gap of each kind, found between and inside utterances, and each kind's share of all pauses."""
    rows, durations, counts = [], [], Counter[Kind]()
    parted: Counter[Kind] = Counter()
    for k, talk in enumerate(talks):
        parted.update(between(talk, speaker))
        for utterance in (u for u in talk if u.speaker == speaker):
            gaps = inner_gaps(utterance)
            counts += gaps
            if not utterance.whole or len(utterance.words) < _LEAST_WORDS:
                continue
            pace = [0.0] * len(talks)
            pace[k] = float(sum(map(syllables, utterance.words)))
            rows.append([1.0, *(float(gaps[kind]) for kind in KINDS), *pace])
            durations.append(utterance.end_s - utterance.start_s)
    counts += parted
    found, _ = nnls(np.array(rows), np.array(durations))
    extra_s = dict(zip(KINDS, found[1 : 1 + len(KINDS)], strict=True))
    inside = {kind: float(extra_s[kind]) * 1_000 / TO_AGENTS.mean_ms() for kind in KINDS}
    apart = {kind: parted[kind] / max(counts[kind], 1) for kind in KINDS}
    total = {kind: inside[kind] + apart[kind] for kind in KINDS}
    pauses = sum(total[kind] * counts[kind] for kind in KINDS)
    return {
        kind: {
            "gaps": float(counts[kind]),
            "between": float(parted[kind]),
            "extra_s": float(extra_s[kind]),
            "pauses_a_gap": total[kind],
            "share": total[kind] * counts[kind] / pauses,
        }
        for kind in KINDS
    }


def main() -> None:
    """Print the figures, with 95 % intervals over consultations (seed 0)."""
    parser = argparse.ArgumentParser(description="Odds of a pause at each kind of gap, from PriMock57.")
    parser.add_argument("utterances", type=Path)
    parser.add_argument("--speaker", default="patient")
    asked = parser.parse_args()
    by_talk: dict[str, list[Utterance]] = {}
    for utterance in read(asked.utterances):
        by_talk.setdefault(utterance.talk, []).append(utterance)
    talks = [by_talk[name] for name in sorted(by_talk)]
    found = odds(talks, asked.speaker)
    rng = np.random.default_rng(0)
    drawn = [odds([talks[k] for k in rng.integers(0, len(talks), len(talks))], asked.speaker) for _ in range(DRAWS)]
    for kind in KINDS:
        for figure in ("pauses_a_gap", "share"):
            low, high = np.quantile([d[kind][figure] for d in drawn], (0.025, 0.975))
            found[kind] |= {f"{figure}_low": float(low), f"{figure}_high": float(high)}
        print(json.dumps({"kind": kind} | {name: round(value, 4) for name, value in found[kind].items()}))


if __name__ == "__main__":
    main()
