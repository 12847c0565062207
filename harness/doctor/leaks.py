"""Search of a finished run for secrets, before it is shared: every file, read as any recipient can read it.

Output is masked when it is written; this is a second check on the files, for secrets of an older harness, of a person's hand,
or spoken by an agent. It knows the secrets of this machine (variables, the run's profiles) and text that is one by its place
or shape; a finding names the place and the kind, never the secret. In a page and in binary files only known values and
issuers' prefixes count: scripts are full of `key=` and pictures of random letters.
"""

import base64
import os
import re
import sqlite3
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.agents.secret_places import in_environment, mask_assigned
from harness.agents.secret_shapes import known_shapes, random_strings
from harness.agents.secrets import MASK, Redactor, learn_file, redactor
from harness.errors import UserError
from harness.foreign_files import FileFault, read_json
from harness.store.database import DATABASE

_PAGES: Final = (".html", ".svg")
_TABLES: Final = (".sqlite", ".sqlite-wal", ".db")
_LINES: Final = (".log", ".json", ".jsonl", ".toml", ".csv", ".md", ".txt", ".yaml", ".yml", ".vtt")
_BLOCK: Final = re.compile(r"H4sI[A-Za-z0-9+/=]{20,}+")
_WAVE_SOUND: Final = (b"fmt ", b"data", b"fact")
_FLAC_WORDS: Final = (2, 4)
"""Metadata blocks APPLICATION and VORBIS_COMMENT (RFC 9639, section 8); the others contain numbers and pictures."""
PIECE_CHARACTERS: Final = 2_000_000
"""Most characters of a line to search at once: a line of JSON can be a whole session."""


@dataclass(frozen=True, slots=True)
class Leak:
    """A place with a secret: the file in the run, the place in it, and the kind of secret."""

    file: str
    place: str
    what: str


@dataclass(frozen=True, slots=True)
class _Text:
    file: str
    place: str
    text: str
    by_rules: bool


def leaks(run: Path, environment: Mapping[str, str]) -> Iterator[Leak]:
    """Each place of a run with a probable secret, file by file.

    Raises:
        UserError: the folder is not a run, or one of its files cannot be read.
    """
    known = _known(run, environment)
    for path in sorted(p for p in run.rglob("*") if p.is_file()):
        try:
            for text in _texts(path, str(path.relative_to(run))):
                yield from (Leak(text.file, text.place, what) for what in _kinds(text, known))
        except (OSError, sqlite3.Error) as error:
            raise UserError(f"{path}: cannot be read ({error}), so it may contain secrets") from error


def _known(run: Path, environment: Mapping[str, str]) -> tuple[tuple[str, Redactor], ...]:
    if not (run / DATABASE).is_file():
        raise UserError(f"{run}: is not a run (it has no {DATABASE}); give the folder named with --out")
    named = [(f"the value of {name}", Redactor.of(in_environment({name: value}))) for name, value in environment.items()]
    for source in _profiles(run / DATABASE):
        if source.suffix == ".toml" and source.is_file():
            learn_file(source.read_text(encoding="utf-8", errors="replace"))
    listed = {value for _, one in named for value in one.values}
    rest = Redactor.of(set(redactor().values) - listed)
    return (*((name, one) for name, one in named if one.values), ("a secret of a profile or of a call", rest))


def _profiles(database: Path) -> list[Path]:
    """The paths of the run's profiles, read without converting an older run, because a check changes nothing."""
    try:
        with closing(_opened(database)) as opened:
            manifest = read_json(next(opened.execute("SELECT json FROM manifest"))[0])
    except (sqlite3.Error, StopIteration, FileFault) as error:
        raise UserError(f"{database}: cannot be read ({error})") from error
    return [Path(str(agent.get("source", ""))) for agent in manifest.get("agents", ())]


def _opened(database: Path) -> sqlite3.Connection:
    """The database, opened without making a file beside it; only with a write-ahead log must SQLite open it normally."""
    how = "mode=ro" if Path(f"{database}-wal").exists() else "immutable=1"
    return sqlite3.connect(f"{database.resolve().as_uri()}?{how}", uri=True)


