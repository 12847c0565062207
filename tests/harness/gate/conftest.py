"""A run of an older version on disk."""

from tests.harness.store.conftest import old_run

__all__ = ["old_run"]
