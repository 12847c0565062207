"""What a llama.cpp server remembers of a prompt, reset between sessions and warmed within one.

Its cache keeps the last prompt of a slot and evaluates only what follows the common beginning. Left alone it would carry
one caller's conversation into a second playing of the same context and make that one look faster. So each session begins
by completing the bare system prompt, which cuts the cache back to it; and a profile that wants its prefix warm then has
the history evaluated before the caller speaks. An endpoint that is not ours is left as it is.
"""

from collections.abc import Sequence

import httpx

_TIMEOUT_S = 60.0


class PrefixCache:
    """The prompt cache of a llama.cpp server of our own; with `native_url` None every call does nothing."""

    def __init__(self, native_url: str | None, system: str) -> None:
        self._native_url = native_url
        self._system = {"role": "system", "content": system}

    async def reset(self) -> None:
        """Forget every conversation, keep the system prompt."""
        await self.warm([])

    async def warm(self, messages: Sequence[dict[str, str]]) -> None:
        """Evaluate the system prompt and `messages`, so that only what follows them costs time."""
        if self._native_url is None:
            return
        async with httpx.AsyncClient(base_url=self._native_url, timeout=_TIMEOUT_S) as client:
            template = await client.post("/apply-template", json={"messages": [self._system, *messages]})
            prompt = template.raise_for_status().json()["prompt"]
            marker = messages[-1]["content"] if messages else self._system["content"]
            stable = prompt[: prompt.rindex(marker) + len(marker)]
            request = {"prompt": stable, "n_predict": 0, "cache_prompt": True}
            (await client.post("/completion", json=request)).raise_for_status()
