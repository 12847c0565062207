"""The rules on file, compiled once, and their findings in a text or in a whole context.

The rules are data so that somebody who knows the field and not the code can read, question and extend them; each names
a reason, and every removal is reported with the reason and the words.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from harness.scenarios.context import Context
from harness.scenarios.screens.spelling import one_spelling


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `screen` is safety, identity, clinical or frame; `reason` one of that screen's; `words` matched it.

    It has the words so that a person can review every removal.
    """

    screen: str
    reason: str
    words: str


_FOLDER = Path(__file__).parent / "rules"
MOST_WORDS_SHOWN = 60


class _Reason(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    reason: str
    patterns: tuple[str, ...]
    words: str = ""
    """Whole words with capitals, separated by blanks: a look-up in a set is faster than an alternation of hundreds."""
    misspelt: bool = False
    """Long words also with one letter missing, doubled or swapped with the next: "Virignia"."""


class _Rules(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    screen: str
    over: Literal["one_spelling", "raw"]
    where: dict[str, str]
    reasons: tuple[_Reason, ...]

    def compiled(self) -> tuple["_Rule", ...]:
        """One rule per reason, with a pattern of all its alternatives and `{NAME}` replaced by the fragment of that name."""
        return tuple(
            _Rule(
                self.screen,
                self.over,
                r.reason,
                re.compile("|".join(map(self._filled, r.patterns))),
                frozenset(r.words.split()) | (_slips(r.words.split()) if r.misspelt else frozenset()),
            )
            for r in self.reasons
        )

    def _filled(self, pattern: str) -> str:
        for name, fragment in self.where.items():
            pattern = pattern.replace(f"{{{name}}}", fragment)
        return f"(?:{pattern})" if not pattern.startswith("(?i)") else f"(?i:{pattern[4:]})"


@dataclass(frozen=True, slots=True)
class _Rule:
    screen: str
    over: str
    reason: str
    pattern: re.Pattern[str]
    words: frozenset[str]

    def first_in(self, text: str) -> str | None:
        if match := self.pattern.search(text):
            return match.group()
        if self.words:
            return next((word for word in _WORD.findall(text) if word in self.words), None)
        return None


_WORD = re.compile(r"[A-Za-z]+")
LEAST_LETTERS_TO_SLIP = 7
"""Least length for tolerance of slips: a shorter word is one slip from another word ("Maine", "Main")."""


def _slips(words: Iterable[str]) -> frozenset[str]:
    slips: set[str] = set()
    for word in (word for word in words if len(word) >= LEAST_LETTERS_TO_SLIP):
        for k in range(1, len(word)):
            slips.add(word[:k] + word[k + 1 :])
            slips.add(word[:k] + word[k] + word[k:])
            slips.add(word[:k] + word[k + 1 : k + 2] + word[k] + word[k + 2 :])
    return frozenset(slips)


@cache
def _all_rules() -> tuple[_Rule, ...]:
    rows: list[_Rule] = []
    for path in sorted(_FOLDER.glob("*.yaml")):
        rules = _Rules.model_validate(yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader))
        rows += rules.compiled()
    return tuple(rows)


def reasons() -> tuple[tuple[str, str], ...]:
    """All (screen, reason) pairs of the rules."""
    return tuple((rule.screen, rule.reason) for rule in _all_rules())


ALL = ("safety", "identity", "names", "clinical", "frame")
"""All screens. Packs written for the purpose use safety, identity and clinical, because their people are invented."""
FOR_WRITTEN_PACKS = ("safety", "identity", "clinical")
NOT_FOR_PEOPLE = ("safety", "clinical")
"""Screens of conversations that nobody is asked to answer or to vote on: crises, and illness. Distress and hostile callers are
HEART's subject."""


def fit_for_people(contexts: Iterable[Context]) -> tuple[Context, ...]:
    """The contexts that people vote on, hear or answer: those in which the screens find neither a crisis nor an illness."""
    return tuple(context for context in contexts if not screen_context(context, NOT_FOR_PEOPLE))


def screen_text(text: str, screens: Iterable[str] = ALL) -> tuple[Finding, ...]:
    """The findings in one text, at most one per reason, in the order of the files."""
    return _screened(text, frozenset(screens))


@lru_cache(maxsize=50_000)
def _screened(text: str, wanted: frozenset[str]) -> tuple[Finding, ...]:
    seen = {"raw": re.sub("[’‘`´]", "'", text), "one_spelling": one_spelling(text)}
    return tuple(
        Finding(rule.screen, rule.reason, words[:MOST_WORDS_SHOWN])
        for rule in _all_rules()
        if rule.screen in wanted and (words := rule.first_in(seen[rule.over]))
    )


def screen_context(context: Context, screens: Sequence[str] = ALL) -> tuple[Finding, ...]:
    """The findings in the situation and the turns of a context (references are replies under test and not screened)."""
    texts = [context.situation, *(turn.plain for turn in context.turns)]
    return tuple(finding for text in texts for finding in screen_text(text, screens))
