"""The calls of a run: the plan, the running agents, the caller's turns, and each session as it is played.

`phases` is the whole of `harness run`; `plan` checks the user's input, `running_agents` loads the agents, `caller_turns`
renders the sound, `sessions` plays and stores each call, `telemetry` samples the machine during calls.
"""
