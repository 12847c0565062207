"""What the file of a wire says of it for people: in a first profile, in the report of a test call, and in advice.

So a new wire is one file, and `harness agents new` and `harness try` know it.
"""

from dataclasses import dataclass
from typing import Final

UVICORN: Final = 'ready_pattern = "Uvicorn running on"   # a line of its output that says it is ready'
TCP: Final = 'ready_url = "tcp://127.0.0.1:{port}"       # ready when somebody listens there'
METRICS: Final = "PipelineParams(enable_metrics=True) in the bot"


@dataclass(frozen=True, slots=True)
class About:
    """One wire in words. `comment`: the lines above a first profile."""

    comment: tuple[str, ...]
    url: str
    """The address of an agent that the harness starts, where `{port}` is its port; or the vendor's own."""
    command: str
    """The command that starts one; empty for a vendor's service."""
    ready: str
    settings: tuple[str, ...] = ()
    """Lines of a first profile beside `kind` and `url`."""
    tables: tuple[str, ...] = ()
    """Lines with tables of settings, which come behind all others."""
    route: str = ""
    """Where agents of this kind usually answer, for a caller at the wrong path; empty if there is no usual place."""
    brings_ttft: str = ""
    """What makes an agent report TTFT and stages over this wire; empty for a wire that carries none."""
    brings_words: str = ""
    """What makes it report the words that it understood; empty as above."""
    brings_history: str = ""
    """What makes it take the conversation so far; empty as above."""
    keyed: bool = True
    """True if its profile has `api_key_env`."""
    silent: str = ""
    """What is usually behind the silence of an agent that took the call; empty if nothing is usual."""
    key: str = ""
    """How its servers want a key, for a caller whose key they refuse; empty if any way does."""
