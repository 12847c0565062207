"""Figures made from a finished recording: its timing, its transcript, and both of them again."""
