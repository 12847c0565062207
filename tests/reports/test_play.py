"""Hearing sessions from the terminal; the loudspeaker alone is stood in for, since a test machine has none."""

import io
import sys
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console

from harness.errors import UserError
from harness.figures.summary import RunSummary
from harness.reports.play import Speakers, pieces, play
from harness.store.run_store import RunStore

Played = Callable[..., tuple[RunStore, RunSummary]]


class Listener:
    """Keeps what it was given, and hears a second in a tenth of one."""

    def __init__(self) -> None:
        self.heard: list[NDArray[np.int16]] = []
        self.stops = 0
        self._at = 0.0

    def start(self, stereo: NDArray[np.int16], rate_hz: int) -> None:
        assert rate_hz == 48_000
        self.heard.append(stereo)
        self._at = 0.0

    def position_s(self) -> float:
        self._at += 0.5
        return self._at

    def stop(self) -> None:
        self.stops += 1


def test_two_agents_are_heard_in_the_order_asked_with_a_timeline(played: Played) -> None:
    store, _ = played()
    listener, screen = Listener(), io.StringIO()
    play(
        store,
        context="talk-1",
        agents=("slow", "quick"),
        console=Console(file=screen, width=80),
        output=lambda: listener,
    )
    onsets = [int(np.flatnonzero(np.abs(stereo[:, 1]) > 2_000)[0]) / 48_000 for stereo in listener.heard]
    assert onsets == pytest.approx([4.1, 3.3], abs=0.01)
    assert listener.stops == 2
    said = screen.getvalue()
    assert said.index("slow") < said.index("quick")
    assert "TTFA 1.20 s" in said
    assert "█" in said


def test_the_first_conversation_and_agent_are_heard_unless_asked_otherwise(played: Played) -> None:
    store, _ = played()
    assert [(p.key.context_id, p.key.agent) for p in pieces(store, None, ())] == [("talk-0", "quick")]


@pytest.mark.parametrize(
    ("context", "agents", "words"),
    [
        ("talk-9", (), "--context talk-9: is not in this run; it has talk-0"),
        (None, ("nobody",), "those who did: quick, slow"),
    ],
)
def test_a_wrong_name_is_told_what_there_is(played: Played, context: str | None, agents: tuple[str, ...], words: str) -> None:
    store, _ = played()
    with pytest.raises(UserError, match=words):
        pieces(store, context, agents)


def test_a_machine_without_the_library_is_told_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    with pytest.raises(UserError, match=r"pip install .*\[play\]'"):
        Speakers()
