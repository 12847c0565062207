"""Contexts from other formats (JSON Lines, chats, transcripts, pipecat's eval scenarios), with a list of the omitted parts."""

from harness.scenarios.imports.chats import import_chats
from harness.scenarios.imports.imported import Imported, ImportFault, write_imported
from harness.scenarios.imports.jsonl import import_jsonl, line_schema
from harness.scenarios.imports.pipecat_eval import import_pipecat_eval
from harness.scenarios.imports.transcripts import import_transcript

__all__ = [
    "ImportFault",
    "Imported",
    "import_chats",
    "import_jsonl",
    "import_pipecat_eval",
    "import_transcript",
    "line_schema",
    "write_imported",
]
