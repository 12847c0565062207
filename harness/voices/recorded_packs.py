"""Packs made from recordings of people: each turn is cut from its file, with its pauses and notes on every doubt.

The played sound must be the recorded one, so it is not cleaned: a turn is cut from its first to its last speech, made one
channel and 16 kHz, and stored with the room's own sound in its pauses. A fault that only a guess could correct stops the import
with the file and the instant: a caller who still speaks at the end of the recording has no known end, clipping has lost
the tops of the signal, and a span outside a file belongs to another file.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

import numpy as np

from harness.audio.onset import CLOSURE_S
from harness.audio.pcm import Float32, Int16, to_int16
from harness.audio.recorded_edges import true_edges
from harness.audio.recorded_turns import LEAST_PAUSE_S, NoTurn, RecordedTurn, Span, one_turn, speech_in, turns_beside
from harness.audio.sound_file import flac
from harness.audio.speech import RATE_HZ
from harness.audio.vocal import VocalDetector
from harness.errors import UserError
from harness.files import own_tree, write_whole
from harness.scenarios.context import Context
from harness.scenarios.imports.eot_bench import EotRow, eot_rows
from harness.scenarios.imports.imported import DEFAULTS, Imported, ImportFault, as_id, valid_context, write_imported
from harness.scenarios.imports.pause_table import TABLE, Corrected, read_table, write_table
from harness.scenarios.recorded import MOST_SECONDS
from harness.voices.recorded_sound import Recorded, checked, read_sound

SOUND: Final = "sound"
"""Name of the folder with a pack's recordings."""
ABOUT: Final = "Recordings of people, cut to their turns; their pauses in seconds of each file."
ENDINGS: Final = (".wav", ".flac", ".ogg", ".mp3", ".aiff", ".aif", ".opus")
OUTSIDE_S: Final = 0.02
"""Tolerance at the end of a file: one frame of 20 ms, because tables are rounded."""
Step = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RecordedPack:
    """Contexts, the sound of each by its path in the pack, and a table of the used turns and pauses by file."""

    imported: Imported
    sounds: Mapping[str, Int16]
    table: tuple[tuple[str, Corrected], ...]


