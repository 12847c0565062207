"""Connections: one file per wire format, all with the interface `harness.agents.connection.Connection`.

A `ConnectionSpec` says in plain data which one and where, so that it can travel to the caller's process; `make` turns
it into a connection there.
"""

from harness.agents.connections.spec import ConnectionSpec, UnknownConnection, kinds, make

__all__ = ["ConnectionSpec", "UnknownConnection", "kinds", "make"]
