"""The judge that runs here: no key, no network, no language model, a few hundredths of a second per pair on two cores.

The small language model asked "A or B?" was worse than useless (33 % right on gold, its letter unchanged by the order in
93 % of pairs). Its likelihoods added one point to sentence embeddings and discourse features, at twenty
times the cost, and would have made the judge related to the agents that speak with that model. So it was left out: this
judge has no model family, and each reply is scored alone, so the order shown cannot matter.

Its limits: it was fitted on some two thousand replies, all written for this project, of several origins. Its accuracy on
pairs held out from the fit is in `held_out_record()`, and on whole origins held out in
`benchmarks/judging_sets/fit_record.json`; its odds were scaled to people's ratings of a development set. It gives
no reason: a sentence put together from features would only resemble one. It marks no axes: heads fitted
for each of the five gave the same as the whole (`Head`).
"""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from harness.judging.judge import Place, Question, Verdict
from harness.judging.reply_features import addresses_judge, reply_features
from harness.judging.sentence_encoder import SentenceEncoder, sentences
from harness.judging.settings import JudgeOfSettings, JudgeSettings
from harness.scenarios.context import Turn

METHOD = "head-4"
STRENGTH_STEPS = (0.8, 1.7, 2.6, 4.0)
"""Log odds at which the strength rises from 1 to 5: even odds or little more, 69 %, 85 %, 93 % and 98 %."""
INJECTION_COSTS = 3.0
"""Log odds taken off a reply that speaks to the judge: a supporter who does so no longer answers the seeker."""
HEAD_PATH = "data/head.npz"
HELD_OUT_PATH = "data/heldout_record.json"


@dataclass(frozen=True, slots=True)
class Head:
    """The small learned head: the weights of a ridge logistic regression on differences of two replies' vectors.

    No intercept and a linear score make it antisymmetric: exchanging the replies changes the sign and nothing else, so its
    flip rate is zero by construction. There is one head and none for each axis: with so few pairs an axis, such heads could
    hardly differ from this one (on the gold pairs their scores correlated with it at 0.96 to 0.99), and would repeat it six
    times.
    """

    overall: NDArray[np.float64]
    version: str

    def scores(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """One score per reply: higher is better. Only differences mean anything; they are log odds."""
        return np.asarray(features @ self.overall, dtype=np.float64)

    def save(self, path: Path) -> None:
        """Write the head as npz."""
        np.savez_compressed(path, overall=self.overall.astype(np.float32), version=np.array(self.version))

    @classmethod
    def load(cls, path: Path) -> "Head":
        """The head that `save` wrote."""
        with np.load(path, allow_pickle=False) as data:
            return cls(data["overall"].astype(np.float64), str(data["version"]))


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
        return Verdict(winner, _strength(difference))

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
    record: dict[str, Any] = json.loads((resources.files("harness.judging") / HELD_OUT_PATH).read_text(encoding="utf-8"))
    return record if record["head"] == load_head().version else {}


def load_head() -> Head:
    """The head that ships."""
    with resources.as_file(resources.files("harness.judging") / HEAD_PATH) as path:
        return Head.load(path)


def _strength(difference: float) -> Literal[1, 2, 3, 4, 5]:
    return 1 + sum(abs(difference) >= step for step in STRENGTH_STEPS)  # type: ignore[return-value]
