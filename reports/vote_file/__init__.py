"""The vote file: one page with nothing in it but the vote, to hand to people who know neither agents nor run."""
