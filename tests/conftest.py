"""Which tests have the machine to themselves.

`tests/run.sh` runs most tests three at a time, because they wait or compute on one core. These measure the machine, speak to
an agent in real time that decides by what it hears, or have seconds to end in: beside another test they would measure that one.
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import hypothesis
import pytest

from harness.files import CACHE_VARIABLE, cache_folder

pytest_plugins = ("pytester",)

HERE: Final = Path(__file__).parent
# The scripted agent of the tests is a wire of another package: on the path of every process that a test starts.
sys.path.insert(0, str(HERE / "scripted"))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(HERE / "scripted"), os.environ.get("PYTHONPATH"))))
ALONE: Final = (
    "agents/cascade/test_marks_truth.py",
    "agents/cascade/test_send_ahead.py",
    "agents/test_runner_bot.py",
    "agents/test_sip.py",
    "agents/test_webrtc.py",
    "harness/calibrate",
    "harness/known/test_conformance.py",
    "harness/machine/test_call_watch.py",
    "harness/people/test_pages_by_ear.py",
    "harness/people/test_seat_by_ear.py",
    "harness/run/test_check_real.py",
    "harness/run/test_contended.py",
    "harness/run/test_run_real.py",
    "harness/run/test_stopping.py",
)
"""Files and folders."""


# How long an input takes to draw says how busy the machine is, and nothing of what is tested.
hypothesis.settings.register_profile("any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("any machine")


def pytest_configure() -> None:
    """Workers that run tests side by side ignore Ctrl-C, and what they start would inherit that: some tests send one."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def own_calibrations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache for the tests: their calibrations, some of them made in virtual time, must not be quoted by anybody's runs."""
    users, mine = cache_folder(), tmp_path_factory.mktemp("cache")
    for name in ("models", "speech"):
        (users / name).mkdir(parents=True, exist_ok=True)
        (mine / name).symlink_to(users / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE_VARIABLE, str(mine))
        yield


@pytest.fixture(autouse=True)
def ordinary_priority() -> Iterator[None]:
    """Real-time priority that a command leaves in this process would pass to browsers and agents, and starve other tests."""
    yield
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    alone = tuple(HERE / name for name in ALONE)
    assert all(place.exists() for place in alone), "a test that wants the machine to itself has moved"
    for item in items:
        if any(item.path == place or place in item.path.parents for place in alone):
            item.add_marker(pytest.mark.alone)
