"""`harness doctor`: what of this machine is fine, what will disturb a measurement, and how to mend it.

Each part of the machine is one look that takes no lasting hold of anything and gives one finding or several. A look that fails
itself says so and stops no other. Where a bound is asked, it is the one that a run is held to.
"""

from harness.doctor.finding import Finding
from harness.doctor.looks import LOOKS, examine

__all__ = ["LOOKS", "Finding", "examine"]
