"""Output for people: the joint quality-and-latency report, its charts, and listening tests.

Reads a finished run's store and the ranking core; only `harness/cli` imports this room, at call time.
"""
