"""The emotion words that contexts and speech directions may use: one list, so that a typing error is found at once.

The first eleven are ESConv's labels, so that a built set and a shipped pack can share a table; the others are
states that support lines hear daily and that ESConv includes in those. A renderer replaces an unknown emotion by the nearest
one that it knows.
"""

from harness.nearest import or_one_of

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
    """One line that names an unknown word and a suggestion; None if `word` is known."""
    if word in EMOTIONS:
        return None
    return f"unknown emotion {word!r}{or_one_of(word, sorted(EMOTIONS))}"
