"""The agent's spans on disk, in a file beside the recording: they arrive separately from the call, and perhaps after it."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from harness.agents.secrets import masked_values
from harness.errors import UserError
from harness.files import write_whole
from harness.recording.spans import Span

SPANS_FILE: Final = "spans.json"


_FILE: Final = TypeAdapter(tuple[Span, ...])


def save_spans(spans: Sequence[Span], folder: Path) -> None:
    """Write a session's spans beside its recording and flush them to the disk."""
    write_whole(folder / SPANS_FILE, json.dumps(masked_values([asdict(span) for span in spans]), indent=1))


def load_spans(folder: Path) -> tuple[Span, ...]:
    """A session's spans; none where none were stored.

    Raises:
        UserError: the file is not what `save_spans` writes.
    """
    path = folder / SPANS_FILE
    if not path.exists():
        return ()
    try:
        return _FILE.validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise UserError(f"{path}: the spans cannot be read ({str(error).splitlines()[0]})") from error
