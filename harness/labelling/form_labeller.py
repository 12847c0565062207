"""A language model on this machine as a labeller of strategies: it fills in a form (`harness.labelling.form`), reply by reply.

The rule for a written answer holds here too: a strategy is present only if it is probable and its quotation occurs in the
reply. So the quotation is asked for, and not made of the reply's words afterwards.
"""

import asyncio
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness.judging.llama_cpp import LlamaCpp
from harness.judging.settings import JudgeSettings
from harness.labelling import form
from harness.labelling.model_labels import LONGEST_EVIDENCE, Mark
from harness.ranking.strategies import STRATEGIES

_TRIAL: Final = "No wonder you're tired."


class FormLabeller:
    """A chat model under llama.cpp. The model is loaded while entered."""

    def __init__(self, settings: JudgeSettings, model: Path | None = None) -> None:
        """`model` is the file to serve; without, the server at `settings.base_url` is asked."""
        self._asked = LlamaCpp(settings, model)
        self._gate = asyncio.Lock()

    async def __aenter__(self) -> "FormLabeller":
        await self._asked.open(lambda: self._filled_in(_TRIAL, STRATEGIES[:1]))
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._asked.close()

    async def marks(self, reply: str) -> Mapping[str, Mark]:
        """Fifteen marks of one reply. Replies wait for one another, because they share a prefix that is read once.

        Raises:
            JudgeFailure: no usable answer.
        """
        async with self._gate:
            return await self._filled_in(reply, STRATEGIES)

    async def _filled_in(self, reply: str, strategies: tuple[str, ...]) -> dict[str, Mark]:
        prompt = await self._asked.prompt(form.messages(reply))
        marks = {}
        for strategy in strategies:
            prompt += form.question(strategy)
            odds, _ = await self._asked.log_odds(prompt, form.ANSWERS)
            quote = None
            if odds > 0:
                quote = await self._asked.continued(prompt + form.quoting(), form.QUOTE_ENDS, form.LONGEST_QUOTE_TOKENS)
            prompt += form.answer(quote)
            marks[strategy] = Mark(probability=1 / (1 + math.exp(-odds)), evidence=(quote or "")[:LONGEST_EVIDENCE])
        return marks
