"""Replies by people: transcribed if they were spoken, then stored as references of their run and as completions.

A spoken reply is transcribed by the transcriber of the agents' replies, so that a judge of texts reads people and
machines through the same transcriber; typed words are used unchanged. The columns on file are those of
completions everywhere (`context, system, text`, and `audio` if the reply was spoken). A reply counts as human only because
its contributor attested that no program helped.
"""

import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import soundfile

from harness.files import write_whole
from harness.measuring.transcribe import Transcribe
from harness.printable import visible_json
from harness.reports.listening.answers import RECORDINGS, VoteStore, tests_of
from harness.reports.listening.collect import SPOKEN
from harness.scenarios.context import Reference
from harness.store.run_store import RunStore

FILE = "human_completions.jsonl"


@dataclass(frozen=True, slots=True)
class Contribution:
    """One person's reply. `text` is None before a recording is transcribed."""

    id: str
    context: str
    person: str
    text: str | None
    audio: Path | None

    @property
    def reference(self) -> Reference | None:
        """The reply as a reference by `human:<pseudonym>`."""
        if self.text is None:
            return None
        return Reference(id=_reference(self.person), author=f"human:{self.person}", text=self.text[:2_000])


def untranscribed(store: RunStore) -> int:
    """The number of spoken replies without transcript."""
    return sum(c.text is None for _, c in _contributions(store))


def take_in(store: RunStore, transcribe: Transcribe | None) -> int:
    """Transcribe spoken replies, and make every reply a reference of the run; returns their number.

    Without `transcribe`, or if no words are recognised, a spoken reply stays sound without words.
    """
    for votes, waiting in _contributions(store):
        if transcribe is not None and waiting.text is None and waiting.audio is not None:
            samples, rate_hz = soundfile.read(waiting.audio, dtype="int16")
            heard = transcribe(samples, rate_hz).text.strip()
            if heard:
                votes.set_completion_text(waiting.id, heard)
    references = [(c.context, r) for _, c in _contributions(store) if (r := c.reference) is not None]
    store.add_people_references(references)
    return len(references)


def human_completions(store: RunStore) -> list[dict[str, str]]:
    """All replies by people for this run, in the order given; `audio` is relative to the run's folder."""
    rows = []
    for _, given in _contributions(store):
        row = {"context": given.context, "system": f"human:{given.person}", "text": given.text or SPOKEN}
        if given.audio is not None:
            row["audio"] = given.audio.relative_to(store.folder).as_posix()
        rows.append(row)
    return rows


def write_human_completions(store: RunStore, folder: Path) -> Path | None:
    """Write the replies as JSON Lines; returns None, and writes no file, if there are none."""
    rows = human_completions(store)
    if not rows:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    write_whole(path, "".join(visible_json(json.dumps(row, ensure_ascii=False)) + "\n" for row in rows))
    return path


def _contributions(store: RunStore) -> Iterator[tuple[VoteStore, Contribution]]:
    """(the test's database, one reply) for every reply of every test of the run."""
    for votes in tests_of(store.folder):
        for row in votes.completions():
            yield (
                votes,
                Contribution(
                    id=row["id"],
                    context=row["context"],
                    person=_pseudonym(votes.media_secret, row["rater"]),
                    text=None if row["text"] == SPOKEN else row["text"],
                    audio=votes.folder / RECORDINGS / row["audio"] if row["audio"] else None,
                ),
            )


def reference_of(votes: VoteStore, rater: str) -> str:
    """The id of a contributor's references in the run."""
    return _reference(_pseudonym(votes.media_secret, rater))


def _reference(person: str) -> str:
    return f"human-{person}"


def _pseudonym(secret: bytes, rater: str) -> str:
    """A name that is unique in all tests of a run, because two tests use the same numbers for different raters."""
    return "p" + hmac.new(secret, rater.encode(), hashlib.sha256).hexdigest()[:6]
