"""The contexts, the judge and the run that tests of judging have too."""

from tests.harness.judging.conftest import played

__all__ = ["played"]
