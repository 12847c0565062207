"""The contexts that callers speak to agents: the Context type, the shipped packs, builders and checks.

Imports nothing of this project. A pack is a YAML file of contexts, or a folder of them; see `scenarios/packs/`.
"""

from harness.scenarios.context import Context, Reference, SpeechDirections, Turn
from harness.scenarios.pack import Pack, PackError, context_hash, load_pack, shipped_packs

__all__ = [
    "Context",
    "Pack",
    "PackError",
    "Reference",
    "SpeechDirections",
    "Turn",
    "context_hash",
    "load_pack",
    "shipped_packs",
]
