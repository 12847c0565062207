"""The emotion words that contexts and speech directions may use: one list, so that a typing slip is a line, not a result.

The first eleven are ESConv's labels, kept so that a built set and a shipped pack can be tabled together; the others are
states that support lines hear daily and that ESConv folds into those. A renderer maps what it cannot act onto the nearest
it can.
"""

from difflib import get_close_matches

ESCONV_EMOTIONS = (
    "anxiety",
    "depression",
    "sadness",
    "anger",
    "fear",
    "shame",
    "disgust",
    "nervousness",
    "guilt",
    "jealousy",
    "pain",
)
EMOTIONS = (
    *ESCONV_EMOTIONS,
    "disappointment",
    "embarrassment",
    "frustration",
    "grief",
    "hopelessness",
    "joy",
    "loneliness",
    "neutral",
    "overwhelm",
    "relief",
    "resentment",
    "worry",
)


def unknown_emotion(word: str) -> str | None:
    """None where `word` is known, else one line that names it and what was perhaps meant."""
    if word in EMOTIONS:
        return None
    near = get_close_matches(word, EMOTIONS, n=2, cutoff=0.6)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(sorted(EMOTIONS))}"
    return f"unknown emotion {word!r}; {hint}"
