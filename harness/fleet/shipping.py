"""Sessions packed for transfer between machines: a small run folder as one piece of bytes.

A session travels in its form on disk, so that the code of shards reads and checks it. Sessions are sent one by one, once they
are finished; the rest of a shard (later figures, logs, samples of the machine) is sent at its end, without these recordings.
"""

import io
import tarfile
import tempfile
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

from harness.errors import UserError
from harness.store.database import SESSIONS
from harness.store.run_store import RunStore

RUN = "run"
"""The folder inside a pack."""


def packed_session(store: RunStore, session_id: str) -> bytes:
    """One finished session of a shard, with its context."""
    session = store.session(session_id)
    contexts = [context for context in store.contexts_as_played() if context.id == session.key.context_id]
    with tempfile.TemporaryDirectory(prefix="heart-pack-") as place:
        with closing(RunStore.create(Path(place) / RUN, store.manifest, contexts)) as pack:
            pack.adopt(store, session, session.machine)
        return _as_bytes(pack.folder, frozenset())


def packed_rest(folder: Path, gone_before: Collection[str]) -> bytes:
    """A shard whose process has ended, without the recordings that were sent before."""
    return _as_bytes(folder, frozenset(gone_before))


def packed_texts(folder: Path) -> bytes:
    """The texts that judges read, and the answers so far: a run's databases, and empty folders for its recordings."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for path in sorted(folder.glob("*.sqlite*")):
            archive.add(path, arcname=f"{RUN}/{path.name}")
        for path in sorted((folder / SESSIONS).iterdir()):
            archive.add(path, arcname=f"{RUN}/{SESSIONS}/{path.name}", recursive=False)
    return out.getvalue()


def unpacked(pack: bytes, into: Path) -> Path:
    """The run folder in a pack, unpacked into an empty folder.

    Raises:
        UserError: the bytes are not a pack.
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
    # Recordings are FLAC already; compressing them again would cost processor time and save nothing.
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.add(folder, arcname=RUN, filter=kept)
    return out.getvalue()
