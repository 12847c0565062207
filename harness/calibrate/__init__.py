"""Calibration of this harness on this machine: known sounds after known delays, and the error of what is measured.

`calibrate` is the library function behind `harness calibrate`; `newest` is the calibration that runs quote.
"""

from harness.calibrate.result import Calibration, keep, newest
from harness.calibrate.run import calibrate

__all__ = ["Calibration", "calibrate", "keep", "newest"]
