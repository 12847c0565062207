"""Recordings that their speakers want to keep, as a pack: `harness scenarios import recordings` without a command line.

The pack is written by the importer itself, from the recordings and the speakers' own table of pauses and ends, so that a
pack from the caller's seat and one from any folder of recordings obey the same rules. It holds the recordings as they were
made too, so that the import can be repeated.

Voices are personal data. Each export writes the whole pack anew and puts it in the place of the old one, so that a recording
that was discarded, or whose speaker withdrew, is in no file afterwards. Speech of programs is never in a pack of people.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import soundfile

from harness.audio.pcm import Int16
from harness.audio.recorded_turns import RecordedTurn
from harness.audio.sound_file import flac
from harness.audio.vocal import VocalDetector
from harness.errors import UserError
from harness.files import own_tree, write_whole
from harness.people.caller.prompts import Prompt
from harness.people.part_files import delete
from harness.scenarios.context import Context
from harness.scenarios.imports.imported import Imported, as_id
from harness.scenarios.imports.pause_table import TABLE, Corrected, write_table
from harness.scenarios.pack import load_pack
from harness.scenarios.speakers import AUTOMATIC, Speaker, source_of
from harness.voices.recorded_packs import RecordedPack, pack_of_recordings, write_pack

RECORDINGS: Final = "recordings"
"""Name of the folder in the pack with the recordings as they were made and their table."""
LICENCE: Final = "personal: not to be passed on without the speakers' consent"
REHEARSED: Final = f"{AUTOMATIC}; a synthetic voice"
ABOUT: Final = "People who retell a prompt or speak about an everyday topic, with the ends and pauses that they confirmed."
ABOUT_REHEARSAL: Final = f"A rehearsal of the caller's seat. Every caller is an {AUTOMATIC}."


Cut = tuple[str, tuple[tuple[float, float], ...] | None, int]
"""A context's id, its pauses, and its length in samples."""


@dataclass(frozen=True, slots=True)
class KeptTake:
    """One recording at 48 kHz with its turn as its speaker confirmed it. `speaker`: a pseudonym."""

    id: str
    speaker: Speaker
    prompt: Prompt
    samples: Int16
    rate_hz: int
    turn: RecordedTurn


@dataclass(frozen=True, slots=True)
class Exported:
    """The written pack (None: no recording was usable), its contexts, and the recordings left out with the reason."""

    path: Path | None
    contexts: tuple[Context, ...]
    left_out: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Words:
    """A transcriber by name; `of` returns the words in a sound at a rate."""

    by: str
    of: Callable[[Int16, int], str]


def export(
    takes: Sequence[KeptTake],
    out: Path,
    vocal: VocalDetector,
    words: Words | None = None,
    heard: Mapping[Cut, str] | None = None,
) -> Exported:
    """Write the pack `out` of these recordings in the place of an earlier one; without a usable one, only remove that.

    `words`: without it, contexts have no text and are for timing alone. `heard`: the words of cuts that are known, if not those
    of the earlier pack. Raises `UserError` if the takes of people and of
    programs are mixed, if `out` is no earlier pack of this kind, or if it cannot be written.
    """
    if len({take.speaker.automatic for take in takes}) > 1:
        raise UserError(f"{out}: speech of people and of programs does not go into one pack; write two")
    _refuse_other(out)
    _remove_leftovers(out)
    if heard is None:
        heard = heard_in(out, words.by) if words else {}
    packs: list[RecordedPack] = []
    left_out: list[tuple[str, str]] = []
    with TemporaryDirectory(prefix=f"{_writing(out)}-", dir=_made(out.parent)) as work:
        recordings = Path(work) / RECORDINGS
        recordings.mkdir()
        table: list[tuple[str, Corrected]] = []
        for k, take in enumerate(takes):
            name, row = f"{_name(take)}.flac", Corrected(list(take.turn.pauses), [take.turn.end_s])
            try:
                packs.append(_pack_of(take, name, row, Path(work) / f"take-{k}", vocal, words, heard))
            except UserError as fault:
                left_out.append((take.id, str(fault)))
                continue
            (Path(work) / f"take-{k}" / name).rename(recordings / name)
            table.append((name, row))
        if not packs:
            remove_pack(out)
            return Exported(None, (), tuple(left_out))
        write_table(table, recordings / TABLE)
        pack = _joined(packs)
        about = ABOUT_REHEARSAL if takes[0].speaker.automatic else ABOUT
        written = write_pack(pack, Path(work) / out.name, about)
        recordings.rename(written / RECORDINGS)
        own_tree(written)
        _put_in_place(written, out)
    return Exported(out, pack.imported.contexts, tuple(left_out))


