"""Packs of the caller's seat, made anew from what is kept: one of people, one of rehearsals.

The recordings are read, cut and transcribed while nobody else writes or removes a pack. Somebody who withdraws meanwhile
does not wait for that: the packs are then made once more, without them, before anybody is done.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from harness.audio.recorded_turns import RecordedTurn
from harness.audio.vocal import silero
from harness.people.alone import alone
from harness.people.caller.as_pack import KeptTake, export, heard_in, installed_transcriber, remove_pack
from harness.people.caller.seat import prompt_of
from harness.people.records import Person, SeatStore, Take
from harness.people.track import RATE_HZ, track_of
from harness.scenarios.speakers import Speaker

PACKS: Final[Mapping[bool, str]] = {False: "pack", True: "rehearsal"}
"""Automatic or not → the name of the pack's folder."""


def write_packs(records: SeatStore, out: Path, phase: Callable[[str], None] = lambda _: None) -> list[str]:
    """Write the packs of all kept recordings into `out`; returns a sentence for each, and for each recording left out.

    Raises:
        UserError: a pack cannot be written.
    """
    with alone(records.folder, wait=True):
        return _write_until_nobody_leaves(records, out, phase)


def without_leaving(records: SeatStore, out: Path, *, anew: bool) -> bool:
    """Remove everybody who is leaving from the packs in `out`; False if somebody is left for another process or call.

    With `anew`, packs that exist are made anew, and a process that is busy with them is waited for; else they are deleted.

    Raises:
        UserError: a pack cannot be deleted or written.
    """
    with alone(records.folder, wait=anew) as mine:
        if not mine:
            return False
        gone = records.leaving()
        if not gone:
            return True
        if anew and any((out / name).exists() for name in PACKS.values()):
            _write_until_nobody_leaves(records, out)
            return True
        for name in PACKS.values():
            remove_pack(out / name)
        return records.left(gone)


def _write_until_nobody_leaves(records: SeatStore, out: Path, phase: Callable[[str], None] = lambda _: None) -> list[str]:
    while True:
        gone = records.leaving()
        said = _write(records, out, phase, anew=bool(gone))
        records.left(gone)
        if not records.leaving():
            return said


def _write(records: SeatStore, out: Path, phase: Callable[[str], None], *, anew: bool) -> list[str]:
    """Write the packs; `anew`: the earlier ones go before, because somebody is in them who withdrew."""
    people = records.people()
    kept = {
        automatic: [
            found
            for person in people
            if person.automatic is automatic
            for take in records.takes(person.id)
            if take.kind == "turn" and take.state == "kept" and (found := _kept(records, person, take)) is not None
        ]
        for automatic in PACKS
    }
    words = installed_transcriber() if any(kept.values()) else None
    heard = {automatic: heard_in(out / name, words.by) if words else {} for automatic, name in PACKS.items()}
    said: list[str] = []
    for automatic, name in PACKS.items():
        if anew or not kept[automatic]:
            remove_pack(out / name)
    for automatic, takes in kept.items():
        if not takes:
            continue
        phase(f"Writing the pack of {len(takes)} recordings")
        written = export(takes, out / PACKS[automatic], silero(), words, heard[automatic])
        said += [f"{take} is left out: {why}" for take, why in written.left_out]
        if written.path is not None:
            speakers = len({take.speaker.name for take in takes})
            of = "of a rehearsal" if automatic else f"of {speakers} {'person' if speakers == 1 else 'people'}"
            text = "" if words is not None else "; no transcriber is installed, so its turns have no text"
            said.append(f"{written.path}: a pack {of}, {len(written.contexts)} turns{text}")
    return said


def _kept(records: SeatStore, person: Person, take: Take) -> KeptTake | None:
    """One recording; None if its speaker has removed it meanwhile."""
    turn = RecordedTurn(
        take.decided["start_s"], take.decided["end_s"], tuple((float(a), float(b)) for a, b in take.decided["pauses"])
    )
    parts = records.parts(take)
    if not parts:
        return None
    return KeptTake(take.id, Speaker(person.id, person.automatic), prompt_of(take), track_of(parts).samples, RATE_HZ, turn)
