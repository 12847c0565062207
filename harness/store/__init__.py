"""A run on disk, and the one place that decides which parts of it count.

`run_store` reads and writes; `manifest` and `judgment` are its records; `selection` decides which sessions, replies
and turns count for an agent. Every step after the call uses `selection` and chooses no session by itself.
"""
