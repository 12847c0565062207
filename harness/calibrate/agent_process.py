"""The metrology agent's process, seen from outside: start it, ask for the truth, end it."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from harness.errors import AgentError
from harness.local_programs import launch_environment, local_python
from harness.with_parent import command

_LINE_LIMIT = 256 * 1024 * 1024
"""The truth of hundreds of sessions, with the arrival of every frame, is one line."""


@dataclass(frozen=True, slots=True)
class RunningAgent:
    """A metrology agent that accepts calls."""

    url: str
    pid: int
    _process: asyncio.subprocess.Process

    async def truth(self) -> dict[str, Any]:
        """The true times of every session so far, by the path that it was called on."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(b"truth\n")
        return dict(json.loads(await self._process.stdout.readline()))


@asynccontextmanager
async def metrology_agent(
    seed: int,
    sessions: int,
    *,
    keep_arrivals: bool,
    delay_ms: int | None = None,
    host: str = "127.0.0.1",
    behind: Sequence[str] = (),
    program: Sequence[str] = ("-m", "harness.calibrate.agent"),
) -> AsyncIterator[RunningAgent]:
    """A metrology agent in a process of its own, with the replies of `sessions` calls prepared.

    `delay_ms` fixes the delay of every reply; None draws each one. `behind`: a command that starts it elsewhere, as in
    `taskset` or a network namespace, where `host` is its address. `program`: another one, with the same arguments and answers.

    Raises:
        AgentError: it does not start.
    """
    python = local_python("the agent with known delays", modules=("hibari",))
    env = os.environ if python == sys.executable else launch_environment(python)
    process = await asyncio.create_subprocess_exec(
        *command([*behind, python, *program, host, str(seed), str(sessions), str(int(keep_arrivals))]),
        *([] if delay_ms is None else [str(delay_ms)]),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        limit=_LINE_LIMIT, env={**env, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = await process.stdout.readline()
        if not line:
            raise AgentError(f"the metrology agent did not start (exit {await process.wait()})")
        yield RunningAgent(json.loads(line)["url"], process.pid, process)
    except asyncio.CancelledError:
        # After Ctrl-C nobody should have to wait until every caller has hung up.
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        raise
    finally:
        process.stdin.close()
        try:
            async with asyncio.timeout(5):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
