"""People's votes on pairs of replies: read, stored with their run, and counted where the rater counts."""
