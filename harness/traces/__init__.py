"""Traces in OpenTelemetry's form: spans received from agents, and a run's own spans exported."""
