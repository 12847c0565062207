"""The judge that runs here: no key, no network, no language model, a few hundredths of a second per pair on two cores.

It is there to try the plumbing, and no program's default: on pairs that strangers rated it equals counting words (`WORTH`). It
was fitted on some two thousand replies written for this project; the fit is at the tag `benchmarks-0.3`. It scores each reply
alone, so the order shown cannot matter, gives no reason and marks no axes.
"""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from harness.judging.judge import Place, Question, Verdict
from harness.judging.prompt_injection import addresses_judge
from harness.judging.reply_features import reply_features
from harness.judging.sentence_encoder import SentenceEncoder, sentences
from harness.judging.settings import JudgeOfSettings, JudgeSettings
from harness.scenarios.context import Turn

NAME: Final = "embedded"
METHOD = "head-4"
WORTH: Final = (
    "equals counting words: right on 60.9 % of 3,627 pairs that strangers rated, where the longer reply is right on 57.2 %; "
    "on 12 % where the better reply is the short one. It is there to try the plumbing"
)
STRENGTH_STEPS = (0.8, 1.7, 2.6, 4.0)
"""Log odds at which the strength rises from 1 to 5: even odds or little more, 69 %, 85 %, 93 % and 98 %."""
_DATA: Final = resources.files("harness.judging") / "data"
INJECTION_COSTS = 3.0
"""Log odds taken off a reply that speaks to the judge: a supporter who does so no longer answers the seeker."""


@dataclass(frozen=True, slots=True)
class Head:
    """The weights of a ridge logistic regression on differences of two replies' vectors.

    No intercept and a linear score make it antisymmetric: exchanging the replies changes the sign and nothing else.
    """

    overall: NDArray[np.float64]
    version: str

    def scores(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """One score per reply: higher is better. Only differences mean anything; they are log odds."""
        return np.asarray(features @ self.overall, dtype=np.float64)


class EmbeddedJudge(JudgeOfSettings):
    """Discourse features and sentence embeddings under a small fitted head. Weights are loaded while entered."""

    orders_itself = True

    def __init__(self, settings: JudgeSettings, encoder_path: Path, threads: int = 2) -> None:
        super().__init__(settings)
        self._encoder_path = encoder_path
        self._threads = threads
        self._head = load_head()
        self._encoder: SentenceEncoder | None = None
        self._seen: dict[tuple[tuple[Turn, ...], str], float] = {}
        self._gate = asyncio.Lock()

    @property
    def fingerprint(self) -> str:
        facts = [self._settings.id, self._settings.version, METHOD, self._head.version]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]

    async def __aenter__(self) -> "EmbeddedJudge":
        if self._encoder is None:
            self._encoder = await asyncio.to_thread(SentenceEncoder.load, self._encoder_path, self._threads)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._encoder = None
        self._seen.clear()

    async def compare(self, question: Question) -> Verdict:
        """Decide by the difference of the two replies' scores."""
        async with self._gate:
            if question.second_turns is None:
                first, second = await asyncio.to_thread(self._scores, question.turns, (question.first, question.second))
            else:
                (first,) = await asyncio.to_thread(self._scores, question.turns, (question.first,))
                (second,) = await asyncio.to_thread(self._scores, question.second_turns, (question.second,))
        difference = first - second
        winner: Place = "first" if difference > 0 or (difference == 0 and question.first <= question.second) else "second"
        strength = 1 + sum(abs(difference) >= step for step in STRENGTH_STEPS)
        return Verdict(winner, strength)

    def _scores(self, turns: tuple[Turn, ...], replies: Sequence[str]) -> list[float]:
        if self._encoder is None:
            raise RuntimeError("an EmbeddedJudge is used as `async with judge:`")
        fresh = [reply for reply in dict.fromkeys(replies) if (turns, reply) not in self._seen]
        if fresh:
            said = [" ".join(s for s in sentences(reply) if not addresses_judge(s)) for reply in fresh]
            features = reply_features(turns, said, self._encoder)
            for reply, score in zip(fresh, self._head.scores(features).tolist(), strict=True):
                penalty = INJECTION_COSTS if any(addresses_judge(s) for s in sentences(reply)) else 0.0
                self._seen[turns, reply] = score - penalty
        return [self._seen[turns, reply] for reply in replies]


def held_out_record() -> dict[str, Any]:
    """The score of the shipped head on the held-out pairs, measured once; empty if this head has not been scored."""
    record: dict[str, Any] = json.loads((_DATA / "heldout_record.json").read_text(encoding="utf-8"))
    return record if record["head"] == load_head().version else {}


def load_head() -> Head:
    """The head that ships."""
    with resources.as_file(_DATA / "head.npz") as path, np.load(path, allow_pickle=False) as data:
        return Head(data["overall"].astype(np.float64), str(data["version"]))
