"""The page over many runs: what they measured, newest first, and how each agent changed from run to run."""
