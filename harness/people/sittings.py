"""One person's sitting, step by step, independent of the web server: loop-back trial, recordings, decisions.

A page that is opened anew is a new audio clock, with another latency; so every page begins with its own loop-back trial
where a wait is measured. A person has one page at a time: of two, one would record what the other plays. A recording whose
page is gone is neither lost nor kept by itself; its speaker decides on return.
"""

import io
import wave
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Annotated, Any, Final, Literal

import soundfile
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.audio.pcm import Int16
from harness.people import loop_back
from harness.people.part_files import StoredPart, samples_of
from harness.people.records import MOST_PARTS, Person, SeatStore, Take, TakeKind
from harness.people.seat import Json, Seat
from harness.people.track import RATE_HZ, Track, track_of
from harness.people.trials import disturbances, loop_of, measured, trial_of
from harness.reports.invited import Refused

_NEVER_ENDED: Final[Json] = {"parts": 0, "played": [], "pressed": None, "clock": [], "reason": "hidden"}
"""The end of a recording whose page is gone: nobody knows how its clock went."""
_MOST_SETTINGS: Final = 60
AROUND_S: Final = 1.0
"""A recording may begin a moment after its page has begun to play: no block of it is longer."""


BYTES_A_SAMPLE = 2


@dataclass(frozen=True, slots=True)
class WavStream:
    """The pieces of a WAV file, read while it is sent, and its size in bytes: a listener on a slow line costs one part."""

    size: int
    pieces: Iterator[bytes]


