"""Judges that other installed packages bring: a name in an entry-point group, and a callable that makes the judge.

Such a judge is made before a batch starts, so that a broken package is reported at once and by name, and not after every
call has been played. It is treated as every other judge from there on: checked on pairs with known answers, watched by
canaries, its failures named.
"""

import re
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any, Final

from harness.errors import UserError
from harness.judging.judge import Judge

ENTRY_POINT_GROUP: Final = "heart_voice_harness.judges"
"""A name, and a callable `(options) -> Judge`; `options` is `[extra]` of a judge's file, else empty."""
_ASKED_OF_ALL: Final = ("id", "family", "fingerprint", "concurrency", "orders_itself")
_ID: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,60}@\S{1,60}")


def installed_judges() -> tuple[str, ...]:
    """Names of the judges that installed packages bring, sorted."""
    return tuple(sorted({point.name for point in entry_points(group=ENTRY_POINT_GROUP)}))


def make_installed(name: str, options: Mapping[str, Any]) -> Judge:
    """The judge of an entry point, not yet entered.

    Raises:
        UserError: no package brings it, the package fails, or its object is no judge.
    """
    points = list(entry_points(group=ENTRY_POINT_GROUP, name=name))
    if not points:
        known = ", ".join(installed_judges()) or "none"
        raise UserError(f"judge {name!r}: no installed package brings it; installed judges: {known}")
    where = f"judge {name!r}: {points[0].value}"
    try:
        judge = points[0].load()(dict(options))
        absent = [part for part in _ASKED_OF_ALL if getattr(judge, part, None) is None]
    except Exception as error:  # another package's code, which may raise anything
        said = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{where} failed ({said}); mend or uninstall its package") from error
    absent += [part for part in ("compare", "__aenter__", "__aexit__") if not callable(getattr(judge, part, None))]
    if absent:
        raise UserError(f"{where} gave no judge: it lacks {', '.join(absent)} (docs/python.md says what a judge is)")
    if not _ID.fullmatch(str(judge.id)):
        raise UserError(f"{where}: its id {judge.id!r} must be a name and a version, such as kind-words@1")
    return judge  # type: ignore[no-any-return]  # checked above as far as a protocol can be
