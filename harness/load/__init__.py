"""How many callers at once an agent, or this machine, stands: `steps` of rising concurrency, `agent` for a profile."""
