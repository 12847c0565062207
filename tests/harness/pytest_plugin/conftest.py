"""The stored runs that other tests open, for the plugin to read."""

from tests.harness.gate.conftest import busy_run
from tests.harness.store.conftest import old_run

__all__ = ["busy_run", "old_run"]
