"""`harness doctor`: what of this machine is fine, what will disturb a measurement, and how to mend it.

Each part of the machine is one look that takes no lasting hold of anything and gives one finding or several. A look that fails
itself says so and stops no other. Where a bound is asked, it is the one that a run is held to.
"""

from harness.doctor.checks import LOOKS, examine
from harness.doctor.result import Finding

__all__ = ["LOOKS", "Finding", "examine"]
