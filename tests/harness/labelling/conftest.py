"""The contexts, the judge and the run that tests of judging have too."""

from tests.harness.judging.conftest import contexts, played

__all__ = ["contexts", "played"]
