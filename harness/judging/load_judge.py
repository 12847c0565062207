"""A judge by its name, ready to be asked.

The embedded judge and a local model need weights, which the caller resolves to paths; an endpoint needs its key in the
environment. All are checked here, before a batch starts.
"""

from collections.abc import Mapping
from pathlib import Path

from harness.errors import UserError
from harness.judging.embedded import EmbeddedJudge
from harness.judging.endpoint import EndpointJudge
from harness.judging.hearing import HearingJudge
from harness.judging.judge import Judge, hears, make_installed
from harness.judging.local import LocalJudge
from harness.judging.settings import JudgeSettings, load_judge_settings
from harness.models.chat_model import identify

EMBEDDED_WEIGHTS = ("minilm-l6",)
"""Names the model store resolves for the embedded judge."""


def weights_of(settings: JudgeSettings) -> tuple[str, ...]:
    """The weights that a judge needs on disk: names that the model store resolves, or the path of the user's own file."""
    if settings.api == "embedded":
        return EMBEDDED_WEIGHTS
    return (settings.model,) if settings.api == "local" and settings.model else ()


def fingerprint_of(name_or_path: str) -> str:
    """The fingerprint of a judge that is not to be asked, which takes neither its weights nor its key.

    Raises:
        UserError: as `open_judge`.
    """
    settings = load_judge_settings(name_or_path)
    return open_judge(name_or_path, dict.fromkeys(weights_of(settings), Path())).fingerprint


def takes_sound(settings: JudgeSettings) -> bool:
    """True if a judge hears replies and reads none.

    Raises:
        UserError: the judge of another package cannot be made.
    """
    if settings.api == "installed":
        return hears(make_installed(settings.model, settings.extra))
    return settings.audio is not None


def open_judge(name_or_path: str, weights: Mapping[str, Path] | None = None) -> Judge:
    """The judge of a shipped name, a local model, an installed package or a TOML file.

    Raises:
        UserError: no such judge, a bad file, or weights that were not given.
    """
    settings = load_judge_settings(name_or_path)
    paths = weights or {}
    absent = [name for name in weights_of(settings) if name not in paths]
    if absent:
        raise UserError(f"judge {settings.id}: needs the weights {', '.join(absent)}; run `harness models`")
    if settings.api == "embedded":
        return EmbeddedJudge(settings, paths[EMBEDDED_WEIGHTS[0]])
    if settings.api == "local":
        return (
            LocalJudge(settings, identify(settings.model).sha256, paths[settings.model])
            if settings.model
            else LocalJudge(settings)
        )
    if settings.api == "installed":
        return make_installed(settings.model, settings.extra)
    return HearingJudge(settings) if settings.audio is not None else EndpointJudge(settings)
