"""The family of a model by its name, because judges do not judge their own family."""

import re


def family_of(model: str) -> str | None:
    """The family in a model's name, in lower case: `Qwen/Qwen3-8B` → `qwen`, `smollm2-135m` → `smollm2`."""
    name = model.replace("\\", "/").rsplit("/", 1)[-1].lower()
    if re.match(r"^o[1-9](\W|$)|^chatgpt", name):
        return "gpt"
    found = re.match(r"smollm\d?|[a-z]+", name)
    return found[0] if found else None


_THINKS = re.compile(r"^(o[1-9](-|$)|gpt-5(?!.*chat))")
"""OpenAI's models that think before they answer. Their endpoint refuses `temperature` and `top_p` (OpenAI's reference of chat
completions), whatever the value."""


def refuses_sampling(model: str) -> bool:
    """True if a model is known to refuse sampling settings."""
    return _THINKS.match(model.lower().rpartition("/")[2]) is not None
