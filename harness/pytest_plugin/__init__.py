"""pytest plays contexts as test cases: `pytest --agent my.toml`, or tests of your own with the fixture `voice_call`.

One run is played for all cases of a session, and it is played once, whatever number of workers share the tests: calls beside
calls would measure each other. So cases only read what was measured, and the first of them waits for it.

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
    """What is played, and what it is held to."""
    group = parser.getgroup("voice agents", "voice agents (HEART Voice Harness)")
    group.addoption("--agent", action="append", default=[], metavar="PROFILE",
                    help="Voice agent to call: a shipped profile or a .toml file; may be repeated.")  # fmt: skip
    group.addoption("--agent-pack", default="heart-mini", metavar="PACK", help="Pack of contexts. Default: heart-mini.")
    group.addoption("--agent-limit", type=int, default=None, metavar="N", help="Only the first N contexts. Default: all.")
    group.addoption("--agent-mode", choices=("seeded", "replay"), default="seeded",
                    help="seeded: the last turn is spoken; replay: every turn is. Default: seeded.")  # fmt: skip
    group.addoption("--agent-budgets", type=Path, default=None, metavar="FILE",
                    help="Budgets file (docs/gate.md): each limit is a case, told by its interval.")  # fmt: skip
    group.addoption("--budget-ttfa", type=float, default=500.0, metavar="MS",
                    help="TTFA that a turn may take where its test says nothing else, in ms. Default: 500.")  # fmt: skip
    group.addoption("--budget-ttft", type=float, default=None, metavar="MS",
                    help="TTFT that a turn may take, in ms. Default: not asked.")  # fmt: skip
    group.addoption("--agent-out", type=Path, default=None, metavar="DIR",
                    help="Folder of the run. Default: a new one under voice-runs/.")  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """The markers; and of a session with agents, what its workers share."""
    config.addinivalue_line("markers", "contexts(*ids): the contexts that a test with voice_call is for; all without it")
    config.addinivalue_line(
        "markers",
        "budget(ttfa_ms=, ttft_ms=, dead_air_ms=, pauses_cut=, cut_ins=): what each turn of voice_call may come to, at most",
    )
    if config.getoption("--agent"):
        from harness.pytest_plugin.shared_run import SharedRun

        config.stash[_SHARED] = SharedRun.of(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A case for each agent and context."""
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
    """Cases of the plugin's own where no test asks for a call; then, once -k has chosen, which contexts are played."""
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
    """One call of one agent in one context: its turns' figures, its words, and the path of its sound."""
    return request.config.stash[_SHARED].call(request.param)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """After a test that passed, the budgets that its marker names."""
    outcome = yield
    for marker in reversed(list(item.iter_markers("budget"))):
        call = getattr(item, "funcargs", {}).get(FIXTURE)
        if call is None:
            raise pytest.UsageError(f"{item.nodeid}: the marker budget needs the fixture {FIXTURE}")
        call.assert_within(**marker.kwargs)
    return outcome


def pytest_report_header(config: pytest.Config) -> Iterable[str]:
    """Where the run and its page are."""
    shared = config.stash.get(_SHARED, None)
    return [] if shared is None else [f"voice agents: {', '.join(shared.agents)}; run: {shared.folder}"]
