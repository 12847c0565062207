"""Which family of models a name belongs to: judges do not judge their own."""

import re


def family_of(model: str) -> str | None:
    """The family that a model's name says, in small letters: `Qwen/Qwen3-8B` → `qwen`, `smollm2-135m` → `smollm2`."""
    name = model.replace("\\", "/").rsplit("/", 1)[-1].lower()
    if re.match(r"^o[1-9](\W|$)|^chatgpt", name):
        return "gpt"
    found = re.match(r"smollm\d?|[a-z]+", name)
    return found[0] if found else None


_THINKS = re.compile(r"^(o[1-9](-|$)|gpt-5(?!.*chat))")
"""OpenAI's models that think before they answer. Their endpoint refuses `temperature` and `top_p` (OpenAI's reference of chat
completions), whatever the value."""


def refuses_sampling(model: str) -> bool:
    """Whether a model is known to refuse to be told how to sample."""
    return _THINKS.match(model.lower().rpartition("/")[2]) is not None
