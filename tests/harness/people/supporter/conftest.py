"""A run that was really played, and takes of people in it, made from voices of the project at known instants."""

import fcntl
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from harness.people.supporter.conversations import Conversations
from harness.people.supporter.into_run import PersonsReply, add_people
from harness.progress import RunProgress
from harness.recording.from_seat import RATE_HZ, seat_take
from harness.recording.sitting import LoopError, Sitting
from harness.store.run_store import RunStore
from harness.store.session import Session
from tests.harness.conftest import harness, peer

PACK = """
pack: four-words
source: tests
licence: Apache-2.0
contexts:
"""
CALLERS = {
    "first": "I miss them. <pause 400> All of them.",
    "second": "It is tomorrow already. <pause 300> I have not slept.",
    "third": "My sister will not talk to me. <pause 500> Not one word.",
    "fourth": "They gave my desk away. <pause 350> I still work there.",
}
WAIT_S = 0.62
"""Wait of each person, from the caller's last sample to the first of the reply's file."""


def context_of(name: str, said: str) -> str:
    return (
        f"  - id: {name}\n    subset: regular\n    emotion: sadness\n    problem: being alone\n    turns:\n"
        f'      - {{role: seeker, text: "{said}"}}\n'
        f'    references:\n      - {{id: good, author: authored, quality: 5, text: "You are left with this, {name}."}}\n'
    )


@pytest.fixture(scope="session")
def played_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run, played once for all workers of this test session."""
    session = os.environ.get("PYTEST_XDIST_TESTRUNUID", "")
    folder = tmp_path_factory.getbasetemp().parent / session if session else tmp_path_factory.mktemp("played")
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            pack = folder / "four-words.yaml"
            pack.write_text(PACK + "".join(context_of(*each) for each in CALLERS.items()), encoding="utf-8")
            done = harness(
                folder, "run", "--agent", peer("scripted"), "--agent", peer("raw-pcm-answers"), "--pack", pack.name,
                "--judge", "none", "--out", "run", virtual=True,
            )  # fmt: skip
            assert done.code == 0, done.err
            (folder / "whole").touch()
    return folder


@pytest.fixture
def played(played_once: Path, tmp_path: Path) -> Path:
    """A copy of the run, beside its pack."""
    shutil.copytree(played_once, tmp_path, dirs_exist_ok=True)
    return tmp_path / "run"


def persons_reply(
    store: RunStore, person: str, context: str, says: str, *, automatic: bool = False, **loop: float
) -> PersonsReply:
    """A person who says what another caller of the run says, `WAIT_S` after the end, in a browser whose loop takes 50 ms."""
    conversations = Conversations(store)
    callers = {name: conversations.caller(name) for name in conversations.contexts}
    caller, reply = callers[context], callers[says].samples
    clock = np.zeros(len(caller.samples) + round(WAIT_S * RATE_HZ) + len(reply) + 3 * RATE_HZ, np.int16)
    clock[:] = np.random.default_rng(len(person)).normal(0, 8, len(clock)).astype(np.int16)
    begins = 9_600 + len(caller.samples) + round(WAIT_S * RATE_HZ) + 2_400
    clock = np.concatenate([clock, np.zeros(max(0, begins + len(reply) + RATE_HZ - len(clock)), np.int16)])
    clock[begins : begins + len(reply)] += reply
    take = seat_take(caller, clock, first=0, played_at=9_600, latency_samples=2_400)
    error = LoopError(50.0, loop.get("error_p95_ms", 4.0), 1.0, 30)
    return PersonsReply(
        context, take, Sitting(person, automatic, f"sitting-{person}", f"take-{person}-{context}-{automatic}", error)
    )


Answer = Callable[..., tuple[Session, ...]]


@pytest.fixture
def answer() -> Answer:
    """Adds replies of (person, context, the caller whose words are the reply) to a run."""

    def added(folder: Path, *replies: tuple[str, str, str], automatic: bool = False) -> tuple[Session, ...]:
        with closing(RunStore.open(folder)) as store:
            given = [persons_reply(store, *each, automatic=automatic) for each in replies]
            return add_people(store, given, RunProgress(quiet=True))

    return added
