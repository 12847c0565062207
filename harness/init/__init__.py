"""First files for a team: a profile of its agent, a budgets file, and CI jobs that check it.

All are texts, made from a few answers by pure functions, so that a test can try each in a clean folder.
"""

from harness.init.answers import Answers
from harness.init.files import files_for, refuse_existing, refuse_own_checkout, write_files

__all__ = ["Answers", "files_for", "refuse_existing", "refuse_own_checkout", "write_files"]
