"""Scorers of complete words: the language model, a model of intonation, or the last word.

The language model's own probability of an end after the caller's words was the best signal found (area under the curve
0.85 against pauses in mid-sentence; Whisper's final full stop says nothing). It needs a server that gives token
probabilities for a prompt of ours, which an arbitrary endpoint does not; there a list of words that nobody ends on has
to do. Smart-turn v3 listens to the voice instead of the words.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from scipy.special import expit

from harness.agents.cascade.endpoint_policies import PauseEvidence, TurnScorer
from harness.agents.cascade.llama_prompt import LlamaPrompt

_LEADS_ON: Final = frozenset(
    """a an the and or but because so if when while that which who my your his her our their its i i'm we you he she they
    to of in on at for with from by about like is are was were be been has have had do does did can could will would
    just really very um uh er""".split()  # noqa: SIM905 prose is easier to read and to extend
)
"""Words after which an English sentence goes on."""
_HESITATIONS: Final = frozenset("um uh uhm er erm eh mm hmm".split())  # noqa: SIM905
"""Hesitations, after which a speaker goes on: none of 120 spoken turns of `heart-open` ended on one, 49 of their pauses of
380 ms and more followed one."""
_LISTENED_S: Final = 8
"""Smart-turn uses the last eight seconds."""


@dataclass(frozen=True, slots=True)
class LlmTurnScorer:
    """A scorer that asks the language model, given the conversation so far."""

    prompt: LlamaPrompt
    conversation: Callable[[], Sequence[Any]]

    async def probability_complete(self, evidence: PauseEvidence) -> float:
        return await self.prompt.probability_complete(self.conversation(), evidence.text)


def leads_on(text: str) -> bool:
    """True if an English text ends with a word that needs a continuation (or is empty)."""
    words = text.lower().rstrip(" .!?,…").split()
    return not words or words[-1] in _LEADS_ON


@dataclass(frozen=True, slots=True)
class LastWordScorer:
    """A scorer by the last word alone, the fallback for endpoints without probabilities."""

    async def probability_complete(self, evidence: PauseEvidence) -> float:
        return 0.0 if leads_on(evidence.text) else 1.0


@dataclass(frozen=True, slots=True)
class LengthScorer:
    """A scorer by length: people finish after a few sentences, rarely after three words.

    A prior about callers, not evidence about these words: someone in distress speaks in several sentences. Where turns are
    shorter it errs on the side of waiting; who longer turns come from should move `words_at_half`.
    """

    words_at_half: float
    spread_words: float

    async def probability_complete(self, evidence: PauseEvidence) -> float:
        said = len(evidence.said_before.split()) + len(evidence.text.split())
        return float(expit((said - self.words_at_half) / self.spread_words))


@dataclass(frozen=True, slots=True)
class HesitationVeto:
    """The scorer `inner`, except that words ending in "um" are always incomplete."""

    inner: TurnScorer

    async def probability_complete(self, evidence: PauseEvidence) -> float:
        words = evidence.text.lower().rstrip(" .!?,…-").split()
        if words and words[-1] in _HESITATIONS:
            return 0.0
        return await self.inner.probability_complete(evidence)


@lru_cache(maxsize=1)
def _smart_turn() -> Any:
    """One model for all sessions: it remembers nothing of a caller, and each took 22 MiB."""
    from pipecat.audio.turn.smart_turn.local_smart_turn_v3 import LocalSmartTurnAnalyzerV3

    return LocalSmartTurnAnalyzerV3(cpu_count=1)


class SmartTurnScorer:
    """pipecat's smart-turn v3, which judges intonation from the audio alone."""

    def __init__(self) -> None:
        self._analyzer = _smart_turn()

    async def probability_complete(self, evidence: PauseEvidence) -> float:
        audio = evidence.samples[-_LISTENED_S * 16_000 :].astype(np.float32)
        verdict = await asyncio.to_thread(self._analyzer._predict_endpoint, audio)
        return float(verdict["probability"])
