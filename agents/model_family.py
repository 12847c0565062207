"""Which family of models a name belongs to: judges do not judge their own."""

import re


def family_of(model: str) -> str | None:
    """The family that a model's name says, in small letters: `Qwen/Qwen3-8B` → `qwen`, `smollm2-135m` → `smollm2`."""
    name = model.replace("\\", "/").rsplit("/", 1)[-1].lower()
    if re.match(r"^o[1-9](\W|$)|^chatgpt", name):
        return "gpt"
    found = re.match(r"smollm\d?|[a-z]+", name)
    return found[0] if found else None
