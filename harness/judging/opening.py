"""From a judge's name to a judge that can be asked.

The embedded judge needs weights, which the caller resolves to paths; an endpoint needs its key in the environment. Both
are checked here, before a batch starts.
"""

from collections.abc import Mapping
from pathlib import Path

from harness.errors import UserError
from harness.judging.embedded import EmbeddedJudge
from harness.judging.endpoint import EndpointJudge
from harness.judging.judge import Judge
from harness.judging.settings import load_judge_settings

DEFAULT_JUDGE = "embedded"
EMBEDDED_WEIGHTS = ("minilm-l6",)
"""Names the model store resolves for the embedded judge."""


def open_judge(name_or_path: str = DEFAULT_JUDGE, weights: Mapping[str, Path] | None = None) -> Judge:
    """The judge of a shipped name or a TOML file.

    Raises:
        UserError: no such judge, a bad file, or weights that were not given.
    """
    settings = load_judge_settings(name_or_path)
    if settings.api != "embedded":
        return EndpointJudge(settings)
    paths = weights or {}
    absent = [name for name in EMBEDDED_WEIGHTS if name not in paths]
    if absent:
        raise UserError(f"judge {settings.id}: needs the weights {', '.join(absent)}; run `harness models`")
    return EmbeddedJudge(settings, paths[EMBEDDED_WEIGHTS[0]])