class Sittings:
    """The logic of both seats' sittings."""

    def __init__(self, records: SeatStore, seat: Seat) -> None:
        self._records = records
        self._seat = seat

    def step(self, person: Person) -> Json:
        """The current step for this person's open page."""
        takes = self._records.takes(person.id)
        study = self._seat.study
        about = {
            "name": person.id,
            "automatic": person.automatic,
            "kept": sum(t.state == "kept" and t.kind != "calibration" for t in takes),
        }
        if questions := self._records.participants.questions(person.id, study):
            return {**about, "kind": "about", "questions": questions}
        for take in takes:
            if take.kind != "calibration" and take.state == "ended":
                return {**about, "kind": "review", "take": take.id, "of": take.what, "found": dict(take.found)}
            if take.kind != "calibration" and take.state == "open":
                return {
                    **about,
                    "kind": "interrupted",
                    "take": take.id,
                    "of": take.what,
                    "seconds": round(self._seconds(take), 1),
                }
        due = self._seat.next_for(person)
        if due["kind"] != "done" and self._seat.loop_back_first and trial_of(self._records, person.id, person.tab) is None:
            return {**about, "kind": "loop_back", "places": list(loop_back.places()), "sound": "/sound/loop-back"}
        end = {"code": study.completion_code, "way_back": study.way_back} if due["kind"] == "done" else {}
        return {**about, **due, **end}

    def open(self, person: Person, body: Mapping[str, Any]) -> Take:
        """Begin a recording.

        Raises:
            Refused: it is from a page that is no longer the open one, for another item than the due one, or at another rate.
        """
        self._own_tab(person, body.get("tab"))
        kind, what = body.get("kind"), body.get("of")
        for old in self._records.takes(person.id):
            if old.state == "open" and old.tab == person.tab:
                # Sent again because its answer was lost; any other was begun by a page that forgot it, so nobody can end it.
                if (old.kind, old.what) == (kind, what) and not self._records.stored_parts(old):
                    return old
                self._records.discard(old)
        due = self.step(person)
        expected: dict[str, TakeKind] = {"loop_back": "calibration", "prompt": "turn", "conversation": "reply"}
        if due["kind"] not in expected or kind != expected[due["kind"]] or what != due.get("of", ""):
            raise Refused("seat.refused.not_due")
        if body.get("rate_hz") != RATE_HZ:
            raise Refused("seat.refused.rate", rate=body.get("rate_hz"), needed=RATE_HZ)
        given = body.get("settings")
        items = list(given.items())[:_MOST_SETTINGS] if isinstance(given, dict) else []
        numbers = ((str(name)[:40], value) for name, value in items if isinstance(value, bool | int | float))
        settings: dict[str, Any] = {name: value for name, value in numbers if isfinite(value)}
        topic = body.get("topic")
        if isinstance(topic, str):
            settings["topic"] = topic[:80]
        return self._records.open_take(person, expected[due["kind"]], str(due.get("of", "")), RATE_HZ, settings, person.tab)

    def add_part(self, person: Person, take: str, number: int, first: int, pcm: bytes) -> None:
        """Store a part of a recording.

        Raises:
            Refused: the recording is not this person's, is finished, or the part is impossible.
        """
        found = self._own(person, take)
        if not 0 <= number < MOST_PARTS or not 0 <= first < LATEST_FRAME or not pcm or len(pcm) % 2:
            raise Refused("seat.refused.part")
        if found.state == "open":
            self._records.add_part(found, number, first, pcm)

    def end(self, person: Person, take: str, body: Mapping[str, Any]) -> Json:
        """Finish a recording and return the findings. The same end sent again returns the same.

        Raises:
            Refused: parts are missing, or the page's record of the recording is impossible.
        """
        found = self._own(person, take)
        if found.state != "open":
            return dict(found.found)
        ended = end_of(body)
        if missing := set(range(ended["parts"])) - set(self._records.stored_parts(found)):
            raise Refused("seat.refused.missing", number=len(missing))
        return self._finish(found, ended)

    def _finish(self, take: Take, ended: Mapping[str, Any]) -> Json:
        try:
            track = track_of(self._records.parts(take), [(int(f), float(ms)) for f, ms in ended["clock"]])
        except ValueError:
            self._records.discard(take)
            raise Refused("seat.refused.nothing") from None
        if take.kind == "calibration":
            result = measured(track, ended)
            self._records.set_take(take, "kept" if result.get("heard") else "discarded", ended=ended, found=result)
            return result
        ended = {**ended, "played": [each for each in ended["played"] if _inside(each, track)]}
        finished = replace(take, ended=ended, found=disturbances(track, ended))
        examined = self._seat.examined(finished, track, loop_of(self._records, finished)) | dict(finished.found)
        self._records.set_take(take, "ended", only_from="open", ended=ended, found=examined)
        return examined

    def keep(self, person: Person, take: str, body: Mapping[str, Any]) -> Json:
        """Keep a recording, with its speaker's decisions, and return the next step; an interrupted one is finished with what
        has arrived.

        Raises:
            Refused: the decisions are impossible, or there is nothing to keep.
        """
        found = self._own(person, take)
        if found.state == "open":
            self._finish(found, {**_NEVER_ENDED, **found.ended})
        elif found.state == "discarded":
            raise Refused("seat.refused.discarded")
        elif found.state == "ended":
            self._records.set_take(found, "kept", decided=self._seat.keep(found, body))
        return self.step(person)

    def discard(self, person: Person, take: str) -> Json:
        """Discard a recording, whose sound is removed, and return the next step."""
        found = self._own(person, take)
        if found.state in ("open", "ended"):
            self._records.discard(found)
        return self.step(person)

    def go_on_without(self, person: Person, tab: object) -> Json:
        """Store that this page has no loop-back trial, which marks the sitting, and return the next step."""
        self._own_tab(person, tab)
        without = self._records.open_take(person, "calibration", "", RATE_HZ, {}, person.tab)
        self._records.set_take(without, "kept", found={"skipped": True})
        return self.step(person)

    def played(self, person: Person, take: str, body: Mapping[str, Any]) -> None:
        """Store the sound that a running recording plays, so that an interrupted one can still be placed.

        Raises:
            Refused: the recording is not this person's, or the page's record is impossible.
        """
        found = self._own(person, take)
        if found.state == "open":
            ended = end_of({"parts": 1, "played": body.get("played"), "clock": [], "reason": "hidden"})
            self._records.set_take(found, "open", ended=ended)

    def sound_of(self, person: Person, take: str) -> WavStream | None:
        """A recording as a WAV file for its own speaker; None if its sound is gone."""
        found = self._own(person, take)
        parts = self._records.stored_parts(found)
        return wav_stream(parts.values(), found.rate_hz) if parts else None

    def _seconds(self, take: Take) -> float:
        return sum(part.samples for part in self._records.stored_parts(take).values()) / take.rate_hz

    def _own(self, person: Person, take: str) -> Take:
        try:
            found = self._records.take(take)
        except KeyError:
            raise Refused("seat.refused.none") from None
        if found.person != person.id:
            raise Refused("seat.refused.none")
        return found

    def _own_tab(self, person: Person, tab: object) -> None:
        if tab != person.tab:
            raise Refused("seat.refused.elsewhere")


