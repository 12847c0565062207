"""Rows with sound in them, as data sets of recordings are published: Parquet shards, or JSON Lines with the sound beside them.

Hubs keep such rows in Parquet; the same rows as JSON Lines, with the sound in files beside them, are read without a further
package. Nothing is downloaded: these are the user's own copies.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.errors import UserError
from harness.foreign_files import first_fault
from harness.installation import install_command
from harness.scenarios.imports.imported import ImportFault
from harness.scenarios.imports.jsonl import json_lines

MUCH_BYTES: Final = 64 << 20
MOST_UNPACKED: Final = 20
"""Most times its size to which a column of a file may unpack, where it unpacks to much. Encoded sound does not shrink at all,
16-bit samples of a silent room to a fifth."""

R = TypeVar("R", bound="Row")


class Row(BaseModel):
    """A part of a published row: columns that are not known are left out."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, coerce_numbers_to_str=True)


class Sound(Row):
    """A file's bytes, or its name beside the rows, or decoded samples with their rate."""

    encoded: Annotated[bytes | None, Field(alias="bytes")] = None
    path: str | None = None
    array: list[float] | None = None
    sampling_rate: Annotated[int, Field(gt=0)] | None = None

    def source(self, folder: Path, place: str) -> Path | bytes:
        """The file's bytes, or its place in `folder`. Raises `UserError` if it is neither in the row nor there."""
        if self.encoded is not None:
            return self.encoded
        if self.path is None:
            raise UserError(f"{place}: audio has neither bytes nor the name of a file")
        file = folder / self.path
        try:
            if not file.resolve(strict=True).is_relative_to(folder.resolve()):
                raise UserError(f"{place}: {self.path[:80]!r} is outside the folder of the rows")
        except OSError:
            raise UserError(f"{place}: no sound {self.path[:80]!r} beside the rows") from None
        return file


def sound_rows(path: Path, columns: Sequence[str], audio: Sequence[str]) -> Iterator[tuple[str, Path, Any]]:
    """Each row with its place and the folder of its sound, not yet checked. `audio` names the columns with sound.

    `path`: a .parquet or .jsonl file, or a folder with such files at any depth.
    Raises `ImportFault` for a file that cannot be read, and for Parquet if its reader is not installed.
    """
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix in (".parquet", ".jsonl"))
    if not files:
        raise ImportFault(f"{path}: no .parquet or .jsonl file of rows is there")
    for file in files:
        if file.suffix == ".parquet":
            rows = _parquet(file, columns)
        else:
            rows = ((f"{file}:{number}", line) for number, line in json_lines(file))
        for where, raw in rows:
            named = {name: {"path": raw[name]} for name in audio if isinstance(raw.get(name), str)}
            yield where, file.parent, {**raw, **named}


def checked_row(kind: type[R], raw: Any, where: str, columns: Sequence[str]) -> R:
    """The row as its type. Raises `ImportFault` with its first fault."""
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        place, wrong = first_fault(error)
        raise ImportFault(f"{where}: {place}: {wrong}; the columns are {', '.join(columns)}") from None


def _parquet(file: Path, columns: Sequence[str]) -> Iterator[tuple[str, Any]]:
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ImportFault(
            f"{file}: Parquet needs the extra 'parquet': {install_command('parquet')}; rows as .jsonl need none"
        ) from None
    number = 0
    try:
        rows = ParquetFile(file)
        known = [name for name in columns if name in rows.schema_arrow.names]
        _refuse_what_unpacks_too_far(file, rows.metadata)
        # Row by row: each contains its sound, and a packed value that all rows share is unpacked for each.
        for part in rows.iter_batches(batch_size=1, columns=known):
            for raw in part.to_pylist():
                number += 1
                yield f"{file}, row {number}", raw
    except (pyarrow.ArrowException, OSError) as error:
        raise ImportFault(f"{file}: is no Parquet that can be read ({' '.join(str(error).split())[:120]})") from None


def _refuse_what_unpacks_too_far(file: Path, metadata: Any) -> None:
    for group in range(metadata.num_row_groups):
        chunks = metadata.row_group(group)
        for k in range(chunks.num_columns):
            chunk = chunks.column(k)
            # Runs of one number take no place, neither packed nor, by the file's own account, unpacked.
            numbers = 0 if chunk.physical_type == "BYTE_ARRAY" else 8 * chunk.num_values
            unpacked = max(chunk.total_uncompressed_size, numbers)
            if unpacked > MUCH_BYTES and unpacked > MOST_UNPACKED * chunk.total_compressed_size:
                raise ImportFault(
                    f"{file}: column {chunk.path_in_schema[:80]} unpacks to {unpacked / 1e6:,.0f} MB from "
                    f"{chunk.total_compressed_size / 1e6:,.1f} MB, as no sound does; it is not read"
                )
