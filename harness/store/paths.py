"""Names that users give, as parts of file paths; and places in a run's folder that one room writes and another must find.

A withdrawal deletes what was made of a reply, so it must know every place where such things are.
"""

import hashlib
import re
from typing import Final

VERDICTS: Final = "verdicts.sqlite"
"""Every answer of every judge, so that no question is asked twice."""
SHARDS: Final = "verdicts"
"""One folder per shard that was judged apart, for its answers."""
VOTES: Final = "votes"
"""People's votes from files, one file each time."""
VOTE_FILES: Final = "vote-files"
"""The keys of the pages that people were given to vote on, `<file>.json`."""
VOTE_SOUNDS: Final = "sounds"
"""Beside such a page where it is a folder: the replies that are heard, as MP3."""
LISTENING: Final = "listening"
"""The listening tests of the run, one folder each."""
LABELS: Final = "labels"
"""Sheets of labels of replies, and the passes over them."""


def plain_name(name: str) -> str:
    """A name as part of a file's path; two different names never give the same part, even if both had to be changed."""
    plain = re.sub(r"[^a-zA-Z0-9.+-]", "-", name)
    return plain if plain == name else f"{plain[-40:]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
