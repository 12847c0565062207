"""A page for listening to a pack's callers: one file, sounds included, without network."""

from harness.reports.callers.page import CallerSample, VoiceOnPage, callers_page

__all__ = ["CallerSample", "VoiceOnPage", "callers_page"]
