"""Names that users give, as parts of file paths."""

import hashlib
import re


def plain_name(name: str) -> str:
    """A name as part of a file's path; of names that had to be changed, no two share one."""
    plain = re.sub(r"[^a-zA-Z0-9.+-]", "-", name)
    return plain if plain == name else f"{plain[-40:]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
