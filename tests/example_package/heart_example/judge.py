"""A judge by one rule: of two replies, that with more questions in it is better. It shows the shape; it judges nothing well."""

from collections.abc import Mapping

from harness.judging import Judge, Question, Verdict


class AsksBack:
    """Scores each reply alone, so the order that they are shown in cannot matter."""

    id = "asks-back@1"
    family = "rule"
    concurrency = 1
    orders_itself = True

    def __init__(self, mark: str) -> None:
        self._mark = mark
        # Answers are kept under it: it must differ wherever an answer could.
        self.fingerprint = f"{self.id} {mark}"

    async def compare(self, question: Question) -> Verdict:
        first, second = question.first.count(self._mark), question.second.count(self._mark)
        strength = min(5, 1 + abs(first - second))
        return Verdict("first" if first >= second else "second", strength, rationale=f"Questions: {first} and {second}.")

    async def __aenter__(self) -> "AsksBack":
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None


def make(options: Mapping[str, object]) -> Judge:
    """`options` is the table `[extra]` of a judge's file; empty where the judge was asked for by name."""
    return AsksBack(str(options.get("mark", "?")))
