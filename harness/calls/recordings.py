"""The calls in a file or a folder, and the table beside them that says what their names do not.

Without a table every recording of a folder is a call of two channels. The table (`calls.csv`) names the caller's channel where
the sound does not show it, and the two files of calls that have one for each side. It is the user's own and may be long, so a
wrong row is refused by its number before anything is measured.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.calls.sound import SIDES, CallFiles, Side
from harness.errors import UserError
from harness.printable import printable
from harness.tables.csv_rows import CsvRows

TABLE: Final = "calls.csv"
COLUMNS: Final = ("file", "caller", "caller_file", "agent_file")
SUFFIXES: Final = frozenset((".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3"))
_SIDES: Final[Mapping[str, Side]] = {"left": "left", "1": "left", "right": "right", "2": "right"}
_PART_BYTES: Final = 1 << 16
MOST_OF_A_NAME: Final = 60


@dataclass(frozen=True, slots=True)
class CallRecording:
    """One call. `id`: a name that a context can have."""

    id: str
    content: str
    """SHA-256 (hex) of its files' sizes, beginnings, middles and ends: enough to distinguish recordings without reading all of
    them first."""
    files: CallFiles


def find_calls(place: Path, table: Path | None = None, caller: Side | None = None) -> tuple[CallRecording, ...]:
    """The calls of a file or folder, by name; a recording that is there twice, under any name, is one call.

    `table`: None takes `calls.csv` beside the recordings, if there is one. `caller`: the caller's channel in every file of two
    channels of which the table does not say it.

    Raises:
        UserError: there is no such file or folder, no recording in it, or a wrong row in the table.
    """
    if not place.exists():
        raise UserError(f"{place}: is no file or folder; name a recording of a call, or a folder of them")
    folder = place if place.is_dir() else place.parent
    table = table or (folder / TABLE if (folder / TABLE).is_file() else None)
    rows = list(_rows(table)) if table is not None else []
    said = {row.files[0].resolve(): row for row in rows}
    of_pairs = {path.resolve(): row for row in rows if len(row.files) == 2 for path in row.files}
    recordings = [place] if place.is_file() else sorted(p for p in place.rglob("*") if _is_recording(p, place))
    recordings += [row.files[0] for row in rows if place.is_dir()]
    found: dict[str, CallRecording] = {}
    for path in recordings:
        row = of_pairs.get(path.resolve()) or said.get(path.resolve())
        files = row.files if row else (path,)
        side = caller if row is None or (row.caller is None and len(files) == 1) else row.caller
        name = files[0].relative_to(place).as_posix() if place.is_dir() and files[0].is_relative_to(place) else files[0].name
        call = _call(CallFiles(printable(name, one_line=True), files, side))
        found.setdefault(call.content, call)
    if not found:
        raise UserError(f"{place}: has no recording in it (WAV, FLAC, Ogg, Opus or MP3); name the folder of the calls")
    return tuple(found.values())


def _is_recording(path: Path, below: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(below).parts)
    return path.suffix.lower() in SUFFIXES and path.is_file() and not hidden


def _call(files: CallFiles) -> CallRecording:
    content = hashlib.sha256()
    for path in files.files:
        try:
            size = path.stat().st_size
            with path.open("rb") as sound:
                content.update(f"{size}\n".encode())
                for begin in (0, size // 2, size - _PART_BYTES):
                    sound.seek(max(0, begin))
                    content.update(sound.read(_PART_BYTES))
        except OSError as error:
            raise UserError(f"{printable(str(path), one_line=True)}: cannot be read ({error.strerror})") from error
    plain = re.sub(r"[^a-z0-9]+", "-", Path(files.name).with_suffix("").as_posix().lower()).strip("-")
    return CallRecording(
        f"{plain[-MOST_OF_A_NAME:].strip('-') or 'call'}-{content.hexdigest()[:8]}", content.hexdigest(), files
    )


def _rows(table: Path) -> Iterator[CallFiles]:
    rows = CsvRows(table, COLUMNS)
    needed = {"file", "caller_file"}
    rows.must_have(() if needed & set(rows.columns) else needed, COLUMNS, "give file,caller or caller_file,agent_file")
    seen: set[Path] = set()
    for cells in rows:
        row = _row({name: cell.strip() for name, cell in cells.cells.items()}, table.parent, cells.where)
        for path in row.files:
            if path.resolve() in seen:
                raise UserError(f"{cells.where}: {path.name[:200]!r} is in the table already; name each file once")
            seen.add(path.resolve())
        yield row


def _row(cells: Mapping[str, str], folder: Path, where: str) -> CallFiles:
    file, pair = cells.get("file", ""), (cells.get("caller_file", ""), cells.get("agent_file", ""))
    if bool(file) == any(pair) or (any(pair) and not all(pair)):
        raise UserError(f"{where}: a row names one file of two channels, or the caller's file and the agent's")
    side = cells.get("caller", "").lower()
    if side and (side not in _SIDES or not file):
        raise UserError(f"{where}: caller {side[:20]!r}: the caller's channel of a file is {' or '.join(SIDES)}")
    files = _there([file] if file else pair, folder, where)
    return CallFiles(Path(file or pair[0]).as_posix(), files, _SIDES.get(side))


def _there(names: Sequence[str], folder: Path, where: str) -> tuple[Path, ...]:
    for name in names:
        if not os.path.isfile(folder / name):  # Path.is_file raises for a name that is too long
            raise UserError(f"{where}: there is no file {name[:200]!r} beside the table")
    return tuple(folder / name for name in names)
