"""A request to a model that got no answer, and the text of one that did: what every API's reader gives back."""

from dataclasses import dataclass
from typing import Final

from harness.agents.secrets import beginning
from harness.judging.judge import FailureKind, JudgeFailure
from harness.judging.mend import Hint, mend_of
from harness.judging.settings import JudgeSettings

MOST_SAID: Final = 80
"""Characters of a server's or a model's own words: enough to recognise them."""


@dataclass(frozen=True, slots=True)
class Text:
    """The text of an answer. `cut`: the model was stopped at its limit of tokens."""

    text: str
    tokens_in: int
    tokens_out: int
    cut: bool = False


class Trouble(Exception):
    """A request without an answer. `again`: the same may be answered when it is sent again; `final`: no other would be."""

    def __init__(
        self,
        kind: FailureKind,
        detail: str,
        *,
        said: str = "",
        status: int | None = None,
        hint: Hint | None = None,
        again: bool = False,
        final: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.kind: FailureKind = kind
        self.detail, self.said, self.status, self.hint = detail, beginning(said, MOST_SAID), status, hint
        self.again, self.final, self.retry_after_s = again, final, retry_after_s

    def failure(self, settings: JudgeSettings, attempts: int) -> JudgeFailure:
        """The failure of the question, with what mends it."""
        mended = mend_of(settings, self.kind, self.status, self.hint)
        return JudgeFailure(
            self.kind, self.detail, attempts=attempts, status=self.status, said=self.said, mend=mended, final=self.final
        )


def malformed(why: str, said: str, *, cut: bool = False, hint: Hint | None = None) -> Trouble:
    """The trouble of an answer that cannot be read. `cut`: the model was stopped at its limit of tokens."""
    if cut:
        return Trouble("malformed", f"max_tokens was reached before its end: {why}", said=said, hint="cut", again=True)
    return Trouble("malformed", why, said=said, hint=hint, again=True)
