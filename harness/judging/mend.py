"""What a user can do about a judge's failure, and the one sentence that says why a judge is silent.

"5 of 5: HTTP 401: check OPENAI_API_KEY" names how many, what and what to do, in that order, wherever a judge is shown.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, Protocol

from harness.judging.judge import FailureKind
from harness.judging.settings import JudgeSettings

Hint = Literal["key", "cut", "model", "address"]
"""What a response complained of, where its status alone does not say it; `cut`: the answer was cut off."""


class Unanswered(Protocol):
    """A question without an answer, as `JudgeFailure` says it."""

    @property
    def kind(self) -> FailureKind: ...

    @property
    def detail(self) -> str: ...

    @property
    def attempts(self) -> int: ...

    @property
    def status(self) -> int | None: ...

    @property
    def said(self) -> str: ...

    @property
    def mend(self) -> str: ...


def mend_of(settings: JudgeSettings, kind: FailureKind, status: int | None, hint: Hint | None = None) -> str:
    """What to do about a failure of this judge."""
    where, model = settings.base_url, settings.model
    match hint:
        case "key":
            named = f"check {settings.key_env}" if settings.key_env else "name the key's variable in the judge's file (key_env)"
            return f"{named}, and that it may use {model}" if status == 403 else named
        case "cut":
            return f"raise max_tokens (now {settings.max_tokens}) in the judge's file"
        case "model":
            return f"check model ({model}) and base_url ({where}) in the judge's file"
        case "address":
            return f"check base_url ({where}) in the judge's file: what answers there is no chat API"
    return {
        "quota": "the account has no credit left; top it up or choose another judge",
        "rejected": "correct what the server names in the judge's file",
        "refused": "choose another model",
        "malformed": f'set structured (now "{settings.structured}") to what the server enforces, or choose another model',
        "connection": f"is the server up at {where}?",
        "timeout": f"is the server at {where} busy? Else raise timeout_s (now {settings.timeout_s:g})",
        "server_error": f"read the log of the server at {where}",
        "rate_limited": f"wait, or lower concurrency (now {settings.concurrency}) in the judge's file",
    }.get(kind, "")


def why_missing(failures: Sequence[Unanswered], answered: int) -> str:
    """Why questions have no answer: how many of those asked, what went wrong, what mends it; the two commonest kinds, and empty
    without failures. It has no full stop. `answered`: questions that have an answer."""
    asked = [failure for failure in failures if failure.attempts]
    alike = Counter((failure.kind, failure.status) for failure in asked or failures)
    parts = []
    for (kind, status), count in alike.most_common(2):
        last = next(f for f in reversed(asked or failures) if (f.kind, f.status) == (kind, status))
        own = "" if status is not None or kind == "refused" else last.detail
        words = ", ".join(filter(None, (own, f"“{last.said}”" if last.said else "")))
        many = f"{count} of {len(asked) + answered}: " if asked else ""
        said = f" ({words})" if words else ""
        parts.append(f"{many}{f'HTTP {status}' if status else kind}{f': {last.mend}' if last.mend else ''}{said}")
    if asked and (rest := len(failures) - len(asked)):
        parts.append(f"{rest} more were not asked")
    return "; ".join(parts)


def by_kind(failures: Sequence[Unanswered]) -> dict[str, int]:
    """The number of questions without an answer by the kind of their failure. Those that were not asked any more have the kind
    that ended their judge."""
    return dict(sorted(Counter(failure.kind for failure in failures).items()))
