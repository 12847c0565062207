"""`harness doctor`: checks of this machine before a measurement, with a remedy for each problem.

Each part of the machine has one check, which changes nothing and returns one or several findings. A check that fails
reports that and does not stop the others. Bounds are the same as for a run.
"""

from harness.doctor.checks import LOOKS, examine
from harness.doctor.result import Finding

__all__ = ["LOOKS", "Finding", "examine"]
