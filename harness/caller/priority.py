"""Priority of the caller: it runs before everything else on the machine, as a sound card would.

The agent under test often occupies every core. A microphone does not slow down because of that, so the pacer must not
either: a real-time scheduling class where the system allows it, else a negative nice value, else a statement that
neither was allowed (the run's measured pacing error then shows the cost).
"""

import ctypes
import os
import sys

FIFO_PRIORITY = 20
"""Above every ordinary process, below the kernel's own threads (interrupt threads run at 50)."""
NICE = -10
TIMER_SLACK_NS = 1
"""Linux lets an ordinary thread's timers fire up to 50 µs late unless set otherwise."""
_PR_SET_TIMERSLACK = 29


def raise_priority() -> str:
    """Take the best priority that this system grants; returns its name for the manifest."""
    _prctl(_PR_SET_TIMERSLACK, TIMER_SLACK_NS)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(FIFO_PRIORITY))
    except (AttributeError, OSError):
        try:
            return f"nice {os.nice(NICE)}"
        except OSError:
            return "ordinary (no permission for real-time scheduling or a negative nice value)"
    return f"SCHED_FIFO {FIFO_PRIORITY}"


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
