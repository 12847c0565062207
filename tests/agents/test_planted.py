"""Every kind of secret in every place where an agent, a server or a judge speaks, cut wherever texts are cut: none is left."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from harness.agents import secrets
from harness.agents.connection import Mark, Transcript
from harness.agents.connections.what_to_check import Place, failed
from harness.agents.connections.wire import Garbage, parse_object, shown
from harness.agents.process_log import last_lines
from harness.agents.secrets import MOST_HELD_BYTES, MOST_MASKED, RedactedLines, Redactor, beginning, learn, redact_foreign
from harness.agents.text import TextFailed
from harness.judging.judge import JudgeFailure
from harness.recording.parts import taken_apart
from harness.recording.record import CallerTrack, Recording
from harness.store.step_failure import one_line
from tests.agents.planted import Planted, left, planted

VARIABLE = "h2Kd-mQ9v~Lw4z-Rt7p~Xc1n-Bs6y~Jf3g-Uo8ez"
SEEDS = range(40)
KINDS = [secret.kind for secret in planted(0, VARIABLE)]


@pytest.fixture(autouse=True)
def only_the_variable_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_current", secrets.Redactor())
    learn([VARIABLE])


def of_kind(kind: str, count: int) -> list[Planted]:
    return [secret for seed in SEEDS[:count] for secret in planted(seed, VARIABLE) if secret.kind == kind]


def in_garbage(words: str) -> str:
    try:
        parse_object(f"{words} is no JSON")
    except Garbage as error:
        return str(error)
    return ""


def in_recording(words: str) -> str:
    caller = CallerTrack(16_000, np.zeros(1, np.int16), np.zeros(1, np.int16), 0, np.zeros(0, np.int64), 0, 1, (), ())
    recording = Recording(
        caller, 16_000, np.zeros(0, np.int16), (), (), (Mark(words, 1, 1, {words: [words, {"why": words}]}),),
        (Transcript(1, "assistant", words, True),), (), "closed_early", words,
    )  # fmt: skip
    return json.dumps(taken_apart(recording)[1], default=str) + str(taken_apart(recording)[1])


PLACES: dict[str, Callable[[str], str]] = {
    "a log or an error": redact_foreign,
    "a close reason": shown,
    "a status": lambda words: str(failed("busy", Place("wss"), status=shown(f"503 {words}"))),
    "a library's error": lambda words: str(failed("failed_otherwise", Place("wss"), detail=words)),
    "no JSON": in_garbage,
    "a recording": in_recording,
    "an endpoint": lambda words: str(TextFailed(words, "refused")),
    "a judge": lambda words: str(JudgeFailure("malformed", words)),
    "a step": lambda words: one_line(ValueError(words)),
    "JSON in JSON": lambda words: redact_foreign(json.dumps({"error": json.dumps({"message": words})})),
    "repr": lambda words: redact_foreign(repr({"message": words.encode()})),
}


@pytest.mark.parametrize("count", [2, pytest.param(40, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_no_piece_is_left_in_what_is_said(place: str, kind: str, count: int) -> None:
    for secret in of_kind(kind, count):
        for words in (
            secret.text,
            f"refused {secret.text}",
            f"could not sign in with {secret.text}, said the server",
            f"\x1b[31m{secret.text}\x1b[0m",
        ):
            assert left({place: PLACES[place](words)}, [secret]) == []


@pytest.mark.parametrize("kind", KINDS)
def test_no_piece_is_left_where_a_text_is_cut(kind: str) -> None:
    """By this program at any place, and at the bound up to which a text is searched."""
    for secret in of_kind(kind, 1):
        for cut in range(20, len(secret.text) + 20, 7):
            words = f"{'x' * 19} {secret.text}"
            assert left({f"cut at {cut}": beginning(words, cut)}, [secret]) == []
        for before in range(0, len(secret.text) + 1, 1 + len(secret.text) // 6):
            words = " " * (MOST_MASKED - before) + secret.text
            assert left({f"{before} before the bound": beginning(words, 400)}, [secret]) == []


CUT_BY_OTHERS = [kind for kind in KINDS if kind != "variable"]
"""Half of a value that only a variable shows to be a secret is a word like any other."""


@pytest.mark.parametrize("kind", CUT_BY_OTHERS)
def test_no_piece_is_left_of_what_was_cut_by_its_sender(kind: str) -> None:
    """A closing frame has room for 123 bytes."""
    for secret in of_kind(kind, 2):
        for end in range(9, len(secret.text)):
            words = f"cannot sign in: {secret.text[:end]}"
            assert left({words: shown(words, 400)}, [secret]) == []


@pytest.mark.parametrize("kind", KINDS)
def test_no_piece_is_left_where_pieces_of_a_log_meet(kind: str, tmp_path: Path) -> None:
    for secret in of_kind(kind, 2):
        raw = f"started\n{secret.text}\nended: {secret.text}\n".encode()
        for cut in range(1, len(raw), 5):
            lines = RedactedLines(Redactor.of([VARIABLE]))
            out = lines.feed(raw[:cut]) + lines.feed(raw[cut:]) + lines.flush()
            assert left({f"cut at {cut}": out.decode()}, [secret]) == []
            assert b"started\n" in out
        (tmp_path / "log").write_bytes(out)
        assert left({"last lines": "\n".join(last_lines(tmp_path / "log", 0, 40))}, [secret]) == []


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "pem"])
def test_no_piece_is_left_in_a_line_without_an_end(kind: str) -> None:
    (secret,) = of_kind(kind, 1)
    words = secret.text.encode()
    for before in range(0, len(words) + 1, max(1, len(words) // 6)):
        lines = RedactedLines(Redactor.of([VARIABLE]))
        filler = b"word " * ((MOST_HELD_BYTES + 12_000) // 5)
        raw = filler[: MOST_HELD_BYTES - before] + b" " + words + b" " + filler
        out = b"".join(lines.feed(raw[k : k + 997]) for k in range(0, len(raw), 997)) + lines.flush()
        assert left({f"{before} before the bound": out.decode()}, [secret]) == []
