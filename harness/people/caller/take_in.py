"""Packs of the caller's seat, made anew from what is kept: one of people, one of rehearsals."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from harness.audio.recorded_turns import FoundTurn
from harness.audio.vocal import silero
from harness.people.caller.as_pack import KeptTake, export, installed_transcriber
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
    said: list[str] = []
    people = records.people()
    vocal, words = silero(), None
    for automatic, name in PACKS.items():
        takes = [
            _kept(records, person, take)
            for person in people
            if person.automatic is automatic
            for take in records.takes(person.id)
            if take.kind == "turn" and take.state == "kept"
        ]
        if takes and words is None:
            words = installed_transcriber()
        if takes:
            phase(f"Writing the pack of {len(takes)} recordings")
        written = export(takes, out / name, vocal, words)
        said += [f"{take} is left out: {why}" for take, why in written.left_out]
        if written.path is not None:
            speakers = len({take.speaker.name for take in takes})
            of = "of a rehearsal" if automatic else f"of {speakers} {'person' if speakers == 1 else 'people'}"
            text = "" if words is not None else "; no transcriber is installed, so its turns have no text"
            said.append(f"{written.path}: a pack {of}, {len(written.contexts)} turns{text}")
    return said


def _kept(records: SeatStore, person: Person, take: Take) -> KeptTake:
    turn = FoundTurn(
        take.decided["start_s"], take.decided["end_s"], tuple((float(a), float(b)) for a, b in take.decided["pauses"])
    )
    samples = track_of(records.parts(take)).samples
    return KeptTake(take.id, Speaker(person.id, person.automatic), prompt_of(take), samples, RATE_HZ, turn)
