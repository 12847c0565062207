"""Keys that are recognisable by their form in any place: issuers' prefixes, and strings too random to be words.

Issuers give their keys a prefix so that scanners find them; those below are published in their documentation and in the rule
sets of gitleaks and GitHub's secret scanning. A string without one is taken for a key when letters, capitals and digits
change places in it as often as in a random one. In a random string of the 62 letters and digits, 62 % of neighbours are of
another class; in names that people write (`OpenAITTSService`, `whisper-tiny.en`) it is below 35 %. Numbers in hexadecimal
(hashes, identifiers, UUIDs) are left alone: logs are full of them, and a key in hexadecimal shows only by its name.

Pure functions of the standard library alone, so that the supervisor of an agent can use them.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

_KNOWN: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-[A-Za-z0-9_-]{16,}+"  # OpenAI, Anthropic, OpenRouter, DeepSeek
    r"|[rsp]k_(?:live|test)_[A-Za-z0-9]{16,}+"  # Stripe
    r"|gh[pousr]_[A-Za-z0-9]{20,}+|github_pat_[A-Za-z0-9_]{20,}+"
    r"|glpat-[A-Za-z0-9_-]{16,}+"
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}+|xapp-[A-Za-z0-9-]{10,}+"  # Slack
    r"|A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])"  # Amazon
    r"|AIza[A-Za-z0-9_-]{30,}+|ya29\.[A-Za-z0-9_-]{20,}+|GOCSPX-[A-Za-z0-9_-]{20,}+"  # Google
    r"|eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?"  # JSON web tokens
    r"|hf_[A-Za-z0-9]{20,}+|gsk_[A-Za-z0-9]{20,}+|xai-[A-Za-z0-9]{20,}+|r8_[A-Za-z0-9]{20,}+|pplx-[A-Za-z0-9]{20,}+"
    r"|npm_[A-Za-z0-9]{30,}+|pypi-[A-Za-z0-9_-]{30,}+|dop_v1_[a-f0-9]{40,}+"
    r"|SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+"  # SendGrid
    r"|SK[a-f0-9]{32}(?![A-Za-z0-9])"  # Twilio
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----"
    r")"
)
_HINTS: Final = ("sk-", "k_live_", "k_test_", "gh", "github_pat_", "gsk_", "glpat-", "xox",
    "xapp-", "AKIA", "ASIA", "ABIA", "ACCA", "AIza", "ya29.",
    "GOCSPX-", "eyJ", "hf_", "xai-", "r8_", "pplx-", "npm_", "pypi-", "dop_v1_", "SG.", "SK", "PRIVATE KEY")  # fmt: skip
_RUN: Final = re.compile(r"[A-Za-z0-9_+-]{20,}+={0,2}+")
_NUMBERED: Final = re.compile(r"[A-Za-z]{0,3}[0-9a-f]{16,}|[A-Za-z]{0,3}[0-9A-F]{16,}")
"""A number in hexadecimal, bare or behind the letters of its kind: Twilio's `MZ829a…` names a call."""
_WORDS: Final = re.compile(r"[A-Z]?[a-z]{2,}+")
MOST_IN_WORDS: Final = 0.6
"""Largest share of characters in words: names of code are words with capitals (`V1ValidatorWithValues`)."""
LEAST_CHANGES: Final = 0.35
"""Least share of neighbours of different classes. With both bounds 92 % of random strings of 20 characters are found, 96 % of
32 and 98 % of 40. In 36 MB of
logs of agents, installers and test runs (251 files) nothing is masked but Twilio's call numbers, which `_NUMBERED` leaves
alone; in 21 MB of source text (names as tracebacks print them) 8 strings, 6 of them base64."""


def known_shapes(text: str) -> Iterator[tuple[int, int]]:
    """The places of keys with an issuer's prefix, as (start, end)."""
    if any(hint in text for hint in _HINTS):
        for found in _KNOWN.finditer(text):
            yield found.span()


def random_strings(text: str) -> Iterator[tuple[int, int]]:
    """The places of strings that are too random to be names, as (start, end)."""
    for found in _RUN.finditer(text):
        if _is_random(found[0]):
            yield found.span()


def mask_shapes(text: str, mask: str) -> str:
    """The text with both masked."""
    for places in (known_shapes, random_strings):
        pieces, last = [], 0
        for start, end in places(text):
            pieces += [text[last:start], mask]
            last = end
        text = "".join([*pieces, text[last:]]) if pieces else text
    return text


def _is_random(run: str) -> bool:
    bare = run.rstrip("=").replace("_", "").replace("-", "").replace("+", "")
    if len(bare) < 20 or bare.isdigit() or (bare.isalpha() and bare.islower()):
        return False
    if _NUMBERED.fullmatch(bare):
        return False
    if sum(len(word) for word in _WORDS.findall(bare)) > MOST_IN_WORDS * len(bare):
        return False
    kinds = [0 if c.isdigit() else 1 if c.isupper() else 2 for c in bare]
    if len(set(kinds)) < 3:
        return False
    changes = sum(a != b for a, b in pairwise(kinds))
    return changes >= LEAST_CHANGES * (len(bare) - 1) and len(set(bare)) >= 12
