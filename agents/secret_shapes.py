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
    r"[rsp]k_(?:live|test)_[A-Za-z0-9_]{16,}+"  # Stripe
    r"|gh[pousr]_[A-Za-z0-9_]{20,}+|github_pat_[A-Za-z0-9_]{20,}+|glpat-[A-Za-z0-9_-]{16,}+"
    r"|(?<![A-Za-z0-9])(?:"
    r"sk-[A-Za-z0-9_-]{16,}+"  # OpenAI, Anthropic, OpenRouter, DeepSeek
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}+|xapp-[A-Za-z0-9-]{10,}+"  # Slack
    r"|A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])"  # Amazon
    r"|AIza[A-Za-z0-9_-]{30,}+|ya29\.[A-Za-z0-9_-]{20,}+|GOCSPX-[A-Za-z0-9_-]{20,}+"  # Google
    r"|eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?"  # JSON web tokens
    r"|hf_[A-Za-z0-9]{20,}+|gsk_[A-Za-z0-9]{20,}+|xai-[A-Za-z0-9]{20,}+|r8_[A-Za-z0-9]{20,}+|pplx-[A-Za-z0-9]{20,}+"
    r"|npm_[A-Za-z0-9]{30,}+|pypi-[A-Za-z0-9_-]{30,}+|dop_v1_[a-f0-9]{40,}+"
    r"|SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+"  # SendGrid
    r"|SK[a-f0-9]{32}(?![A-Za-z0-9])"  # Twilio
    r")"
)
_BREAK: Final = r"(?:[ \t\r\n]|\\{1,4}[rnt]|<br>)"
_NEW_LINE: Final = r"(?:[\r\n]|\\{1,4}[rn])"
_BLOCK: Final = re.compile(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?:{_BREAK}++(?:Proc-Type|DEK-Info|Version|Comment): [^\r\n\\]{{0,100}}+)*+"
    rf"(?:{_BREAK}*+(?:[A-Za-z0-9+/]{{24,}}+={{0,2}}+|=[A-Za-z0-9+/]{{4}}+))*+"
    rf"(?:{_NEW_LINE}++[A-Za-z0-9+/]++={{0,2}}+(?={_BREAK}{{0,4}}(?:-----END|\Z)|[\"'<]))?+"
    rf"(?:{_BREAK}*+-----END [A-Z ]{{0,30}}PRIVATE KEY(?: BLOCK)?-----)?+"
)
"""A block of PEM (RFC 7468) with its lines, as written and as JSON and `repr` escape them; its end may be missing."""
_BLOCK_LINE: Final = re.compile(r"\s*+(?:[A-Za-z0-9+/=]++|(?:Proc-Type|DEK-Info|Version|Comment): .{0,100}+)?\s*+\Z")
_CUT_OFF: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:[rsp]k_(?:live|test)_|gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|xapp-|AKIA|ASIA|AIza|ya29\.|GOCSPX-|gsk_|dop_v1_|SG\.|"
    r"sk-(?:ant|proj|or|svcacct|admin)-)"
    r"(?:[A-Za-z0-9_-]|\.(?!\.))++"
    r"|(?:sk-|hf_|eyJ|xai-|r8_|pplx-|npm_|pypi-|SK)(?=[a-z_-]{0,40}+[A-Z0-9])(?:[A-Za-z0-9_-]|\.(?!\.)){6,}+"
    r")(?=…|\.\.\.|\\{0,8}+[\"']\s{0,4}+[,}\]:]|[\s\"')\]}]*+\Z)"
)
"""A key whose end was cut off by whoever wrote the text: a closing frame of a WebSocket has room for 123 bytes."""
_HINTS: Final = ("sk-", "k_live_", "k_test_", "gh", "github_pat_", "gsk_", "glpat-", "xox",
    "xapp-", "AKIA", "ASIA", "ABIA", "ACCA", "AIza", "ya29.",
    "GOCSPX-", "eyJ", "hf_", "xai-", "r8_", "pplx-", "npm_", "pypi-", "dop_v1_", "SG.", "SK")  # fmt: skip
_RUN: Final = re.compile(r"[A-Za-z0-9_+-]{20,}+={0,2}+")
_SLASHED_RUN: Final = re.compile(r"(?<![A-Za-z0-9+/._-])[A-Za-z0-9+/]{40,}+={0,2}+(?![._-])")
"""Base64 of both halves of a key at once (Amazon's secrets have 40 characters): a slash would part it into pieces too short."""
_JOINTS: Final = str.maketrans("", "", "_-+/")
_NUMBERED: Final = re.compile(r"[A-Za-z]{0,3}[0-9a-f]{16,}|[A-Za-z]{0,3}[0-9A-F]{16,}")
"""A number in hexadecimal, bare or behind the letters of its kind: Twilio's `MZ829a…` names a call."""
_PIECES: Final = re.compile(r"[A-Za-z0-9]++")
_PLAIN_PIECE: Final = re.compile(r"[A-Za-z]{0,3}[0-9a-f]{8,}|[A-Za-z]{0,16}[0-9]{0,8}|[0-9]{1,8}[A-Za-z]{0,3}")
"""What names with a hash are joined of: words, versions, numbers in hexadecimal (`Qwen3-4B-Instruct-2507-Q4_K_M-dd942fff`)."""
_WORDS: Final = re.compile(r"[A-Z]?[a-z]{2,}+")
MOST_IN_WORDS: Final = 0.6
"""Largest share of characters in words: names of code are words with capitals (`V1ValidatorWithValues`)."""
LEAST_CHANGES: Final = 0.35
"""Least share of neighbours of different classes. With both bounds 92 % of random strings of 20 characters are found, 96 % of
32 and 98 % of 40. In 36 MB of
logs of agents, installers and test runs (251 files) nothing is masked but Twilio's call numbers, which `_NUMBERED` leaves
alone; in 21 MB of source text (names as tracebacks print them) 8 strings, 6 of them base64."""


