"""Listening tests: people hear or read the replies that were timed, and say which is better or how good each is.

`design` describes a test, `material` takes its replies from a run, `plan` assigns them to a rater, `votes` stores the answers,
`app` serves the pages, `quality` and `analysis` evaluate the answers.
"""
