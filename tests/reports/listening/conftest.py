"""A listening test served over a real socket from a run on disk, and a browser that comes to it from elsewhere."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette

from harness.figures.summary import RunSummary
from harness.reports.invited.address import Address
from harness.reports.invited.app import BEGINS_PER_MINUTE
from harness.reports.invited.links import Invitation
from harness.reports.listening.answers import VoteStore
from harness.reports.listening.app import ListeningApp
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.material import Material
from harness.reports.listening.serve import prepare
from harness.store.run_store import RunStore
from harness.study.study import Study
from tests.reports.conftest import CHROMIUM
from tests.serving import serving

NAME = "rater.test"
"""A name that is not this machine's own, so that a browser treats its pages as it treats any site's."""
SUBJECTS = ("grandmother", "examination", "neighbours", "accident", "marriage", "hospital", "children", "landlord")
"""What each conversation is about, so that a reply to one is out of place in another."""
Played = Callable[..., tuple[RunStore, RunSummary]]


@dataclass
class Served:
    """A running test."""

    address: str
    votes: VoteStore
    material: Material
    store: RunStore
    design: ListeningDesign

    def client(self) -> httpx2.Client:
        """A rater's browser without a screen."""
        return httpx2.Client(base_url=self.address, timeout=20, verify=False)

    def begun(self, purpose: str = "listen") -> httpx2.Client:
        """One who has agreed and begun."""
        client = self.client()
        assert client.post("/begin", json={"consent": True, "purpose": purpose}).status_code == 200
        return client


@pytest.fixture
def serve(played: Played) -> Iterator[Callable[..., Served]]:
    """Start a test; each keyword that is not the design's is the run's."""
    running = ExitStack()

    def started(
        *,
        contexts: int = 6,
        public: bool = False,
        text: str | None = None,
        hearing_share: float = 0.9,
        begins_per_minute: int = BEGINS_PER_MINUTE,
        name: str | None = None,
        reached: dict[str, Any] | None = None,
        study: Study | None = None,
        **settings: object,
    ) -> Served:
        more = {} if text is None else {"text": text}
        store, _ = played(contexts=contexts, unit_s=0.3, subjects=SUBJECTS, **more)
        design = ListeningDesign.model_validate(settings)
        votes, material = prepare(store, design)

        def app(here: Address) -> Starlette:
            limits = {"hearing_share": hearing_share, "begins_per_minute": begins_per_minute}
            return ListeningApp(votes, material, design, here, study=study, **limits).asgi()  # type: ignore[arg-type]

        address, _, _ = running.enter_context(serving(app, name=name, public=public, **(reached or {})))
        return Served(address, votes, material, store, design)

    with running:
        yield started


def invite(votes: VoteStore, raters: int, contributors: int = 0, expires_s: float | None = None) -> list[Invitation]:
    """Links for raters, then for contributors."""
    return [
        *votes.links.invite(raters, "rater", "", expires_s),
        *votes.links.invite(contributors, "contributor", "/collect", expires_s),
    ]


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for this machine and `rater.test`, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME},DNS:localhost,IP:127.0.0.1",
         "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder / "cert.pem", folder / "key.pem"


@pytest.fixture
def from_elsewhere(browser: Any, dejavu: dict[str, str]) -> Iterator[Callable[..., Any]]:
    """A page of a browser that knows every `*.test` as this machine; `arguments` are Chromium's own."""
    running: list[Any] = []

    def opened_page(*arguments: str, width: int = 1280, height: int = 800, **options: Any) -> Any:
        one = browser.browser_type.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP *.test 127.0.0.1", *arguments],
            env={**os.environ, **dejavu},
        )
        running.append(one)
        return one.new_context(
            viewport={"width": width, "height": height}, ignore_https_errors=True, **options
        ).new_page()  # fmt: skip

    yield opened_page
    for one in running:
        one.close()