def known_shapes(text: str) -> Iterator[tuple[int, int]]:
    """The places of keys with an issuer's prefix, and of blocks of PEM, as (start, end)."""
    yield from _blocks(text)
    yield from _issued(text)


def _issued(text: str) -> Iterator[tuple[int, int]]:
    if any(hint in text for hint in _HINTS):
        for found in _KNOWN.finditer(text):
            yield found.span()


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    if "PRIVATE KEY" in text:
        for found in _BLOCK.finditer(text):
            yield found.span()


def cut_off_keys(text: str) -> Iterator[tuple[int, int]]:
    """The places of keys with an issuer's prefix at the end of a text, where they may have been cut."""
    for found in _CUT_OFF.finditer(text):
        yield found.span()


def opens_block(line: str) -> bool:
    """True if a block of PEM begins in this line and does not end there."""
    return "PRIVATE KEY" in line and (begun := line.rfind("-----BEGIN ")) >= 0 and "-----END " not in line[begun:]


def ends_block(line: str) -> bool:
    """True if a block of PEM ends in this line."""
    return "-----END " in line


def continues_block(line: str) -> bool:
    """True if the line can be inside of such a block."""
    return _BLOCK_LINE.match(line) is not None


def is_path_token(segment: str) -> bool:
    """True if a segment of an address's path is too random to be the name of a route.

    `v1`, `twilio-stream2` and `gpt-4o-realtime-2024-12-17` are names: words, numbers, and a number with a few letters. A
    UUID, a long number in hexadecimal, and letters with digits among them (`Qz7pa9aB`) are what services give to one customer.
    """
    if len(segment) < LEAST_PATH_TOKEN:
        return False
    if any(known_shapes(segment)) or any(random_strings(segment)) or _LONG_NUMBER.search(segment):
        return True
    pieces = [piece for piece in re.split(r"[^A-Za-z0-9]+", segment) if piece]
    return any(len(piece) > MOST_PLAIN_LETTERS if piece.isalpha() else not _NAMED_NUMBER.fullmatch(piece) for piece in pieces)


LEAST_PATH_TOKEN: Final = 8
MOST_PLAIN_LETTERS: Final = 24
"""Letters in a row that words of a route have at most (`handleIncomingMediaStream` without its last)."""
_LONG_NUMBER: Final = re.compile(
    r"(?i)(?<![a-z0-9])[0-9a-f]{8}-[0-9a-f]{4}-|(?<![a-z])[0-9a-f]{16,}|[0-9]{12,}|(?<![A-Za-z])[A-Z]{2}[0-9a-f]{32}"
)
_NAMED_NUMBER: Final = re.compile(r"[A-Za-z]*[0-9]{0,8}|[0-9]{1,8}[A-Za-z]{0,3}|v[0-9]{1,3}(?:alpha|beta)[0-9]{0,3}")


def random_strings(text: str) -> Iterator[tuple[int, int]]:
    """The places of strings that are too random to be names, as (start, end)."""
    spans = [found.span() for runs in (_SLASHED_RUN, _RUN) for found in runs.finditer(text) if _is_random(found[0])]
    last = 0
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if end > last:
            yield max(start, last), end
            last = end


def mask_shapes(text: str, mask: str) -> str:
    """The text with both masked."""
    for places in (_blocks, _issued, cut_off_keys, random_strings):
        pieces, last = [], 0
        for start, end in places(text):
            pieces += [text[last:start], mask]
            last = end
        text = "".join([*pieces, text[last:]]) if pieces else text
    return text


def _is_random(run: str) -> bool:
    bare = run.rstrip("=").translate(_JOINTS)
    if len(bare) < 20 or bare.isdigit() or (bare.isalpha() and bare.islower()):
        return False
    if _NUMBERED.fullmatch(bare) or all(map(_PLAIN_PIECE.fullmatch, _PIECES.findall(run))):
        return False
    if sum(len(word) for word in _WORDS.findall(bare)) > MOST_IN_WORDS * len(bare):
        return False
    kinds = [0 if c.isdigit() else 1 if c.isupper() else 2 for c in bare]
    if len(set(kinds)) < 3:
        return False
    changes = sum(a != b for a, b in pairwise(kinds))
    return changes >= LEAST_CHANGES * (len(bare) - 1) and len(set(bare)) >= 12
