"""The run that tests of judging have too."""

from tests.harness.judging.conftest import played

__all__ = ["played"]
