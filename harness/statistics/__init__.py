"""Statistics of clustered values: percentiles, shares, means and their changes, with intervals over whole clusters.

Each module is one idea and can be used alone: it takes numbers in groups (conversation, speaker, stretch of time, rater) and
knows nothing of runs, turns or verdicts.
"""
