"""The supporter's seat: people hear callers of a run in real time, and answer them aloud."""
