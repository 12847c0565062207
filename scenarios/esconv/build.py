"""The whole build as one pure function from dialogues to contexts, with the counts and removals of each step.

The order matters only for the counts: cheap steps first. Removals are listed with the reason and the words, because
the rules remove too much rather than too little, and a person should be able to review them.
"""

import hashlib
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ConfigDict

from harness.scenarios.context import Context, Reference, SpeechDirections, Turn
from harness.scenarios.emotions import EMOTIONS
from harness.scenarios.esconv.potential import potential
from harness.scenarios.esconv.read import Couplet, Dialogue, couplets
from harness.scenarios.screens import Finding, screen_text

LICENCE = "CC BY-NC 4.0 (ESConv); research use, not to be passed on"
REGULAR = 280
PER_DIALOGUE = 2
LEAST_HISTORY, MOST_HISTORY = 3, 23
"""Turns of a history: at least one exchange about the matter before the turn, at most what a judge can read at a sitting."""
LEAST_APART = 4
"""Least distance of two turns from one dialogue; closer ones would be nearly the same item twice."""

SecondScreen = Callable[[Context], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Removal:
    """One couplet that was removed after the potential screen, with the reason."""

    id: str
    step: str
    reason: str
    words: str


@dataclass(slots=True)
class BuildReport:
    """Counts of every step, in order, and every removal."""

    steps: dict[str, int] = field(default_factory=dict)
    removals: list[Removal] = field(default_factory=list)
    cells: dict[str, int] = field(default_factory=dict)
    second_screen: str = "not run: no model configured"

    @property
    def removed(self) -> dict[str, int]:
        """Removals by reason, commonest first."""
        counted = Counter(r.step if r.step == "same story" else f"{r.step}: {r.reason}" for r in self.removals)
        return dict(sorted(counted.items(), key=lambda row: (-row[1], row[0])))


@dataclass(frozen=True, slots=True)
class BuildResult:
    """Contexts in the order of their ids in the source, and the report of the build."""

    contexts: tuple[Context, ...]
    report: BuildReport


def build(
    dialogues: Sequence[Dialogue], *, regular: int = REGULAR, seed: int = 0, second: SecondScreen | None = None
) -> BuildResult:
    """The contexts and the report: `regular` items from ESConv (fewer if the screens leave fewer, as the report says).

    The same dialogues and seed give the same items. `second` screens the chosen items again (a model, if one is
    configured); items that it finds are removed and replaced.
    """
    report = BuildReport()
    all_couplets = [couplet for dialogue in dialogues for couplet in couplets(dialogue)]
    report.steps["dialogues"] = len(dialogues)
    report.steps["couplets"] = len(all_couplets)
    high_stakes = [
        c for c in all_couplets if LEAST_HISTORY <= len(c.history) <= MOST_HISTORY and potential(c.seeker.text).is_high_stakes
    ]
    report.steps["with response potential"] = len(high_stakes)
    passed = [c for c in high_stakes if not _removed(c, report)]
    report.steps["past the screens"] = len(passed)
    report.steps["dialogues past the screens"] = len({c.dialogue.key for c in passed})
    told_before = copies(passed)
    report.removals += [
        Removal(c.id, "same story", f"as in {told_before[c.dialogue.key]}", "") for c in passed if c.dialogue.key in told_before
    ]
    fresh = [c for c in passed if c.dialogue.key not in told_before]
    report.steps["told once"] = len(fresh)
    candidates = [c for group in _by_dialogue(fresh) for c in most_telling(group)]
    report.steps["at most two a dialogue"] = len(candidates)
    if second is not None:
        candidates = [c for c in candidates if not _removed_by(second, c, report)]
        report.second_screen = f"run over {report.steps['at most two a dialogue']} candidates"
        report.steps["past the second screen"] = len(candidates)
    kept = fill_places(
        candidates,
        {k: (c.dialogue.emotion, c.dialogue.problem) for k, c in enumerate(candidates)},
        {k: potential(c.seeker.text).score for k, c in enumerate(candidates)},
        regular,
        seed,
    )
    report.steps["chosen"] = len(kept)
    cells = Counter(f"{c.dialogue.emotion} × {c.dialogue.problem}" for c in kept)
    report.cells = dict(sorted(cells.items(), key=lambda row: (-row[1], row[0])))
    return BuildResult(tuple(map(as_context, kept)), report)


def most_telling(group: Sequence[Couplet]) -> list[Couplet]:
    """At most two couplets of one dialogue: the highest score, then the next that is far enough from it."""
    ranked = sorted(group, key=lambda c: (-potential(c.seeker.text).score, c.turn))
    kept: list[Couplet] = []
    for couplet in ranked:
        if len(kept) < PER_DIALOGUE and all(abs(couplet.turn - k.turn) >= LEAST_APART for k in kept):
            kept.append(couplet)
    return sorted(kept, key=lambda c: c.turn)


def as_context(couplet: Couplet) -> Context:
    """The context of a couplet; the supporter's own next turn is its original completion."""
    talk = couplet.dialogue
    turns = [Turn(role=t.role, text=t.text, strategy="; ".join(t.strategies) or None) for t in couplet.history]
    spoken = Turn(role="seeker", text=couplet.seeker.text, speech=SpeechDirections(emotion=talk.emotion))
    original = Reference(id="original", author="original", text=couplet.answer.text, strategies=couplet.answer.strategies)
    return Context(
        id=f"esconv-{couplet.id}".replace("esconv-esconv-", "esconv-"),
        subset="regular",
        emotion=talk.emotion,
        problem=talk.problem,
        situation=talk.situation,
        turns=(*turns, spoken),
        references=(original,),
        source=f"ESConv (Liu et al., 2021), {couplet.id}",
        licence=LICENCE,
    )


def _by_dialogue(passed: Sequence[Couplet]) -> Iterator[list[Couplet]]:
    groups: dict[str, list[Couplet]] = defaultdict(list)
    for couplet in passed:
        groups[couplet.dialogue.key].append(couplet)
    yield from groups.values()


def _removed(couplet: Couplet, report: BuildReport) -> bool:
    if fault := fault_in_talk(couplet):
        report.removals.append(Removal(couplet.id, "readable", fault, couplet.seeker.text[:60]))
        return True
    if why := reason_for_removal(couplet):
        report.removals.append(Removal(couplet.id, "read by a person", why, ""))
        return True
    texts = (couplet.dialogue.situation, *(t.text for t in couplet.history), couplet.seeker.text, couplet.answer.text)
    for text in texts:
        for finding in screen_text(text):
            report.removals.append(Removal(couplet.id, finding.screen, finding.reason, finding.words))
            return True
    return False


def _removed_by(second: SecondScreen, couplet: Couplet, report: BuildReport) -> bool:
    for finding in second(as_context(couplet)):
        report.removals.append(Removal(couplet.id, "second screen", finding.reason, finding.words))
        return True
    return False


LONG_RUN, SHORT_RUN, SHORT_RUNS = 9, 6, 3


def copies(couplets: Iterable[Couplet]) -> dict[str, str]:
    """The key of each dialogue that repeats an earlier one, with the key of the earlier one.

    Two dialogues are the same story when their seekers share a run of nine words, or three runs of six: people who meet by
    chance share "I don't know what to do", not a dozen words of one story. The first of them stays: a worker pasted one
    opening into many chats, and the copies are not new items.
    """
    first_with: dict[tuple[str, ...], str] = {}
    found: dict[str, str] = {}
    for key, said in _said_by_dialogue(couplets).items():
        words = re.findall(r"[a-z0-9']+", said.lower())
        shared: Counter[str] = Counter()
        for length, weight in ((LONG_RUN, SHORT_RUNS), (SHORT_RUN, 1)):
            for run in {tuple(words[k : k + length]) for k in range(len(words) - length + 1)}:
                if run in first_with:
                    shared[first_with[run]] += weight
        near = sorted((key_before for key_before, n in shared.items() if n >= SHORT_RUNS), key=lambda k: (-shared[k], k))
        if near:
            found[key] = near[0]
            continue
        for length in (LONG_RUN, SHORT_RUN):
            for k in range(len(words) - length + 1):
                first_with.setdefault(tuple(words[k : k + length]), key)
    return found


def _said_by_dialogue(couplets: Iterable[Couplet]) -> dict[str, str]:
    said: dict[str, list[str]] = defaultdict(list)
    for couplet in couplets:
        if couplet.dialogue.key not in said:
            talk = couplet.dialogue
            said[talk.key] = [talk.situation, *(u.text for u in talk.utterances if u.role == "seeker")]
    return {key: " . ".join(texts) for key, texts in said.items()}


FINGERPRINT_LETTERS = 12


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    talk: str
    turn: int | None = None
    why: str


def fingerprint(dialogue: Dialogue) -> str:
    """The fingerprint of a dialogue: twelve hex digits over the letters and digits of all its messages.

    The list of removed talks names them by it, so that it fits both layouts and quotes nothing. It belongs to ESConv as
    published; on other data no fingerprint matches and nothing happens.
    """
    said = re.sub(r"[^a-z0-9]", "", "".join(u.text for u in dialogue.utterances).lower())
    return hashlib.sha256(said.encode()).hexdigest()[:FINGERPRINT_LETTERS]


def reason_for_removal(couplet: Couplet) -> str | None:
    """The reader's reason to remove this couplet (or the whole dialogue); None if it was not removed.

    Some turns pass all rules but not a careful person who read the built items.
    """
    listed = _listed()
    talk = fingerprint(couplet.dialogue)
    return listed.get((talk, couplet.turn)) or listed.get((talk, None))


@cache
def _listed() -> dict[tuple[str, int | None], str]:
    raw = yaml.load((Path(__file__).parent / "reviewed.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    return {(e.talk, e.turn): e.why for e in map(_Entry.model_validate, raw)}


_LETTERS = re.compile(r"[A-Za-z]")
_WORD = re.compile(r"[A-Za-z']+")
_NUMBERED = re.compile(r"[.!?a-z] ?\(?\d{1,2}\)?\.?$")
MOST_NUMBERED = 3
"""Numbered messages of a writer: one turn may end in a number by chance, three do not."""
MOST_CHARACTERS = 2_000
"""Longest turn in characters: some two minutes of speech, also the limit of a reference."""
LEAST_ANSWER_WORDS = 6
"""Least words of an original completion: "ok" or "I see" cannot be ranked."""
LEAST_SEEKER_WORDS = 20
"""Least words of the seeker in total, so that a judge can decide if a reply is attuned to them."""


def fault_in_talk(couplet: Couplet) -> str | None:
    """The first fault of the conversation up to this turn, or None.

    Response potential is about one turn; these rules are about the conversation around it, which a careful person would not
    show to a rater: swapped roles, an absent side, text that is not language, an empty answer.
    """
    text = couplet.seeker.text
    seeker_before = " ".join(t.text for t in couplet.history if t.role == "seeker")
    if couplet.dialogue.emotion not in EMOTIONS:
        return "a label of emotion that is not known here"
    if max(len(t.text) for t in (*couplet.history, couplet.seeker, couplet.answer)) > MOST_CHARACTERS:
        return "a turn is longer than anybody speaks"
    if couplet.turns_after == 0:
        return "the talk ends at this turn"
    if len(_LETTERS.findall(text)) < 0.7 * len(text.replace(" ", "")):
        return "not plain language"
    words = _WORD.findall(text)
    if sum(word.isupper() and len(word) > 1 for word in words) > max(3, len(words) // 4):
        return "written in capitals"
    if len(_WORD.findall(couplet.answer.text)) < LEAST_ANSWER_WORDS:
        return "the original completion is too short"
    if len(_WORD.findall(seeker_before)) + len(words) < LEAST_SEEKER_WORDS:
        return "the seeker has said too little"
    if any(potential(t.text).request >= 4 and "i " in t.text.lower()[:3] for t in couplet.history if t.role == "supporter"):
        return "the supporter seeks help"
    if sum(bool(_NUMBERED.search(t.text)) for t in (*couplet.history, couplet.seeker)) >= MOST_NUMBERED:
        return "the messages are numbered"
    if len({t.text.lower() for t in couplet.history}) < len(couplet.history):
        return "a turn is repeated"
    return None


T = TypeVar("T")
Cell = tuple[str, str]

CELL_CAP_SHARE = 0.12
"""Largest share of the set in one cell: without it the largest (anxiety × job crisis) would approach a fifth."""


def places(available: Mapping[Cell, int], total: int, cap: int) -> dict[Cell, int]:
    """The places of each cell; their sum is `total`, or less if the cap requires. Largest remainders; ties by cell name.

    Square-root allocation: a cell gets places in proportion to the square root of its candidates, so that the common cells do
    not dominate the rare ones and the rare ones do not seem common. No cell gets more than its cap or than it has.
    """
    room = {cell: min(n, cap) for cell, n in available.items() if n > 0}
    given = dict.fromkeys(room, 0)
    left = min(total, sum(room.values()))
    while left > 0:
        open_cells = [cell for cell in room if given[cell] < room[cell]]
        weights = {cell: math.sqrt(available[cell]) for cell in open_cells}
        share = left / sum(weights.values())
        exact = {cell: min(weights[cell] * share, room[cell] - given[cell]) for cell in open_cells}
        whole = {cell: math.floor(exact[cell]) for cell in open_cells}
        if sum(whole.values()) == 0:
            for cell in sorted(open_cells, key=lambda c: (-(exact[c] - whole[c]), c))[:left]:
                given[cell] += 1
            return given
        for cell, n in whole.items():
            given[cell] += n
        left -= sum(whole.values())
    return given


def fill_places(
    candidates: Sequence[T], cell_of: Mapping[int, Cell], score_of: Mapping[int, float], total: int, seed: int
) -> list[T]:
    """The candidates that fill the places, by index into `candidates`: best score first, equals in seeded order."""
    order = list(range(len(candidates)))
    random.Random(seed).shuffle(order)
    cells: dict[Cell, list[int]] = defaultdict(list)
    for k in sorted(order, key=lambda k: -score_of[k]):
        cells[cell_of[k]].append(k)
    given = places({cell: len(ks) for cell, ks in cells.items()}, total, max(1, math.floor(total * CELL_CAP_SHARE)))
    kept = sorted(k for cell, ks in cells.items() for k in ks[: given.get(cell, 0)])
    return [candidates[k] for k in kept]
