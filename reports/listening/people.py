"""Replies by people, as completions on file: what other programs and later packs read.

Columns are those of completions everywhere (`context, system, text`, and `audio` where the reply was spoken). The system is
`human:<pseudonym>`, and a reply counts as human only because its contributor attested that no program helped.
"""

import json
from pathlib import Path

from harness.store import RunStore
from reports.listening.collect import contributions
from reports.listening.serve import vote_folders
from reports.listening.votes import VoteStore

FILE = "human_completions.jsonl"


def human_completions(store: RunStore) -> list[dict[str, str]]:
    """Every reply given by a person for this run, in the order given; `audio` is relative to the run's folder."""
    rows = []
    for folder in vote_folders(store.folder):
        votes = VoteStore(folder)
        try:
            for context, reference, audio in contributions(votes):
                row = {"context": context, "system": reference.author, "text": reference.text}
                rows.append(row if audio is None else {**row, "audio": audio.relative_to(store.folder).as_posix()})
        finally:
            votes.close()
    return rows


def write_human_completions(store: RunStore, folder: Path) -> Path | None:
    """One JSON object a line; None, and no file, where nobody has given a reply."""
    rows = human_completions(store)
    if not rows:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8", errors="replace"
    )
    return path
