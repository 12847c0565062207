"""The server of the language model that a cascade's `[process]` starts: any program with an OpenAI-compatible API.

It is a process of the agent's, so that it starts and ends with it and its work counts as the agent's own. It runs in the
environment that the user gave, without what was set for this agent's libraries, because a server brings its own. It counts as
ready once it has completed a token: a server answers before its model is loaded, and its first answer is slow.
"""

import asyncio
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import httpx2

from harness.agents.connections.diagnosis import serves
from harness.agents.cuda import without_libraries
from harness.agents.llm_server import ServerFailed
from harness.agents.profile_base import ProcessSettings, filled
from harness.agents.secrets import beginning
from harness.agents.this_machine import free_port, is_loopback
from harness.with_parent import before_exec

_OURS: Final = ("PYTHONPATH", "PYTHONSAFEPATH")
_STDERR: Final = 2
"""A server's words go into the agent's log; on standard output they could be taken for the agent's own ready line."""
_LOOK_S: Final = 0.2
_ANSWER_S: Final = 60.0
"""Longest first answer: a server may compile for its GPU meanwhile."""
_WORDS: Final = 200


class ModelServer:
    """A server as a child of this process. `environment`: that of this process when it started; `port`: 0 takes a free one."""

    def __init__(self, settings: ProcessSettings, folder: Path, environment: Mapping[str, str], port: int = 0) -> None:
        self._settings = settings
        self._folder = folder
        self._port = port or free_port()
        kept = {name: value for name, value in without_libraries(environment).items() if name not in _OURS}
        self._environment = {**kept, **{name: self.at_its_port(value) for name, value in settings.env.items()}}
        self._process: asyncio.subprocess.Process | None = None

    def at_its_port(self, text: str) -> str:
        """A text of the profile with the server's port."""
        return filled(text, str(self._port))

    async def start(self, base_url: str, model: str, key: str) -> None:
        """Start the server and return once the model has completed a token at this address.

        Raises:
            ServerFailed: something else listens at its address, it cannot be started, ended, was not ready in time, or refuses
                the model.
        """
        ready_url = self.at_its_port(self._settings.ready_url or f"{base_url}/models")
        for url in (ready_url, base_url):
            if is_loopback(url) and await serves(url):
                # It would be measured in place of the server.
                what = f"something else already listens at {url}; stop it, or use {{port}} for a free port"
                raise ServerFailed(f"[process] cannot start: {what}")
        command = [self.at_its_port(word) for word in self._settings.command]
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                cwd=self._folder / self._settings.cwd,
                env=self._environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=_STDERR,
                preexec_fn=before_exec(os.getpid(), self._settings.nice),
            )
        except OSError as error:
            raise ServerFailed(f"[process] {error.filename or command[0]}: {error.strerror or error}") from error
        try:
            await self._wait_until_ready(ready_url)
            await self._complete_a_token(base_url, model, key)
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """End the server: SIGTERM, then SIGKILL. Safe to call twice."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), self._settings.stop_timeout_s)
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _wait_until_ready(self, url: str) -> None:
        program = self.at_its_port(self._settings.command[0])
        until_s = time.monotonic() + self._settings.ready_timeout_s
        async with httpx2.AsyncClient(timeout=2.0, trust_env=False) as client:
            while True:
                assert self._process is not None
                if (code := self._process.returncode) is not None:
                    raise ServerFailed(f"[process] {program} ended before it was ready (exit code {code})")
                with suppress(httpx2.HTTPError):
                    if (await client.get(url)).is_success:
                        return
                if time.monotonic() > until_s:
                    waited = f"{self._settings.ready_timeout_s:g} s"
                    raise ServerFailed(f"[process] {program} was not ready within {waited} ({url})")
                await asyncio.sleep(_LOOK_S)

    async def _complete_a_token(self, base_url: str, model: str, key: str) -> None:
        asked: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": "Hello."}], "max_tokens": 1}
        headers = {"Authorization": f"Bearer {key}"}
        try:
            async with httpx2.AsyncClient(timeout=_ANSWER_S, trust_env=False) as client:
                reply = await client.post(f"{base_url}/chat/completions", json=asked, headers=headers)
        except httpx2.HTTPError as error:
            raise ServerFailed(f"[process] the model server gave no first answer ({error!r})") from error
        if not reply.is_success:
            said = beginning(reply.text, _WORDS)
            raise ServerFailed(f'[process] the model server refuses the model "{model}" (HTTP {reply.status_code}: {said})')
