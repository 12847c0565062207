"""Agents and recordings of known behaviour, which any tool that reports a voice agent's latency can be held against."""
