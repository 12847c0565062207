"""The whole build as one pure function from dialogues to contexts, with the counts and removals of each step.

The order matters only for the counts: cheap steps first. Removals are listed with the reason and the words, because
the rules remove too much rather than too little, and a person should be able to review them.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from harness.scenarios.context import Context, Reference, SpeechDirections, Turn
from harness.scenarios.esconv.allocate import chosen
from harness.scenarios.esconv.couplets import Couplet, couplets
from harness.scenarios.esconv.potential import potential
from harness.scenarios.esconv.read import Dialogue
from harness.scenarios.esconv.readable import fault_in_talk
from harness.scenarios.esconv.reviewed import reason_for_removal
from harness.scenarios.esconv.same_story import copies
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
    kept = chosen(
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
