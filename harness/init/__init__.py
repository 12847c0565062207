"""The files that a team starts with: a profile of its agent, limits to hold it to, and the CI jobs that hold it to them.

All are texts made from a few answers, pure and by themselves, so that a test can try each in a clean folder.
"""

from harness.init.answers import Answers
from harness.init.files import files_for, refuse_existing, write_files

__all__ = ["Answers", "files_for", "refuse_existing", "write_files"]
