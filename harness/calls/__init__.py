"""Calls that already happened: recordings of production calls, measured as the calls of a run are."""
