"""A listening test served over a real socket from a run on disk."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx
import pytest
import uvicorn

from harness.steps.summary import RunSummary
from harness.store.run_store import RunStore
from reports.listening.answers import VoteStore
from reports.listening.app import ListeningApp
from reports.listening.design import ListeningDesign
from reports.listening.material import Material
from reports.listening.serve import prepare

Played = Callable[..., tuple[RunStore, RunSummary]]


@dataclass
class Served:
    """A running test."""

    address: str
    votes: VoteStore
    material: Material
    store: RunStore
    design: ListeningDesign

    def client(self) -> httpx.Client:
        """A rater's browser without a screen."""
        return httpx.Client(base_url=self.address, timeout=20)

    def begun(self, purpose: str = "listen") -> httpx.Client:
        """One who has agreed and begun."""
        client = self.client()
        assert client.post("/begin", json={"consent": True, "purpose": purpose}).status_code == 200
        return client


@pytest.fixture
def serve(played: Played) -> Iterator[Callable[..., Served]]:
    """Start a test; each keyword that is not the design's is the run's."""
    servers: list[tuple[uvicorn.Server, threading.Thread]] = []

    def started(
        *,
        contexts: int = 6,
        public: bool = False,
        text: str | None = None,
        hearing_share: float = 0.9,
        **settings: object,
    ) -> Served:
        more = {} if text is None else {"text": text}
        store, _ = played(contexts=contexts, unit_s=0.3, **more)
        design = ListeningDesign.model_validate(settings)
        votes, material = prepare(store, design)
        app = ListeningApp(votes, material, design, public=public, hearing_share=hearing_share).asgi()
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", server_header=False))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        end = time.monotonic() + 20
        while not server.started:
            assert time.monotonic() < end
            time.sleep(0.01)
        servers.append((server, thread))
        port = server.servers[0].sockets[0].getsockname()[1]
        return Served(f"http://127.0.0.1:{port}", votes, material, store, design)

    yield started
    for server, thread in servers:
        server.should_exit = True
        thread.join(timeout=10)
