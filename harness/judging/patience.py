"""Whether a judge is still asked: its failures in a row decide, and one answer begins anew.

A wrong key, a spent quota or a model that refuses fails every question alike, and each of hundreds would be asked, retried and
paid for to learn it. So a judge that has not answered yet is asked one question alone, then a few at once, with few retries
between them all. One that has answered before gets more patience, because an outage passes; and there a refusal ends nothing,
since it is about its question.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from harness.judging.judge import FailureKind, JudgeFailure

EQUAL_FAILURES: Final = 5
"""Questions in a row that fail alike before a first answer: one or two can be an accident."""
FIRST_REQUESTS: Final = 10
"""Requests to a judge that has never answered: five questions and as many retries."""
FIRST_RETRIES: Final = FIRST_REQUESTS - EQUAL_FAILURES
FIRST_RETRIES_OF_SILENCE: Final = 1
"""After a time-out, which by default takes a minute: a second one tells no more than five."""
OUTAGE: Final = 20
"""Questions in a row that fail alike after an answer: at the usual waits more than the minute of a rate limit."""
ABOUT_THE_QUESTION: Final[frozenset[FailureKind]] = frozenset({"refused", "rejected"})
"""Kinds that say nothing of other questions once a judge has answered: contexts of one kind follow one another in a pack."""


class Patience:
    """The failures of one judge so far, in the check and afterwards. `ended` is why it is not asked any more."""

    def __init__(self, concurrency: int) -> None:
        self.ended: JudgeFailure | None = None
        self.troubles = 0
        """Requests in a row without an answer."""
        self.known = False
        """True if it has answered before, in another process."""
        self._concurrency = concurrency
        self._has_answered = False
        self._sent = self._retried = self._in_flight = self._alike = 0
        self._last: JudgeFailure | None = None
        self._changed = asyncio.Condition()

    def enter(self) -> None:
        """Begin in this event loop; what is known of the judge stays."""
        self._changed, self._in_flight = asyncio.Condition(), 0

    @property
    def last(self) -> FailureKind | None:
        """The kind of failure that the last question met; None after an answer."""
        return self._last.kind if self._last is not None else None

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Leave to ask one question, once enough is known of those before; an exception inside is a question without an answer.

        Raises:
            JudgeFailure: the judge is not asked any more; `attempts` is 0.
        """
        async with self._changed:
            await self._changed.wait_for(lambda: self.ended is not None or self._in_flight < self._at_once())
            if (why := self.ended) is not None:
                raise JudgeFailure(
                    why.kind, why.detail, attempts=0, status=why.status, said=why.said, mend=why.mend, final=why.final
                )
            self._in_flight += 1
            self._sent += 1
        try:
            yield
            self._has_answered, self._alike, self.troubles, self._last = True, 0, 0, None
        except JudgeFailure as failure:
            self._failed(failure)
            raise
        except asyncio.CancelledError:
            self._sent -= 1
            raise
        except Exception as error:
            self._failed(JudgeFailure("defect", type(error).__name__))
            raise
        finally:
            async with self._changed:
                self._in_flight -= 1
                self._decide()
                self._changed.notify_all()

    def _failed(self, failure: JudgeFailure) -> None:
        if failure.final:
            self.ended = self.ended or failure
        elif failure.kind in ABOUT_THE_QUESTION and (self._has_answered or self.known):
            self._has_answered = True
        else:
            same = self._last is not None and (self._last.kind, self._last.status) == (failure.kind, failure.status)
            self._alike = self._alike + 1 if same else 1
            self._last = failure

    def may_retry(self, kind: FailureKind) -> bool:
        """True if a request that failed may be sent again, which then counts as sent."""
        if self.ended is not None:
            return False
        if self._has_answered:
            return self._alike < EQUAL_FAILURES
        if self._sent >= FIRST_REQUESTS or self._retried >= (FIRST_RETRIES_OF_SILENCE if kind == "timeout" else FIRST_RETRIES):
            return False
        self._sent += 1
        self._retried += 1
        return True

    def _at_once(self) -> int:
        """Questions that may be on their way now."""
        if self._has_answered:
            return 0 if self._alike >= OUTAGE else self._concurrency
        if self._sent >= FIRST_REQUESTS:
            return 0
        return min(self._concurrency, EQUAL_FAILURES - self._alike) if self._alike else 1

    def _decide(self) -> None:
        # Those on their way may still be answered.
        if self.ended is None and not self._in_flight and self._last is not None and self._at_once() <= 0:
            self.ended = self._last
