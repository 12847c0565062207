"""A completion, and the test that two completions are the same.

Identities and texts are together here and are separated before a judge sees anything: a judge is shown two texts, never a
system. Two replies that differ only in case, spacing, punctuation or typographic quotes say the same thing, so they are a
tie without a call: asking would measure nothing but position bias.
"""

import unicodedata
from dataclasses import dataclass

from harness.scenarios.context import Turn


@dataclass(frozen=True, slots=True)
class Completion:
    """One system's next supporter turn for one context. `family` is the model family that wrote it, if any.

    >>> import harness
    >>> from harness.scenarios.pack import load_pack
    >>> contexts = load_pack("heart-mini").contexts
    >>> mine = [harness.Completion(context.id, system="mine", text="What is hardest?") for context in contexts]
    >>> len(mine)
    12
    """

    context_id: str
    system: str
    text: str
    family: str | None = None
    turns: tuple[Turn, ...] | None = None
    """The conversation that it answers, if that differs from the context's (replay); None: the context's."""
    lost: str = ""
    """Reason of a missing reply (nothing heard, the agent crashed): it loses to any reply without a call."""


def normalised(text: str) -> str:
    """Letters and digits only, case-folded, single spaces: two replies differ only if this differs."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(ch if ch.isalnum() else ("" if ch in "'’" else " ") for ch in folded)
    return " ".join(kept.split())


def identical(one: str, other: str) -> bool:
    """True if two replies are the same after normalising; replies of punctuation alone are compared literally."""
    a, b = normalised(one), normalised(other)
    return a == b if a or b else one.strip() == other.strip()
