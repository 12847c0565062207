"""Sessions on their way between machines: a small run folder of their own, as one piece of bytes.

A session travels in the form in which it lies on disk, with its manifest, so that it is read, checked and laid into a run by
what reads, checks and merges shards. Sessions go one by one, the moment they are finished: a machine that is lost afterwards
takes only the call with it that it was playing. What is left of a shard (figures and words that later steps added, logs,
samples of the machine) goes once, at its end, without the recordings that have gone before.
"""

import io
import tarfile
import tempfile
from collections.abc import Collection
from pathlib import Path

from harness.errors import UserError
from harness.store.database import SESSIONS
from harness.store.run_store import RunStore

RUN = "run"
"""The folder inside a pack."""


def packed_session(store: RunStore, session_id: str) -> bytes:
    """One finished session of a shard, with the context that it is of."""
    session = store.session(session_id)
    contexts = [context for context in store.contexts_as_played() if context.id == session.key.context_id]
    with tempfile.TemporaryDirectory(prefix="heart-pack-") as place:
        pack = RunStore.create(Path(place) / RUN, store.manifest, contexts)
        try:
            pack.adopt(store, session, session.machine)
        finally:
            pack.close()
        return _as_bytes(pack.folder, frozenset())


def packed_rest(folder: Path, gone_before: Collection[str]) -> bytes:
    """A shard whose process has ended, without the recordings of the sessions that have gone before."""
    return _as_bytes(folder, frozenset(gone_before))


def packed_texts(folder: Path) -> bytes:
    """What judges read of a run, and the answers that it has: its databases, and the empty places of its recordings."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for path in sorted(folder.glob("*.sqlite*")):
            archive.add(path, arcname=f"{RUN}/{path.name}")
        for path in sorted((folder / SESSIONS).iterdir()):
            archive.add(path, arcname=f"{RUN}/{SESSIONS}/{path.name}", recursive=False)
    return out.getvalue()


def unpacked(pack: bytes, into: Path) -> Path:
    """The run folder in a pack, laid into an empty folder.

    Raises:
        UserError: is no pack.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(pack)) as archive:
            archive.extractall(into, filter="data")
    except tarfile.TarError as error:
        raise UserError(f"what a worker sent cannot be read ({error}); is the same harness installed on every node?") from error
    return into / RUN


def _as_bytes(folder: Path, without: frozenset[str]) -> bytes:
    def kept(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        parts = Path(entry.name).parts
        unfinished = len(parts) > 2 and parts[1] == SESSIONS and (parts[2] in without or parts[2].startswith(".partial-"))
        return None if unfinished else entry

    out = io.BytesIO()
    # Recordings are FLAC already, so that compressing them again would cost a processor and save nothing.
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.add(folder, arcname=RUN, filter=kept)
    return out.getvalue()
