"""The calls of a run: what is planned, which agents are loaded, what the caller says, and every session as it is played.

`phases` is the whole of `harness run`; `plan` checks the user's words, `running_agents` loads what is tested, `caller_turns`
makes the sound, `sessions` plays and keeps each call, `telemetry` watches the machine meanwhile.
"""