def installed_transcriber() -> Words | None:
    """The project's transcriber if its weights and packages are on this machine; nothing is downloaded."""
    from harness import models
    from harness.audio.transcribe import Transcriber, TranscriberError
    from harness.measuring.transcribe import TRANSCRIBER

    try:
        transcriber = Transcriber(models.resolve(TRANSCRIBER, offline=True))
    except (UserError, TranscriberError):
        return None
    return Words(TRANSCRIBER, lambda samples, rate_hz: transcriber.transcribe(samples, rate_hz).text)


def _name(take: KeptTake) -> str:
    return as_id(f"{take.speaker.name}-{take.id}-{take.prompt.id}")


def _pack_of(
    take: KeptTake,
    name: str,
    row: Corrected,
    folder: Path,
    vocal: VocalDetector,
    words: Words | None,
    heard: Mapping[Cut, str],
) -> RecordedPack:
    """The importer's own pack of one recording, with its speaker, prompt and words."""
    folder.mkdir()
    write_whole(folder / name, flac(take.samples, take.rate_hz))
    write_table([(name, row)], folder / TABLE)
    try:
        pack = pack_of_recordings(folder, vocal, licence=REHEARSED if take.speaker.automatic else LICENCE)
    except UserError as fault:
        raise UserError(str(fault).replace(f"{folder}{os.sep}", "")) from None
    (context,) = pack.imported.contexts
    start, end = round(take.turn.start_s * take.rate_hz), round(take.turn.end_s * take.rate_hz)
    (sound,) = pack.sounds.values()
    said = heard.get((context.id, context.spoken.pauses_s, sound.size))
    if said is None:
        said = words.of(take.samples[start:end], take.rate_hz).strip() if words else ""
    spoken = context.spoken.model_copy(update={"text": said})
    by = words.by if words and said else None
    source = source_of(take.speaker, take.prompt.id, topic=take.prompt.kind == "topic", words_by=by)
    context = context.model_copy(update={"turns": (spoken,), "source": source})
    return replace(pack, imported=Imported((context,), pack.imported.not_carried))


def heard_in(out: Path, by: str) -> Mapping[Cut, str]:
    """The words that the same program gave the cuts of an earlier pack, because an export follows every withdrawal."""
    if not out.exists():
        return {}
    try:
        pack = load_pack(out)
    except UserError:
        return {}
    heard = [c for c in pack.contexts if f"words by {by}, a program" in c.source]
    return {(c.id, c.spoken.pauses_s, soundfile.info(out / (c.spoken.audio or "")).frames): c.spoken.text for c in heard}


def _joined(packs: Iterable[RecordedPack]) -> RecordedPack:
    packs = list(packs)
    contexts = tuple(context for pack in packs for context in pack.imported.contexts)
    notes = tuple(note for pack in packs for note in pack.imported.not_carried)
    sounds = {name: sound for pack in packs for name, sound in pack.sounds.items()}
    return RecordedPack(Imported(contexts, notes), sounds, tuple(row for pack in packs for row in pack.table))


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: cannot be made ({error.strerror})") from None
    return folder


def _refuse_other(out: Path) -> None:
    """Refuse to replace anything but an earlier export."""
    if out.exists() and not (out / RECORDINGS / TABLE).is_file():
        raise UserError(f"{out}: exists already and is no pack of the caller's seat; give another name")


def _put_in_place(written: Path, out: Path) -> None:
    """Replace the earlier pack: at every instant one of the two is whole, under its own name or that of `_old`."""
    old = _old(out)
    try:
        if out.exists():
            out.rename(old)
        written.rename(out)
    except OSError as error:
        raise UserError(f"{out}: cannot be written ({error.strerror})") from None
    delete(old)


def remove_pack(out: Path) -> None:
    """Delete an earlier export, and what one left that was killed; any other folder stays.

    Raises:
        UserError: it cannot be deleted.
    """
    _remove_leftovers(out)
    if (out / RECORDINGS / TABLE).is_file():
        out.rename(_old(out))
        delete(_old(out))


def _remove_leftovers(out: Path) -> None:
    """Remove what an export left that was killed: nobody who withdrew may be in it."""
    for path in [*out.parent.glob(f"{_writing(out)}-*"), _old(out)] if out.parent.is_dir() else []:
        delete(path)


def _old(out: Path) -> Path:
    return out.parent / f".{out.name}.old"


def _writing(out: Path) -> str:
    return f".{out.name}.new"
