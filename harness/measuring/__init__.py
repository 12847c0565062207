"""Figures from a finished recording: its timing, its transcript, and repeated measurement of both."""
