"""The end of a turn: the cues for it in a pack's words and sound, and the results of detectors on it."""
