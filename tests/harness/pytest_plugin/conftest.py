"""The stored runs that other tests open, for the plugin to read."""

from tests.harness.store.conftest import old_run

__all__ = ["old_run"]
