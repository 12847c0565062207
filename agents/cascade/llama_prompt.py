"""A conversation as the exact text that a llama.cpp server evaluates, for requests that its chat API lacks.

It has two uses: warming the prefix cache up to the caller's next words, and asking how likely the
model thinks it is that those words are complete. Its cache keeps the last prompt of a slot and evaluates only what follows
the common beginning, so each of these requests also prepares the reply that comes next.
"""

import math
import re
from collections.abc import Sequence
from typing import Any, Final

import httpx2

_TIMEOUT_S: Final = 60.0
_PLACE: Final = "\N{WHITE SQUARE}"
"""Placeholder for the caller's words, to find their place in the template; no prompt contains it."""
_ENDS: Final = re.compile(r"^\s*+([.!?…]+[\"')]*|<\|.*\|>|</s>)?\s*$")
"""Tokens that end a sentence or the turn; an end-of-turn token has no text."""
_CANDIDATES: Final = 40
"""Number of most likely next tokens to read; the others have little probability."""


class LlamaPrompt:
    """The prompt side of a llama.cpp server for one session under one system prompt."""

    def __init__(self, native_url: str, system: str) -> None:
        self._client = httpx2.AsyncClient(
            base_url=native_url, timeout=_TIMEOUT_S, limits=httpx2.Limits(max_keepalive_connections=0)
        )
        self._system = {"role": "system", "content": system}
        self._messages: list[Any] | None = None
        self._opening = ""

    async def opening(self, messages: Sequence[Any]) -> str:
        """The prompt of a conversation up to the caller's next words."""
        if self._messages != list(messages):
            conversation = [self._system, *messages, {"role": "user", "content": _PLACE}]
            prompt = (await self._post("/apply-template", {"messages": conversation}))["prompt"]
            self._messages, self._opening = list(messages), prompt[: prompt.index(_PLACE)]
        return self._opening

    async def warm(self, messages: Sequence[Any], words: str = "") -> None:
        """Have the conversation so far evaluated, and the beginning of the caller's turn; with no messages, forget every
        conversation but the system prompt."""
        prompt = await self.opening(messages) + _open_ended(words)
        await self._post("/completion", {"prompt": prompt, "n_predict": 0})

    async def probability_complete(self, messages: Sequence[Any], words: str) -> float:
        """The model's probability that the caller's turn, or at least the sentence, ends after `words`."""
        prompt = await self.opening(messages) + _open_ended(words)
        request = {"prompt": prompt, "n_predict": 1, "n_probs": _CANDIDATES, "temperature": 0}
        answer = await self._post("/completion", request)
        candidates = answer["completion_probabilities"][0]["top_logprobs"]
        return sum(math.exp(c["logprob"]) for c in candidates if _ENDS.match(c["token"]))

    async def close(self) -> None:
        await self._client.aclose()

    async def _post(self, path: str, body: dict[str, Any]) -> Any:
        reply = await self._client.post(path, json=body)
        return reply.raise_for_status().json()


def _open_ended(words: str) -> str:
    """The words without the final mark that a recogniser sets at every pause, because the caller may go on."""
    return words.rstrip(" .!?,…")
