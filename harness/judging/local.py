"""A language model on this machine as judge: llama.cpp, the probabilities of one letter, in both orders.

Questions are asked one after another, because two questions share a prefix that is read once (`single_token`), and a server
with several slots would spread questions on one context over them. The order of a pair is fixed by the judge itself, whichever
order was given, so that the verdict cannot depend on the order shown.

The log odds of a model say how sure it seems, and not how often it is right. So they are stored in the verdict as they are, the
check against people shows how often it is right at each of them, and no strength is stated: every verdict weighs the same.
"""

import asyncio
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.judging import single_token as letters
from harness.judging.judge import Place, PlaceMark, Question, Verdict
from harness.judging.llama_cpp import LlamaCpp
from harness.judging.settings import JudgeOfSettings, JudgeSettings
from harness.scenarios.context import Turn

METHOD: Final = "letters-1"
NO_STRENGTH: Final = 1
"""Strength of every verdict and mark: the least, because nothing has shown what the odds are worth."""
AXIS_IS_CLEAR_FROM: Final = 1.7
"""Averaged log odds from which an axis has a winner: 85 to 15, as in the embedded judge."""
_TRIAL: Final = Question((Turn(role="seeker", text="I lost my keys."),), "That is a nuisance. Where were you last?", "Bananas.")


@dataclass(frozen=True, slots=True)
class _Read:
    """Log odds by question that the first reply is better, and the tokens that had to be read for them."""

    odds: Mapping[str, float]
    tokens: int


class LocalJudge(JudgeOfSettings):
    """A chat model under llama.cpp. The model is loaded while entered."""

    orders_itself = True

    def __init__(self, settings: JudgeSettings, sha256: str = "", model: Path | None = None) -> None:
        """`model` is the file to serve; without, the server at `settings.base_url` is asked."""
        super().__init__(settings)
        self._sha256 = sha256
        self._asked = LlamaCpp(settings, model)
        self._gate = asyncio.Lock()
        self._last: tuple[Question, _Read] | None = None

    @property
    def fingerprint(self) -> str:
        s = self._settings
        facts = [s.id, s.version, s.family, self._sha256 or [s.base_url, s.model], METHOD, letters.prompt_hash()]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]

    async def __aenter__(self) -> "LocalJudge":
        await self._asked.open(lambda: self._log_odds(_TRIAL, letters.OVERALL))
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._asked.close()

    async def compare(self, question: Question) -> Verdict:
        """Ask the whole, and the five axes where they count, in both orders; the averaged log odds decide."""
        as_given = _place(question) <= _place(question.swapped())
        asked = question if as_given else question.swapped()
        async with self._gate:
            if self._last is None or self._last[0] != asked:
                self._last = asked, await self._read(asked)
            read = self._last[1]
        odds = {name: value if as_given else -value for name, value in read.odds.items()}
        whole = odds.pop(letters.OVERALL)
        axes = {a: PlaceMark(_winner(d, as_given), NO_STRENGTH) for a, d in odds.items() if abs(d) >= AXIS_IS_CLEAR_FROM}
        return Verdict(
            _winner(whole, as_given),
            NO_STRENGTH,
            axes,
            tokens_in=read.tokens,
            tokens_out=2 * len(read.odds),
            log_odds=whole,
        )

    async def _read(self, question: Question) -> _Read:
        names = (letters.OVERALL,) if question.whole_alone else letters.QUESTIONS
        tokens, seen = 0, []
        for shown in (question, question.swapped()):
            for name in names:
                odds, read = await self._log_odds(shown, name)
                tokens += read
                seen.append(odds)
        pairs = zip(names, seen[: len(names)], seen[len(names) :], strict=True)
        return _Read({name: letters.both_orders(one, other) for name, one, other in pairs}, tokens)

    async def _log_odds(self, shown: Question, name: str) -> tuple[float, int]:
        return await self._asked.log_odds(await self._asked.prompt([{"role": "user", "content": letters.message(shown, name)}]))


def _place(question: Question) -> tuple[str, list[str], str]:
    return question.first, [turn.text for turn in question.turns], question.second


def _winner(odds: float, as_given: bool) -> Place:
    """The winner; an exact tie goes to the reply that is first in alphabetical order, whichever order was given."""
    return "first" if odds > 0 or (odds == 0 and as_given) else "second"
