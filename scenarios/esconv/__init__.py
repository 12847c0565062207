"""The paper's set (HEART, section 9.2), built from the user's copy of ESConv; the project ships nothing of ESConv.

Small pure steps, each with its counts: read, merge, couplets, response potential, screens, choice, allocation, writing.
"""

from harness.scenarios.esconv.build import BuildReport, BuildResult, build
from harness.scenarios.esconv.read import EsconvError, read_esconv
from harness.scenarios.esconv.write import build_to, write_build

__all__ = ["BuildReport", "BuildResult", "EsconvError", "build", "build_to", "read_esconv", "write_build"]
