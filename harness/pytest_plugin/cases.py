"""Test cases without a test file: one per agent and context, and one per limit of a budgets file."""

from collections.abc import Sequence
from typing import Any

import pytest

from harness.gate.budgets import CellLimit
from harness.gate.words import reason
from harness.pytest_plugin.shared_run import Place, SharedRun


def own_cases(session: pytest.Session, shared: SharedRun, config: pytest.Config) -> list[pytest.Item]:
    """One case for each agent and context, and one for each limit."""
    budgets = {"ttfa_ms": config.getoption("--budget-ttfa"), "ttft_ms": config.getoption("--budget-ttft")}
    asked = {name: value for name, value in budgets.items() if value is not None}
    found: list[pytest.Item] = []
    for place in shared.places():
        case: CallCase = CallCase.from_parent(session, name="voice::" + "::".join(place))
        case.shared, case.place, case.budgets = shared, place, asked
        found.append(case)
    for limit in shared.limits:
        held: LimitCase = LimitCase.from_parent(session, name=f"limit::{limit.agent} ({limit.condition}): {limit.limit.words}")
        held.shared, held.limit = shared, limit
        found.append(held)
    return found


class _Case(pytest.Item):
    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The figures instead of a traceback, which would contain no code of the user's."""
        if isinstance(excinfo.value, AssertionError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """The origin of the case: no file."""
        return self.path, None, self.name


class CallCase(_Case):
    """The case of one agent in one context, with the session's budgets."""

    shared: SharedRun
    place: Place
    budgets: dict[str, float]

    def runtest(self) -> None:
        """Read the results, and assert."""
        call = self.shared.call(self.place)
        over = call.over(**self.budgets)
        if over:
            raise AssertionError("\n".join([*over, "", *call.figures()]))


class LimitCase(_Case):
    """The case of one limit over all conversations: passes or fails by its interval; skipped if that cannot tell."""

    shared: SharedRun
    limit: CellLimit

    def runtest(self) -> None:
        """Read the verdict; fail, skip or pass accordingly."""
        checked, invalid, page = self.shared.checked(self.limit)
        if invalid and checked.verdict == "cannot tell":
            pytest.skip(f"cannot tell: {reason(checked)} {invalid[0]}; page: {page}")
        if checked.verdict == "fail":
            raise AssertionError(f"{checked.name}: outside the limit\n  {reason(checked)}\n  page: {page}")
        if checked.verdict != "pass":
            pytest.skip(f"{checked.verdict}: {reason(checked)}")


def contexts_of(items: Sequence[pytest.Item], fixture: str) -> frozenset[str]:
    """The contexts that the chosen cases need; empty: all, as for a limit over all conversations."""
    wanted: set[str] = set()
    for item in items:
        if isinstance(item, LimitCase):
            return frozenset()
        named = getattr(getattr(item, "callspec", None), "params", {}).get(fixture)
        place = item.place if isinstance(item, CallCase) else named
        wanted |= {place[1]} if place else set()
    return frozenset(wanted)
