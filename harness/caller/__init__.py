"""The caller: a separate process that speaks to an agent in real time and records what was sent and received.

`SessionPlan` states what to speak, `CallerProcess` plays it (`Callers` are several; `play_session` does so in the running event
loop, for tests and for measuring this machine), `SessionOutcome` states how the session ended. Nothing is analysed during
a call.
"""

from harness.caller.callers import Callers
from harness.caller.pacer import Pacer
from harness.caller.plan import CallerTurn, Greeting, Limits, SessionOutcome, SessionPlan
from harness.caller.process import CallerProcess
from harness.caller.session import play_session

__all__ = [
    "CallerProcess", "CallerTurn", "Callers", "Greeting", "Limits", "Pacer", "SessionOutcome", "SessionPlan", "play_session",
]  # fmt: skip