def _inside(played: Mapping[str, Any], track: Track) -> bool:
    """True if a sound was played while the recording ran: any other place is a mistake of the page, or its lie."""
    return bool(track.first - AROUND_S * track.rate_hz <= played["at"] < track.end)


def wav(samples: Int16, rate_hz: int = RATE_HZ) -> bytes:
    """A WAV file, which every browser decodes exactly."""
    out = io.BytesIO()
    soundfile.write(out, samples, rate_hz, format="WAV", subtype="PCM_16")
    return out.getvalue()


LATEST_FRAME: Final = RATE_HZ * 60 * 60 * 48
"""Two days of an audio clock."""
_Frame = Annotated[int, Field(ge=0, lt=LATEST_FRAME)]
_Name = Annotated[str, Field(max_length=24)]
_Reason = Literal["pressed", "silence", "longest", "never", "hidden", "slept", "unplugged"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)


class _Played(_Model):
    name: _Name
    at: _Frame
    frames: _Frame


class _Happened(_Model):
    what: _Name
    at: _Frame


class _Ended(_Model):
    parts: Annotated[int, Field(ge=1, le=MOST_PARTS)]
    played: Annotated[list[_Played], Field(max_length=40)]
    pressed: _Frame | None = None
    clock: Annotated[list[Annotated[list[float], Field(min_length=2, max_length=2)]], Field(max_length=MOST_PARTS)]
    happened: Annotated[list[_Happened], Field(max_length=1_000)] = []
    reason: _Reason


def end_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """The record in a request, checked.

    Raises:
        Refused: it is impossible.
    """
    try:
        return _Ended.model_validate(dict(body)).model_dump()
    except ValidationError:
        raise Refused("seat.refused.end") from None


def wav_stream(parts: Iterable[StoredPart], rate_hz: int) -> WavStream:
    """A WAV file (one channel, 16 bits) of these parts, with silence where one is missing."""
    ordered = sorted(parts, key=lambda part: part.first)
    frames = max(part.end for part in ordered) - ordered[0].first
    header = _header(frames, rate_hz)
    return WavStream(len(header) + BYTES_A_SAMPLE * frames, _pieces(header, ordered))


def _pieces(header: bytes, ordered: Sequence[StoredPart]) -> Iterator[bytes]:
    yield header
    reached = ordered[0].first
    for part in ordered:
        if part.end <= reached:
            continue
        if part.first > reached:
            yield bytes(BYTES_A_SAMPLE * (part.first - reached))
        try:
            yield samples_of(part).tobytes()[BYTES_A_SAMPLE * max(0, reached - part.first) :]
        except FileNotFoundError:  # Its speaker has withdrawn meanwhile.
            yield bytes(BYTES_A_SAMPLE * (part.end - max(reached, part.first)))
        reached = part.end


def _header(frames: int, rate_hz: int) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setparams((1, BYTES_A_SAMPLE, rate_hz, frames, "NONE", ""))
        file.writeframesraw(b"")
        return out.getvalue()
