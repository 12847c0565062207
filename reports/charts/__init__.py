"""The report's charts: one specification each, made from a `PageView`, for the page, PNG and SVG.

Each module has one chart, and its docstring says how to read it. `theme` has the common parts.
"""
