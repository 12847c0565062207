"""The pytest plugin: contexts as test cases with `pytest --agent my.toml`, and the fixture `voice_call` for your own tests.

One run is played for all cases of a session, and only once for any number of workers: simultaneous
calls would disturb each other. So cases only read the results, and the first one waits for the run.

pytest loads this module in every session of an environment that has the harness, so it imports nothing heavy until `--agent`
is given.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from harness.pytest_plugin.call import Call
    from harness.pytest_plugin.shared_run import SharedRun

FIXTURE: Final = "voice_call"
_SHARED: Final[pytest.StashKey[SharedRun]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options: what is played, and its limits."""
    group = parser.getgroup("voice agents", "voice agents (HEART Voice Harness)")
    group.addoption("--agent", action="append", default=[], metavar="PROFILE",
                    help="Voice agent to call: a shipped profile or a .toml file; may be repeated.")  # fmt: skip
    group.addoption("--agent-pack", default="heart-mini", metavar="PACK", help="Pack of contexts. Default: heart-mini.")
    group.addoption("--agent-limit", type=int, default=None, metavar="N", help="Only the first N contexts. Default: all.")
    group.addoption("--agent-mode", choices=("seeded", "replay"), default="seeded",
                    help="seeded: speak the last turn; replay: speak every turn. Default: seeded.")  # fmt: skip
    group.addoption("--agent-concurrency", type=int, default=1, metavar="K",
                    help="Number of simultaneous calls. Default: 1.")  # fmt: skip
    group.addoption("--agent-budgets", type=Path, default=None, metavar="FILE",
                    help="Budgets file (docs/gate.md): each limit is a case, decided by its interval.")  # fmt: skip
    group.addoption("--budget-ttfa", type=float, default=500.0, metavar="MS",
                    help="TTFA budget of a turn whose test sets none, in ms. Default: 500.")  # fmt: skip
    group.addoption("--budget-ttft", type=float, default=None, metavar="MS",
                    help="TTFT budget of a turn, in ms. Default: none.")  # fmt: skip
    group.addoption("--agent-out", type=Path, default=None, metavar="DIR",
                    help="Folder of the run. Default: a new one under voice-runs/.")  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers; in a session with agents also the run that its workers share."""
    config.addinivalue_line("markers", "contexts(*ids): the contexts of a test with voice_call; default: all")
    config.addinivalue_line(
        "markers",
        "budget(ttfa_ms=, answer_ms=, ttft_ms=, dead_air_ms=, pauses_cut=, cut_ins=): upper limits for each turn of voice_call",
    )
    if config.getoption("--agent"):
        from harness.pytest_plugin.shared_run import SharedRun

        config.stash[_SHARED] = SharedRun.of(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a case for each agent and context."""
    if FIXTURE not in metafunc.fixturenames:
        return
    shared = metafunc.config.stash.get(_SHARED, None)
    if shared is None:
        skipped = pytest.param(None, marks=pytest.mark.skip(reason="name a voice agent with --agent"))
        metafunc.parametrize(FIXTURE, [skipped], indirect=True, ids=["no agent"])
        return
    marked = metafunc.definition.get_closest_marker("contexts")
    places = shared.places(marked.args if marked is not None else ())
    metafunc.parametrize(FIXTURE, places, indirect=True, ids=["-".join(place) for place in places])


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Add the plugin's own cases if no test uses a call; then, after selection by -k, set the contexts to play."""
    shared = config.stash.get(_SHARED, None)
    if shared is None:
        return (yield)
    from harness.pytest_plugin.cases import contexts_of, own_cases

    if not any(FIXTURE in getattr(item, "fixturenames", ()) for item in items):
        items += own_cases(session, shared, config)
    outcome = yield
    shared.wanted = contexts_of(items, FIXTURE)
    return outcome


@pytest.fixture
def voice_call(request: pytest.FixtureRequest) -> Call:
    """One call of one agent in one context: its turns' figures, its transcript, and the path of its sound."""
    return request.config.stash[_SHARED].call(request.param)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Check the budgets of a test's marker after the test has passed."""
    outcome = yield
    for marker in reversed(list(item.iter_markers("budget"))):
        call = getattr(item, "funcargs", {}).get(FIXTURE)
        if call is None:
            raise pytest.UsageError(f"{item.nodeid}: the marker budget needs the fixture {FIXTURE}")
        over = call.over(**marker.kwargs)
        if over:  # the marker is all that a traceback could show
            pytest.fail("\n".join(over), pytrace=False)
    return outcome


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the turn's figures, its stages and the path of its sound to every failed test that has a call."""
    report = yield
    call = getattr(item, "funcargs", {}).get(FIXTURE)
    if report.when == "call" and report.failed and call is not None:
        report.sections.append(("voice call", "\n".join(call.figures())))
    return report


def pytest_report_header(config: pytest.Config) -> Iterable[str]:
    """The folder of the run, for the header of the session."""
    shared = config.stash.get(_SHARED, None)
    return [] if shared is None else [f"voice agents: {', '.join(shared.agents)}; run: {shared.folder}"]
