"""The door through which a caller process of the tests comes to live in virtual time.

Python imports a module of this name when it starts. The tests put this folder on the `PYTHONPATH` of the commands that they run
(`tests.harness.conftest.VIRTUAL_TIME`); every other process of such a command passes by.
"""

import sys
from pathlib import Path

if "harness.caller" in sys.orig_argv[1:3]:
    _ROOT = Path(__file__).resolve().parents[2]
    sys.path += [str(_ROOT), str(_ROOT / "tests" / "peers")]

    from tests.virtual_time.caller import install

    install()
