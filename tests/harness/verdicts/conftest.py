"""The contexts, the judge and the run that tests of judging have too."""

from tests.harness.judging.conftest import contexts, played, rule_judge

__all__ = ["contexts", "played", "rule_judge"]
