"""Checks of installed parts: versions, models, the sound device, a GPU, and the calibration that runs quote."""

import os
import sys
from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import Requirement

from harness.calibrate.result import newest
from harness.doctor.result import Finding
from harness.errors import UserError
from harness.installation import NAME, install_command
from harness.local_programs import NAMED_BY, are_here, named_python
from harness.local_programs.environment import ABOUT_MB, NotMade, made_python
from harness.models import user_store


def versions() -> list[Finding]:
    """Findings on this program, Python, and packages that are missing or have an unsuitable version."""
    program = f"{NAME} {version(NAME)}, Python {sys.version.split()[0]}"
    here = are_here()
    wrong, absent = [], []
    for line in requires(NAME) or ():
        asked = Requirement(line)
        if asked.marker is not None and not any(
            asked.marker.evaluate({"extra": extra}) for extra in ("", *(("local",) if here else ()))
        ):
            continue
        try:
            have = version(asked.name)
        except PackageNotFoundError:
            absent.append(asked.name)
            continue
        if not asked.specifier.contains(have, prereleases=True):
            wrong.append(f"{asked.name} {have} (needs {asked.specifier})")
    found = [Finding("versions", "fine", program)]
    if wrong:
        mend = f"{install_command('local')}, in a separate environment"
        found = [Finding("versions", "broken", f"{program}; {', '.join(wrong)}", mend)]
    if absent:
        found.append(Finding("packages", "broken", f"missing: {', '.join(sorted(set(absent)))}", install_command("local")))
    return [*found, _speech_models(here=here)]


def _speech_models(*, here: bool) -> Finding:
    """The finding on the Python that runs the speech models."""
    part = "speech models"
    if named := os.environ.get(NAMED_BY):
        try:
            return Finding(part, "fine", f"run by {named_python(named, NAMED_BY)}, which {NAMED_BY} names")
        except UserError as error:
            return Finding(part, "broken", str(error), f"correct {NAMED_BY}, or leave it out")
    if here:
        return Finding(part, "fine", f"run by this Python ({sys.executable})")
    try:
        made = made_python()
    except NotMade as error:
        return Finding(part, "broken", str(error), install_command("local"))
    if made is not None:
        return Finding(part, "fine", f"run by {made}, an environment of their own")
    mend = f"the first call installs them ({ABOUT_MB} MB); {NAMED_BY} names a Python that has them"
    return Finding(part, "without", "in no environment yet", mend)


def models() -> list[Finding]:
    """Findings on the weights in the cache, each checked by its hash."""
    found = user_store().statuses()
    damaged = [s.weight.name for s in found if s.state == "damaged"]
    absent = [s.weight.name for s in found if s.state == "absent"]
    if damaged:
        mend = f"harness models fetch {' '.join(damaged)}"
        return [Finding("models", "broken", f"damaged: {', '.join(damaged)}", mend)]
    ready = f"{len(found) - len(absent)} of {len(found)} are in the cache, undamaged"
    if absent:
        mend = "nothing, with a network: runs download what they need. To work offline later: harness models fetch"
        return [Finding("models", "without", f"{ready}; missing: {', '.join(absent)}", mend)]
    return [Finding("models", "fine", ready)]


def sound() -> list[Finding]:
    """Findings on the sound device. Only `harness play` needs one: calls are never played on it."""
    try:
        import sounddevice

        names = [d["name"] for d in sounddevice.query_devices() if d["max_output_channels"] > 0]
    except ModuleNotFoundError:
        mend = f"only `harness play` needs it: {install_command('play')}"
        return [Finding("sound device", "without", "sounddevice is not installed", mend)]
    except OSError as error:
        mend = "only `harness play` needs it: apt-get install libportaudio2"
        return [Finding("sound device", "without", " ".join(str(error).split()), mend)]
    if not names:
        return [Finding("sound device", "without", "none", "only `harness play` needs one; reports play in the browser")]
    return [Finding("sound device", "fine", f"{len(names)}, first {names[0]}")]


def calibration() -> list[Finding]:
    """Findings on the calibration: can runs quote their measurement error on this machine?"""
    found = newest()
    if found is None:
        mend = "the first run makes a short one itself; harness calibrate makes a long one"
        return [Finding("calibration", "without", "none of this machine yet", mend)]
    error = found.ttfa_error_ms
    seen = f"TTFA is off by {error.p50:.1f} ms at the median and {error.max:.1f} ms at most ({found.measured} trials)"
    if not found.gives_p95:
        return [Finding("calibration", "fine", seen, "from few trials; harness calibrate makes a long one")]
    return [Finding("calibration", "fine", seen)]
