"""Which tests have the machine to themselves.

`tests/run.sh` runs most tests two at a time, because they wait or compute on one core. These measure latencies, pacing or the
machine, or start a whole cascade, so beside another test they would measure that one.
"""

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

HERE: Final = Path(__file__).parent
ALONE: Final = (
    "agents/cascade/test_eval_wire.py",
    "agents/cascade/test_loop.py",
    "agents/cascade/test_marks_truth.py",
    "agents/cascade/test_send_ahead.py",
    "agents/cascade/test_server_socket.py",
    "agents/cascade/test_short_context_whisper.py",
    "agents/cascade/test_voice_in_parts.py",
    "agents/test_connections.py",
    "agents/test_local_text_model.py",
    "agents/test_runner_bot.py",
    "agents/test_stock_bot.py",
    "agents/test_telephone_and_realtime.py",
    "agents/test_webrtc.py",
    "harness/calibrate",
    "harness/caller",
    "harness/load",
    "harness/run/test_call_watch.py",
    "harness/run/test_check_real.py",
    "harness/run/test_contended.py",
    "harness/run/test_endpointing_real.py",
    "harness/run/test_first_calibration.py",
    "harness/run/test_run_real.py",
    "harness/run/test_sessions.py",
    "harness/run/test_stopping.py",
    "harness/run/test_wall_clock.py",
    "reports/listening/test_load.py",
)
"""Files and folders."""


def pytest_configure() -> None:
    """Workers that run tests side by side ignore Ctrl-C, and what they start would inherit that: some tests send one."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    alone = tuple(HERE / name for name in ALONE)
    for item in items:
        if any(item.path == place or place in item.path.parents for place in alone):
            item.add_marker(pytest.mark.alone)
