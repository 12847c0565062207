"""The judge that runs here: no key, no network, a fraction of a second a pair on two cores.

The small model asked "A or B?" is worse than useless (it names the same letter in nine pairs of ten, whatever stands
there), but its likelihoods know something: a reply that *this* conversation makes more likely than no conversation does is
attuned to it. So each reply is scored alone, and a pair is decided by the difference: the order shown cannot matter.
"""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from harness.judging.judge import PlaceMark, Question, Verdict
from harness.judging.language_model import LanguageModel, cleaned
from harness.judging.rubric import spoken_words
from harness.judging.settings import JudgeSettings
from scenarios.context import Turn

METHOD = "pmi-1"
STRENGTH_STEPS = (0.1, 0.25, 0.5, 0.9)
"""Score differences at which the strength rises from 1 to 5."""


class EmbeddedJudge:
    """SmolLM2 as a judge. The model is loaded while entered, and let go after."""

    orders_itself = True

    def __init__(self, settings: JudgeSettings, model_path: Path, threads: int = 2) -> None:
        self._settings = settings
        self._model_path = model_path
        self._threads = threads
        self._model: LanguageModel | None = None
        self._scores: dict[tuple[tuple[Turn, ...], str], float] = {}
        self._gate = asyncio.Lock()

    @property
    def id(self) -> str:
        return f"{self._settings.id}@{self._settings.version}"

    @property
    def family(self) -> str:
        return self._settings.family

    @property
    def concurrency(self) -> int:
        return 1

    @property
    def fingerprint(self) -> str:
        facts = [self._settings.id, self._settings.version, METHOD, self._model_path.name]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]

    async def __aenter__(self) -> "EmbeddedJudge":
        if self._model is None:
            self._model = await asyncio.to_thread(LanguageModel.load, self._model_path, self._threads)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._model = None

    async def compare(self, question: Question) -> Verdict:
        """Decide by the difference of the two replies' scores."""
        async with self._gate:
            first, second = await asyncio.to_thread(self._score, question.turns, (question.first, question.second))
        difference = first - second
        winner = "first" if difference > 0 else "second" if difference < 0 else _by_text(question)
        strength = 1 + sum(abs(difference) >= step for step in STRENGTH_STEPS)
        return Verdict(
            winner,  # type: ignore[arg-type]
            strength,
            axes={"A": PlaceMark(winner, strength)} if strength >= 3 else {},  # type: ignore[arg-type]
            rationale="The words fit this conversation better than they fit no conversation.",
        )

    def _score(self, turns: tuple[Turn, ...], replies: Sequence[str]) -> list[float]:
        if self._model is None:
            raise RuntimeError("an EmbeddedJudge is used as `async with judge:`")
        fresh = [reply for reply in dict.fromkeys(replies) if (turns, reply) not in self._scores]
        if fresh:
            here = [_dialogue(turns) + "\nSupporter:"] * len(fresh)
            texts = [" " + cleaned(reply) for reply in fresh]
            scored = self._model.log_probabilities(here + ["Supporter:"] * len(fresh), texts * 2)
            for n, reply in enumerate(fresh):
                self._scores[turns, reply] = float(scored[n].mean() - scored[n + len(fresh)].mean())
        return [self._scores[turns, reply] for reply in replies]


def _by_text(question: Question) -> str:
    """Equal scores are decided by the texts alone, so that the order shown still cannot matter."""
    return "first" if question.first <= question.second else "second"


def _dialogue(turns: Sequence[Turn]) -> str:
    return "\n".join(f"{turn.role.capitalize()}: {cleaned(spoken_words(turn.text))}" for turn in turns)
