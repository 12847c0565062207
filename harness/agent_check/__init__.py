"""One short call to an agent, and the report of what a run could measure of it."""
