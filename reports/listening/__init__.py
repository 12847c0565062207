"""Listening tests: people hear or read the very replies that were timed, and say which is better or how good each is.

`design` says what a test asks, `material` takes it from a run, `plan` deals it out to one rater, `votes` keeps the answers,
`app` serves the pages, `quality` and `analysis` read what came of it.
"""
