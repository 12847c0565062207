"""The contexts, the judge and the run that tests of judging have too."""

from tests.harness.judging.conftest import contexts, rule_judge

__all__ = ["contexts", "rule_judge"]
