"""The end of a turn: what gives it away in a pack's words and sound, and what detectors reach on it."""
