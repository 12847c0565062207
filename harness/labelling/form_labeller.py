"""A language model on this machine as a labeller of strategies: it fills in a `harness.labelling.form` for each reply.

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
from harness.labelling.model_labels import LONGEST_EVIDENCE, Mark, Thresholds
from harness.ranking.strategies import STRATEGIES

FILLED_IN: Final = Thresholds(0.3, 0.3)
"""For the probability of Yes beside No. Most lines of a form say No, so that small models say Yes too seldom. Of 0.3, 0.4, 0.5,
0.6, 0.7 and 0.8 this gave the highest F1 over all cells, in a form without quotations, with a model of 1.5 billion weights on
replies 1 to 10 of the strategy set and one of 0.5 billion on 1 to 30. Figures are reported on replies from 61 on."""
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
            probability, quote = 1 / (1 + math.exp(-odds)), ""
            if probability > FILLED_IN.absent_until:
                quote = await self._asked.continued(prompt + form.quoting(), form.QUOTE_ENDS, form.LONGEST_QUOTE_TOKENS)
            # The form goes on with the model's own answer, whatever is made of its probability.
            prompt += form.answer(quote if odds > 0 else None)
            marks[strategy] = Mark(probability=probability, evidence=quote[:LONGEST_EVIDENCE])
        return marks
