"""Contexts from other formats: a JSON Lines file, or pipecat's own eval scenarios, with a list of the omitted parts."""

from harness.scenarios.imports.imported import Imported, ImportFault, write_imported
from harness.scenarios.imports.jsonl import import_jsonl, line_schema
from harness.scenarios.imports.pipecat_eval import import_pipecat_eval

__all__ = ["ImportFault", "Imported", "import_jsonl", "import_pipecat_eval", "line_schema", "write_imported"]
