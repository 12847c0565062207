"""The second screen: a model reads the items that pass the rules. It can only remove items, never restore them.

An answer that cannot be parsed removes the item too: a slightly smaller set is better than one that was not screened. How
well a given model screens is not measured here.
"""

from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel, ConfigDict

from harness.scenarios.context import Context
from harness.scenarios.llm import Complete, LlmError, LlmUnreachable, as_json, ask
from harness.scenarios.screens.rules import Finding

ATTEMPTS = 2

_TASK = """You decide whether a support conversation may be shown to volunteer raters and used to test supporters.
It is unfit if anyone in it speaks or hints of ending or harming their own life, or of harming another; if it holds sexual,
hateful or graphically violent content; if a real person could be traced from it; if a good answer needs a doctor or a lawyer;
or if the writers talk about the chat as a paid task. Ordinary sadness, anger, grief and worry are fit.
Answer with JSON: {"unfit": true or false, "reason": "safety" | "identity" | "clinical" | "frame" | "none", "words": "the
words that decided, or empty"}."""


class Verdict(BaseModel):
    """The model's answer."""

    model_config = ConfigDict(extra="forbid")

    unfit: bool
    reason: Literal["safety", "identity", "clinical", "frame", "none"]
    words: str


def second_screen(complete: Complete) -> Callable[[Context], tuple[Finding, ...]]:
    """A screen for `harness.scenarios.esconv.build` that asks `complete` about each context.

    Raises `LlmUnreachable` if there is no model to ask, because an empty set would not be a result.
    """

    def screen(context: Context) -> tuple[Finding, ...]:
        conversation = {"situation": context.situation, "turns": [{"role": t.role, "text": t.plain} for t in context.turns]}
        messages = [{"role": "system", "content": _TASK}, {"role": "user", "content": as_json(conversation)}]
        for _ in range(ATTEMPTS):
            try:
                verdict = ask(complete, messages, Verdict)
            except LlmUnreachable:
                raise
            except LlmError:
                continue
            return (Finding("second", verdict.reason, verdict.words[:60]),) if verdict.unfit else ()
        return (Finding("second", "no verdict from the model", ""),)

    return screen
