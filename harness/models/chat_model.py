"""Identity of a language model in a file, by the SHA-256 of its bytes, and the test that it can be asked at all.

The file's own header shows before anything is loaded that it is a chat model; a base model continues the text where it should
answer. The header is searched for single entries, because a whole parse lists every token of the vocabulary, which took 3 s for
a model of 135 million weights. An entry is its name with its length before it (GGUF specification, version 3).
"""

import hashlib
import mmap
import os
import re
import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from harness.agents.model_family import family_of
from harness.errors import UserError
from harness.models.catalogue import catalogue
from harness.nearest import did_you_mean

_MAGIC: Final = b"GGUF"
_TEXT: Final = 8
"""The type of a text entry."""
_LONGEST_HEADER: Final = 256 * 2**20
"""Bytes searched: vocabularies of 262,000 tokens, the largest there are, take some 10 MB."""
_LONGEST_TEXT: Final = 1 << 20
_MOST_NAME: Final = 40
"""Characters of a file's name in the judge's version, which is in every row."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model that can be asked: `version` names file and bytes, `family` is named after its maker."""

    model: str
    version: str
    family: str
    sha256: str


def identify(model: str) -> LocalModel:
    """The model of a catalogue's name or of a GGUF file at a path.

    Raises:
        UserError: neither of them; or the file is no chat model in GGUF.
    """
    known = {weight.name: weight for weight in catalogue() if weight.kind == "language model"}
    if model in known:
        sha256 = known[model].files[0].sha256
        return LocalModel(model, f"{model}-{sha256[:8]}", family_of(model) or "unknown", sha256)
    path = Path(model)
    if path.suffix.lower() != ".gguf":
        near = did_you_mean(model, known)
        raise UserError(f"--model {model}: no such model{near}; name one of {', '.join(known)}, or the path of a .gguf file")
    if not path.is_file():
        raise UserError(f"--model {model}: there is no such file; give the path of a .gguf file with an instruct model")
    name = hold_chat_model(path)
    sha256 = _sha256(path, path.stat().st_size, path.stat().st_mtime_ns)
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem)[:_MOST_NAME]
    return LocalModel(model, f"{stem}-{sha256[:8]}", family_of(name or path.stem) or "unknown", sha256)


def hold_chat_model(path: Path) -> str:
    """The name that a chat model's file states; empty if it states none.

    Raises:
        UserError: unreadable, no GGUF, or a model without a chat template.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if content[:4] != _MAGIC:
                raise UserError(f"--model {path}: is no GGUF file; fetch it again, or convert the model with llama.cpp")
            template = _entry(content, "tokenizer.chat_template")
            name = _entry(content, "general.basename") or _entry(content, "general.name")
    except (OSError, ValueError) as error:
        raise UserError(f"--model {path}: cannot be read ({error}); fetch it again") from error
    if not template:
        raise UserError(f"--model {path}: is no chat model (it holds no chat template); give an instruct model's file")
    return name or ""


def _entry(content: mmap.mmap, name: str) -> str | None:
    sought = struct.pack("<Q", len(name)) + name.encode() + struct.pack("<I", _TEXT)
    found = content.find(sought, 0, min(len(content), _LONGEST_HEADER))
    start = found + len(sought)
    if found < 0 or start + 8 > len(content):
        return None
    (length,) = struct.unpack("<Q", content[start : start + 8])
    return content[start + 8 : start + 8 + min(length, _LONGEST_TEXT)].decode("utf-8", errors="replace")


@lru_cache(maxsize=8)
def _sha256(path: Path, size_bytes: int, modified_ns: int) -> str:  # noqa: ARG001 both say whether the file is still that one
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
        return hashlib.file_digest(file, "sha256").hexdigest()
