"""A llama.cpp server that ends together with the agent that started it.

A server in a process of its own, not a model in the agent's: the agent's event loop then never waits on the model's
threads, any OpenAI-compatible endpoint can stand in its place, and the wire between them is the one that users' own
endpoints speak. The child cannot outlive its parent (`harness.with_parent`), since an agent that is killed outright has
no chance to stop it, and a terminal's Ctrl-C does not reach it. llama.cpp answers `/health` before the model is loaded, so
the server counts as ready only once it has completed a token.
"""

import asyncio
import json
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import httpx2

from harness.local_programs import launch_environment, local_python
from harness.with_parent import command

_NO_SPINNING = 0
"""llama.cpp's threads wait for one another by spinning (50 of 100 by default), which starves whatever shares the cores. On two
cores, two threads: 14 ms a token either way while nothing else runs; beside one busy program 41 ms against 53."""
_STOPS_KEPT = 1_000
"""Stops that are remembered: minutes of them, and a request lasts seconds."""
_LOAD_TIMEOUT_S = 120.0
"""Timeout for loading, long enough for a model of some gigabytes from a slow disk."""


class ServerFailed(Exception):
    """The language-model server did not come up. The message is one line for people."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The options of a llama.cpp server. `slots` concurrent conversations share `context_tokens`."""

    model: str
    threads: int = 2
    prompt_threads: int = 2
    context_tokens: int = 4096
    gpu_layers: int = 0
    slots: int = 1


class LlmServer:
    """A llama.cpp server as a child process, with an OpenAI-compatible API under `base_url`."""

    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self._process: asyncio.subprocess.Process | None = None
        self._url = ""
        self._pauses = 0
        self._paused_ns = 0
        self._stops: deque[tuple[int, int]] = deque(maxlen=_STOPS_KEPT)

    @property
    def url(self) -> str:
        """Root of the server, where llama.cpp's own endpoints are."""
        return self._url

    @property
    def base_url(self) -> str:
        """Root of the OpenAI-compatible API."""
        return f"{self._url}/v1"

    @property
    def metrics_url(self) -> str:
        """Address of the server's metrics page."""
        return f"{self._url}/metrics"

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Start the server and return once it has completed a token.

        Must be awaited on the main thread: the kernel ties the child's death signal to the thread that started it.

        Raises:
            ServerFailed: the model file is missing or unreadable, or the server died or did not answer in time.
        """
        if not os.path.isfile(self._options.model):  # noqa: ASYNC240 one stat before a start of seconds
            raise ServerFailed(f"language model file {self._options.model} does not exist")
        python = local_python("the language model", modules=("xllamacpp",))
        self._process = await asyncio.create_subprocess_exec(
            *command([python, "-m", "harness.agents.llm_server", json.dumps(asdict(self._options))]),
            env=os.environ if python == sys.executable else launch_environment(python),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(_LOAD_TIMEOUT_S):
                assert self._process.stdout is not None
                line = await self._process.stdout.readline()
                if not line:
                    raise ServerFailed(f"{self._options.model} cannot be loaded: damaged, or no model that llama.cpp reads")
                said = json.loads(line)
                if "failed" in said:
                    raise ServerFailed(said["failed"])
                self._url = said["url"]
                await self._await_first_token()
        except TimeoutError as slow:
            await self.stop()
            raise ServerFailed(f"language model {self._options.model} did not load in {_LOAD_TIMEOUT_S:.0f} s") from slow
        except BaseException:
            await self.stop()
            raise

    async def _await_first_token(self) -> None:
        async with httpx2.AsyncClient(base_url=self._url, timeout=_LOAD_TIMEOUT_S) as client:
            while True:
                assert self._process is not None
                if self._process.returncode is not None:
                    raise ServerFailed(f"{self._options.model} cannot be loaded: damaged, or no model that llama.cpp reads")
                try:
                    reply = await client.post("/completion", json={"prompt": "Hello", "n_predict": 1})
                    if reply.status_code == 200:
                        return
                except httpx2.TransportError:
                    await asyncio.sleep(0.05)
                await asyncio.sleep(0.05)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the model's threads during the block, and always resume them. Callers may overlap.

        Decoding beside a synthesis makes both slow on few cores (a three-word piece takes 47 ms alone and 117–171 ms
        beside a decoding model), and nothing that is decoded before the first audio can be heard sooner for it.
        """
        self._pauses += 1
        self._signal(signal.SIGSTOP)
        if self._pauses == 1:
            self._paused_ns = time.monotonic_ns()
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                self._stops.append((self._paused_ns, time.monotonic_ns()))
                self._signal(signal.SIGCONT)

    def stopped_between(self, begin_ns: int, end_ns: int) -> list[list[int]]:
        """The intervals of `time.monotonic_ns` in which the model was paused, as far as they are between two instants."""
        now = [(self._paused_ns, end_ns)] if self._pauses else []
        return [
            [max(begin, begin_ns), min(end, end_ns)] for begin, end in (*self._stops, *now) if begin < end_ns and end > begin_ns
        ]

    def _signal(self, which: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(which)

    async def stop(self) -> None:
        """End the server. Safe to call twice."""
        if self._process is None or self._process.returncode is not None:
            return
        self._process.kill()
        await self._process.wait()


def _package_of(error: str) -> str:
    """The advice to install the OpenMP runtime if it is missing, as in small images of Debian; otherwise empty."""
    return "; install it (Debian: apt-get install libgomp1)" if "libgomp" in error else ""


def _serve(options: ServerOptions) -> None:
    try:
        import xllamacpp
    except ImportError as error:
        print(json.dumps({"failed": f"llama.cpp cannot be loaded: {error}{_package_of(str(error))}"}), flush=True)
        return

    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.n_ctx = options.context_tokens
    params.n_parallel = options.slots
    params.n_gpu_layers = options.gpu_layers
    params.cpuparams.n_threads = options.threads
    params.cpuparams_batch.n_threads = options.prompt_threads
    params.cpuparams.poll = params.cpuparams_batch.poll = _NO_SPINNING
    # A second copy of old conversations would outlive the session that they belong to.
    params.cache_ram_mib = 0
    params.cache_idle_slots = False
    params.ui = False
    params.endpoint_metrics = True
    params.verbosity = 1
    try:
        server = xllamacpp.Server(params)
    except RuntimeError:
        # The parent says in one line what a model that cannot be loaded means.
        sys.exit(1)
    print(json.dumps({"url": server.listening_address}), flush=True)
    signal.pause()


if __name__ == "__main__":
    _serve(ServerOptions(**json.loads(sys.argv[1])))
