"""The report's charts: one specification each, from a `PageView`, for the page, PNG and SVG alike.

Each module holds one chart and says in its head how it is to be read. `theme` holds what they share.
"""
