"""OpenTelemetry traces: spans received from agents, and the export of a run's own spans."""
