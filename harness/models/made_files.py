"""Files that the harness makes from a weight, with the SHA-256 of each beside them.

A fetched weight is hashed each time it is used. A file made from one has no pinned hash, because another version of the
program that makes it may write other bytes; so its hash is written when it is made, and a file that changed since (a bad disk,
a half-copied cache) is made again from the weight. It protects from damage only: a program that can write there can write the
hash as well.
"""

import json
from pathlib import Path
from typing import Final

from harness.models.assembly import sha256_of

SEAL: Final = "made.sha256.json"


def seal(folder: Path) -> None:
    """Write the SHA-256 of every file of `folder` into it."""
    (folder / SEAL).write_text(json.dumps(_hashes(folder), indent=1), encoding="utf-8")


def are_whole(folder: Path) -> bool:
    """True if the files of `folder` are those that were sealed, byte for byte; False where there is no seal."""
    try:
        sealed = json.loads((folder / SEAL).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(sealed) and sealed == _hashes(folder)


def _hashes(folder: Path) -> dict[str, str | None]:
    return {path.name: sha256_of(path) for path in sorted(folder.iterdir()) if path.name != SEAL}
