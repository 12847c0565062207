"""Names that users give, as parts of file paths."""

import hashlib
import re


def plain_name(name: str) -> str:
    """A name as part of a file's path; two different names never give the same part, even if both had to be changed."""
    plain = re.sub(r"[^a-zA-Z0-9.+-]", "-", name)
    return plain if plain == name else f"{plain[-40:]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