def pack_of_recordings(
    folder: Path,
    vocal: VocalDetector,
    *,
    caller_channel: int | None = None,
    licence: str = "not stated",
    refuse_language: Callable[[Float32], str | None] = lambda _turn: None,
    step: Step | None = None,
) -> RecordedPack:
    """A pack from all sound files of a folder: one turn per file, or with `caller_channel` (from 1) two-channel calls.

    A `pauses.csv` in the folder corrects the found pauses. `refuse_language` returns why a turn (16 kHz) is in a language that
    is not wanted, or None. Raises `UserError` with the file and the instant.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: is not a folder; recordings are imported from a folder of sound files")
    files = sorted(p for p in folder.iterdir() if p.is_file() and p.suffix.lower() in ENDINGS)
    if not files:
        raise UserError(f"{folder}: holds no sound file ({', '.join(ENDINGS)})")
    table = read_table(folder / TABLE) if (folder / TABLE).exists() else {}
    if strangers := sorted(set(table) - {file.name for file in files}):
        raise UserError(f"{folder / TABLE}: {strangers[0][:80]!r} is not a sound file of the folder")
    contexts: list[Context] = []
    notes: list[str] = []
    sounds: dict[str, Int16] = {}
    used: list[tuple[str, Corrected]] = []
    for path in files:
        file = read_sound(path, str(path))
        signal, turns = _turns_of(file, caller_channel, vocal, table.get(path.name))
        notes += file.notes
        pauses = [pause for turn in turns for pause in turn.pauses]
        used.append((path.name, Corrected(pauses, [turn.end_s for turn in turns])))
        for k, turn in enumerate(turns, 1):
            if why := refuse_language(signal[round(turn.start_s * RATE_HZ) : round(turn.end_s * RATE_HZ)]):
                raise UserError(f"{path} at {turn.start_s:.2f} s: {why}")
            name = as_id(path.stem if len(turns) == 1 and caller_channel is None else f"{path.stem}-{k}")
            about = f"{path.name}, {turn.start_s:.2f} s"
            add_turn(contexts, sounds, signal, turn, Origin(name, file.name, about, licence))
        if step is not None:
            step(f"{path.name}: {len(turns)} {'turn' if len(turns) == 1 else 'turns'}")
    return RecordedPack(Imported(tuple(contexts), tuple(notes)), sounds, tuple(used))


def pack_of_eot_bench(path: Path, *, language: str = "en", step: Step | None = None) -> RecordedPack:
    """A pack from the rows of one language, with their published silences. Raises `UserError` with the row and the instant."""
    contexts: list[Context] = []
    notes: list[str] = []
    sounds: dict[str, Int16] = {}
    others: dict[str, int] = {}
    for where, folder, row in eot_rows(path):
        if row.language.lower().split("-")[0] != language:
            others[row.language] = others.get(row.language, 0) + 1
            continue
        place = f"{where}: {row.id[:80]!r}"
        file = read_sound(row.audio.source(folder, place), place) if row.audio.array is None else _decoded(row, place)
        notes += file.notes
        turn = _published_turn(row, file)
        about = f"eot-bench row {row.id[:80]} ({row.language})"
        origin = Origin(as_id(row.id), place, about, "Apache-2.0", row.text(), row.history())
        add_turn(contexts, sounds, file.mixed, turn, origin)
        if step is not None:
            step(f"{row.id[:80]}: {len(turn.pauses)} pauses")
    if not contexts:
        there = ", ".join(sorted(others)) or "none"
        raise UserError(f"{path}: no row is in {language!r}; languages there: {there}; choose one with --language")
    notes += [
        f"{count} rows in {name[:20]!r} are left out; --language {name[:20]} takes them" for name, count in others.items()
    ]
    return RecordedPack(Imported(tuple(contexts), tuple(notes)), sounds, ())


def write_pack(pack: RecordedPack, out: Path, about: str = ABOUT) -> Path:
    """Write a pack as a folder, completely or not at all: texts, sound, and the table of used turns and pauses.

    Raises `ImportFault` or `UserError` if it cannot be written.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    part = Path(mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        write_imported(pack.imported, part / f"{out.name}.yaml", about)
        (part / SOUND).mkdir()
        for name, signal in pack.sounds.items():
            write_whole(part / name, flac(signal, RATE_HZ))
        if pack.table:
            write_table(pack.table, part / TABLE)
        own_tree(part)  # people's voices
        part.rename(out)
    except OSError as error:
        raise UserError(f"{out}: cannot be written ({error.strerror})") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return out


def _turns_of(
    file: Recorded, caller_channel: int | None, vocal: VocalDetector, table: Corrected | None
) -> tuple[Float32, tuple[RecordedTurn, ...]]:
    """The caller's signal, and its turns as found and corrected by the table."""
    if caller_channel is None:
        if len(file.channels) == 2 and not file.is_one_signal:
            raise UserError(
                f"{file.name}: two channels that differ, as in a call; name the caller's with --caller-channel 1 or 2"
            )
        signal, other = file.mixed, None
    else:
        if len(file.channels) < 2:
            raise UserError(f"{file.name}: has one channel; --caller-channel is for calls of two")
        if caller_channel > len(file.channels):
            raise UserError(f"{file.name}: has {len(file.channels)} channels, so no channel {caller_channel}")
        signal = file.channels[caller_channel - 1]
        other = file.channels[1 if caller_channel == 1 else 0]
    if table is not None:
        _refuse_outside(table, file)
    try:
        speech = true_edges(signal, speech_in(signal, vocal))
        turns = (one_turn(speech),) if other is None else turns_beside(speech, _heard_beside(other, vocal))
    except NoTurn as fault:
        raise UserError(f"{file.name}: {fault}") from None
    if table is not None:
        turns = _corrected(turns, table, file)
    last = turns[-1].end_s
    if not (table and table.ends) and file.lasts_s - last < CLOSURE_S:
        raise UserError(
            f"{file.name} at {last:.2f} s: the caller speaks until the recording ends, so the turn's true end is unknown; "
            f"record on into the silence, or give end_s in {TABLE}"
        )
    return signal, turns


def _heard_beside(other: Float32, vocal: VocalDetector) -> tuple[Span, ...]:
    try:
        return speech_in(other, vocal)
    except NoTurn:
        return ()


def _corrected(turns: tuple[RecordedTurn, ...], table: Corrected, file: Recorded) -> tuple[RecordedTurn, ...]:
    """The turns with the table's pauses, and with each end in the table in place of the end of the turn around it."""
    starts = [turn.start_s for turn in turns]
    ends = {k: turn.end_s for k, turn in enumerate(turns)}
    for end in table.ends:
        k = int(np.searchsorted(starts, end, side="left")) - 1
        if k < 0:
            raise UserError(f"{file.name} at {end:.3f} s: end_s is before the caller speaks")
        ends[k] = end
    left = list(table.pauses)
    mended = []
    for k, turn in enumerate(turns):
        inside = tuple(p for p in left if turn.start_s < p[0] and p[1] < ends[k])
        left = [p for p in left if p not in inside]
        mended.append(RecordedTurn(turn.start_s, ends[k], inside))
    if left:
        start, end = left[0]
        raise UserError(f"{file.name} at {start:.3f} s: the pause to {end:.3f} s is not inside a turn of the caller")
    return tuple(mended)


def _refuse_outside(table: Corrected, file: Recorded) -> None:
    for instant in [*(end for _, end in table.pauses), *table.ends]:
        if instant > file.lasts_s + OUTSIDE_S:
            raise UserError(f"{file.name} at {instant:.3f} s: {TABLE} names an instant outside the file ({file.lasts_s:.2f} s)")


def _published_turn(row: EotRow, file: Recorded) -> RecordedTurn:
    for span in row.silence_spans:
        reaches = span.start if span is row.silence_spans[-1] else span.end
        if reaches > file.lasts_s + OUTSIDE_S:
            raise UserError(f"{file.name} at {reaches:.3f} s: a silence span is outside the sound ({file.lasts_s:.2f} s)")
    inner = [(s.start, s.end) for s in row.silence_spans[:-1] if s.start > 0]
    start = row.silence_spans[0].end if row.silence_spans[0].start == 0 and len(row.silence_spans) > 1 else 0.0
    if row.end_s <= start:
        raise UserError(f"{file.name} at {row.end_s:.3f} s: the last silence begins before any speech")
    return RecordedTurn(start, min(row.end_s, file.lasts_s), tuple(p for p in inner if p[1] - p[0] >= LEAST_PAUSE_S))


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a turn is from. `name`: id of its context; `place`: for messages; `history`: the turns before it."""

    name: str
    place: str
    about: str
    licence: str
    text: str = ""
    history: Sequence[Mapping[str, str]] = ()


def add_turn(contexts: list[Context], sounds: dict[str, Int16], signal: Float32, turn: RecordedTurn, origin: Origin) -> None:
    """Add one turn to a pack in the making: its context and its sound. Raises `UserError` with the place."""
    name, place = origin.name, origin.place
    if turn.end_s - turn.start_s > MOST_SECONDS:
        raise UserError(
            f"{place} at {turn.start_s:.2f} s: a turn of {turn.end_s - turn.start_s:.0f} s; the most is {MOST_SECONDS:.0f} s"
        )
    if any(context.id == name for context in contexts):
        raise UserError(f"{place}: gives the id {name!r}, as another file does; rename one of them")
    audio = f"{SOUND}/{name}.flac"
    cut = signal[round(turn.start_s * RATE_HZ) : round(turn.end_s * RATE_HZ)]
    if cut.size == 0 or not np.any(cut):
        raise UserError(f"{place} at {turn.start_s:.2f} s: silent until {turn.end_s:.2f} s")
    sounds[audio] = to_int16(cut)
    pauses = tuple((round(a - turn.start_s, 3), round(b - turn.start_s, 3)) for a, b in turn.pauses)
    spoken = {"role": "seeker", "text": origin.text, "audio": audio, "pauses_s": pauses}
    facts = {"id": name, "problem": "recorded", "source": origin.about, "licence": origin.licence}
    fields = {**DEFAULTS, **facts, "turns": (*origin.history, spoken)}
    try:
        contexts.append(valid_context(fields, place))
    except ImportFault as fault:
        raise UserError(str(fault)) from None


def _decoded(row: EotRow, place: str) -> Recorded:
    if row.audio.sampling_rate is None:
        raise UserError(f"{place}: audio has an array and no sampling_rate")
    samples = np.asarray(row.audio.array, dtype=np.float32)[None]
    return checked(samples, row.audio.sampling_rate, place)