def _kinds(text: _Text, known: tuple[tuple[str, Redactor], ...]) -> Iterator[str]:
    left = text.text
    for name, one in known:
        if one.finds(left):
            yield name
            left = one.without_values(left)
    if any(known_shapes(left)):
        yield "a key with the prefix of an issuer"
        return
    if not text.by_rules:
        return
    if Redactor()(left) != left:
        yield "user, password or query of an address, or what follows `Bearer`"
    elif mask_assigned(left, MASK) != left:
        yield "a value behind the name of a secret"
    elif any(random_strings(left)):
        yield "a string too random for a name"


def _texts(path: Path, file: str) -> Iterator[_Text]:
    kind = path.suffix.lower()
    if kind in _TABLES:
        if kind != ".sqlite-wal":
            yield from _of_tables(path, file)
    elif kind in _PAGES:
        yield from _of_page(path, file)
    elif kind in _LINES or not _is_binary(path):
        yield from _of_lines(path, file)
    elif kind == ".wav":
        yield from (_Text(file, "its metadata", words, True) for words in _wave_words(path))
    elif kind == ".flac":
        yield from (_Text(file, "its metadata", words, True) for words in _flac_words(path))
    else:
        yield _Text(file, "its bytes", path.read_bytes().decode("latin-1"), False)


def _of_lines(path: Path, file: str) -> Iterator[_Text]:
    with path.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        number = 1
        while line := lines.readline(PIECE_CHARACTERS):
            yield _Text(file, f"line {number}", line, True)
            number += line.endswith("\n")


def _of_tables(path: Path, file: str) -> Iterator[_Text]:
    with closing(_opened(path)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            rows = database.execute(f'SELECT * FROM "{table}"')
            columns = [column[0] for column in rows.description]
            for number, row in enumerate(rows, 1):
                for column, value in zip(columns, row, strict=True):
                    if isinstance(value, str | bytes):
                        words = value if isinstance(value, str) else value.decode("utf-8", "replace")
                        yield _Text(file, f"table {table}, row {number}, column {column}", words, isinstance(value, str))


def _of_page(path: Path, file: str) -> Iterator[_Text]:
    page = path.read_text(encoding="utf-8", errors="replace")
    blocks = list(_BLOCK.finditer(page))
    for number, block in enumerate(blocks, 1):
        for words in _unpacked(block[0]):
            yield _Text(file, f"packed block {number}", words, False)
    for number, line in enumerate(_BLOCK.sub("", page).split("\n"), 1):
        yield _Text(file, f"line {number}", line, False)


def _unpacked(block: str) -> Iterator[str]:
    """The words of a packed block, piece by piece, because a few kilobytes can unpack to gigabytes."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        packed = base64.b64decode(block)
        while packed and not unpacker.eof:
            yield unpacker.decompress(packed, PIECE_CHARACTERS).decode("utf-8", "replace")
            packed = unpacker.unconsumed_tail
    except (ValueError, zlib.error):  # not a block of a page, or cut off
        return


def _is_binary(path: Path) -> bool:
    with path.open("rb") as start:
        return b"\0" in start.read(8192)


def _wave_words(path: Path) -> Iterator[str]:
    with path.open("rb") as wave:
        wave.seek(12)
        while len(head := wave.read(8)) == 8:
            name, size = struct.unpack("<4sI", head)
            if name in _WAVE_SOUND:
                wave.seek(size + size % 2, os.SEEK_CUR)
            else:
                yield wave.read(size + size % 2).decode("utf-8", "replace").replace("\0", "\n")


def _flac_words(path: Path) -> Iterator[str]:
    with path.open("rb") as flac:
        if flac.read(4) != b"fLaC":
            return
        last = False
        while not last and len(head := flac.read(4)) == 4:
            last, kind, size = bool(head[0] & 0x80), head[0] & 0x7F, int.from_bytes(head[1:], "big")
            body = flac.read(size)
            if kind in _FLAC_WORDS:
                yield body.decode("utf-8", "replace")
