"""A short test call to an agent, and a report of what a run can measure."""
