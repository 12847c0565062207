"""Runs on disk to take steps on."""

from tests.harness.store.conftest import old_run

__all__ = ["old_run"]
