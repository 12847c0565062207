"""The programs of the extra `local` (speech and language models), in a process and where need be an environment of their own.

A bot pins its own pipecat, onnxruntime or fastapi, and no two of those fit one environment. So the core needs none of them:
`interpreter` says which Python has them, `environment` makes one, and `worker` calls our functions there.
"""

from harness.local_programs.interpreter import NAMED_BY, launch_environment, local_python, named_python, versions_of_models
from harness.local_programs.worker import are_here, call

__all__ = ["NAMED_BY", "are_here", "call", "launch_environment", "local_python", "named_python", "versions_of_models"]
