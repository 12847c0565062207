"""Replies by people: a vetted contributor hears a conversation and speaks or types a reply.

HEART has three people a conversation from a pool of twelve, none twice on the same one, and no help by a program. Coverage
goes to the least covered conversations first. A stored reply becomes a reference `human:<pseudonym>`, with sound if it
was spoken.
"""

import base64
import binascii
import hashlib
import hmac
import io
import re
import secrets
import sqlite3
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from harness.files import own_file, own_folder
from harness.reports.invited import Refused
from harness.reports.listening import sound
from harness.reports.listening.answers import RECORDINGS, Rater, VoteStore
from harness.reports.listening.material import Material

PEOPLE_PER_CONVERSATION = 3
POOL = 12
MOST_WORDS = 80
"""Most words of a reply: about twice the paper's 40; the page asks for 1–3 sentences."""
SHORTEST_S, LONGEST_S = 0.8, 60.0
LOWEST_RATE_HZ, HIGHEST_RATE_HZ = 4_000, 192_000
MOST_CHANNELS = 8
BLOCK_FRAMES = 65_536
"""Frames decoded at once: 2 MB at eight channels, before the length is known."""
SPOKEN = "(spoken)"
"""The text of a recorded reply until it has been transcribed (see `harness.reports.listening.people`)."""
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++(?:\s|$)")


class Collection:
    """The collection of replies: it assigns conversations and stores replies."""

    def __init__(self, votes: VoteStore, material: Material) -> None:
        self._votes = votes
        self._material = material
        self._folder = votes.folder / RECORDINGS

    def next_for(self, rater: Rater) -> dict[str, Any]:
        """The conversation with fewest replies that this person does not know; `done` if there is none."""
        done = self._votes.completions()
        mine = {row["context"] for row in done if row["rater"] == rater.id}
        covered = self.coverage()
        contributors = {row["rater"] for row in done}
        full = rater.id not in contributors and len(contributors) >= POOL
        # A person never answers a conversation that they rate; a contributor has no plan and rates none.
        rated = {item.context for item in rater.plan}
        open_ = [
            c for c in self._material.conversations
            if c.id not in mine and c.id not in rated and covered[c.id] < PEOPLE_PER_CONVERSATION
        ]  # fmt: skip
        progress = {"given": len(mine), "covered": sum(min(n, PEOPLE_PER_CONVERSATION) for n in covered.values())}
        progress["wanted"] = PEOPLE_PER_CONVERSATION * len(self._material.conversations)
        if full or not open_:
            return {"kind": "done", **progress}
        chosen = min(open_, key=lambda c: (covered[c.id], c.id))
        spoken = any(reply.session is not None for reply in chosen.replies.values())
        return {
            "kind": "conversation", "context": chosen.id, "draft": self._draft(rater, chosen.id),
            "history": [list(turn) for turn in chosen.history],
            "sound": f"/collect/sound/{chosen.id}" if spoken else None, **progress,
        }  # fmt: skip

    def _draft(self, rater: Rater, context: str) -> str:
        """The key of an unsent reply in the browser, so that another person's in the same browser is not shown."""
        return hmac.new(self._votes.media_secret, f"{rater.id}\0{context}\0draft".encode(), hashlib.sha256).hexdigest()[:40]

    def coverage(self) -> Counter[str]:
        """Conversation → number of people who have replied, zero included."""
        found = Counter({c.id: 0 for c in self._material.conversations})
        found.update(row["context"] for row in self._votes.completions())
        return found

    def sound(self, rater: Rater, context: str) -> Path | None:
        """The caller's turn of the current conversation; None for any other."""
        due = self.next_for(rater)
        return self._material.caller(context) if due.get("context") == context and due.get("sound") else None

    def take(self, rater: Rater, body: Mapping[str, Any]) -> None:
        """Store a reply.

        Raises:
            Refused: it is not for the current conversation, is not attested, or is too short or long.
        """
        due = self.next_for(rater)
        if due["kind"] == "done" or body.get("context") != due["context"]:
            raise Refused("collect.refused.not_yours")
        if body.get("no_help") is not True:
            raise Refused("collect.refused.attest")
        text, audio = body.get("text"), body.get("audio")
        if isinstance(audio, str) and audio:
            name = self._keep_recording(audio)
            given = text.strip() if isinstance(text, str) and text.strip() else SPOKEN
        elif isinstance(text, str) and text.strip():
            name, given = None, text.strip()
            _check_text(given)
        else:
            raise Refused("collect.refused.nothing")
        try:
            stored = self._votes.add_completion(rater, due["context"], given, name)
        except sqlite3.Error:
            self._drop(name)
            raise
        if not stored:
            self._drop(name)
            raise Refused("collect.refused.twice")

    def _drop(self, name: str | None) -> None:
        """Delete a recording that no row names."""
        if name is not None:
            (self._folder / name).unlink(missing_ok=True)

    def _keep_recording(self, encoded: str) -> str:
        try:
            mono, rate_hz = _decoded(base64.b64decode(encoded, validate=True))
        except (binascii.Error, soundfile.LibsndfileError) as error:
            raise Refused("collect.refused.unreadable") from error
        if len(mono) < SHORTEST_S * rate_hz:
            raise _how_long()
        if float(np.sqrt(np.mean(mono**2))) < 1e-4:
            raise Refused("collect.refused.silent")
        even = soxr.resample(mono, rate_hz, sound.RATE_HZ, quality="HQ").astype(np.float32)
        own_folder(self._folder)
        name = f"{secrets.token_hex(12)}.flac"
        try:
            own_file(self._folder / name).write_bytes(sound.flac(even))
        except OSError:
            self._drop(name)
            raise
        return name


def _decoded(raw: bytes) -> tuple[NDArray[np.float32], int]:
    """One channel of a recording, and its rate; decoded in blocks, and no further than a reply may last. A few hundred
    kilobytes of FLAC can contain hours, and the length in a header is only the sender's claim.

    Raises:
        Refused: it is too long, or has a rate or channels that no microphone has.
        LibsndfileError: it is not a recording.
    """
    with soundfile.SoundFile(io.BytesIO(raw)) as file:
        if not LOWEST_RATE_HZ <= file.samplerate <= HIGHEST_RATE_HZ or file.channels > MOST_CHANNELS:
            raise Refused("collect.refused.rate")
        most = round(LONGEST_S * file.samplerate)
        blocks: list[NDArray[np.float32]] = []
        frames = 0
        while len(block := file.read(BLOCK_FRAMES, dtype="float32", always_2d=True)):
            frames += len(block)
            if frames > most:
                raise _how_long()
            blocks.append(block.mean(axis=1))
        return np.concatenate(blocks) if blocks else np.zeros(0, np.float32), file.samplerate


def _how_long() -> Refused:
    return Refused("collect.refused.how_long", most=round(LONGEST_S))


def _check_text(text: str) -> None:
    words = len(text.split())
    if words < 2:
        raise Refused("collect.refused.few_words")
    if words > MOST_WORDS or len(text) > 2_000 or len(_SENTENCE_END.findall(text + " ")) > 5:
        raise Refused("collect.refused.many_words")
