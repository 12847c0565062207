"""A page on which a person hears a pack's callers: one file, sounds inside, nothing fetched."""

from harness.reports.callers.page import CallerSample, VoiceOnPage, callers_page

__all__ = ["CallerSample", "VoiceOnPage", "callers_page"]
