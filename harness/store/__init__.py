"""A run on disk, and the one place that says what of it counts.

`run_store` reads and writes; `manifest` and `judgment` are its records; `selection` answers which session, reply and turn
stand for an agent. Everything after the call asks `selection` and picks no session by itself.
"""
