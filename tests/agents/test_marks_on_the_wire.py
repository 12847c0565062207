"""Marks as a wire brings them: one whose time no clock gives ends no call, and is known for what it is."""

import json

import pytest

from harness.agents.connection import NO_TIME_NS, Mark
from harness.agents.connections.raw_pcm import RawPcmWire
from harness.agents.connections.wire import Garbage, parse_object


def received(at_ns: str, detail: str = "{}") -> Mark:
    message = f'{{"type": "mark", "name": "llm_requested", "at_ns": {at_ns}, "detail": {detail}}}'
    (mark,) = RawPcmWire(accepts_history=False).receive(message, 5).events
    assert isinstance(mark, Mark)
    return mark


@pytest.mark.parametrize(
    "at_ns", ["-1", "-7000000000000", "NaN", "Infinity", "-Infinity", "1e999", "null", str(2**63), "1e300"]
)
def test_a_time_that_no_clock_gives_ends_no_call(at_ns: str) -> None:
    assert received(at_ns) == Mark("llm_requested", NO_TIME_NS, 5)


@pytest.mark.parametrize(("at_ns", "meant"), [("0", 0), ("12", 12), ("12.0", 12), (str(2**63 - 1), 2**63 - 1)])
def test_any_other_number_is_kept_to_the_nanosecond(at_ns: str, meant: int) -> None:
    assert received(at_ns).at_ns == meant


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ('{"type": "mark", "at_ns": 1}', "a mark without a name"),
        ('{"type": "mark", "name": "x"}', "at_ns is no number of nanoseconds"),
        ('{"type": "mark", "name": "x", "at_ns": "soon"}', "at_ns is no number of nanoseconds"),
        ('{"type": "mark", "name": "x", "at_ns": true}', "at_ns is no number of nanoseconds"),
    ],
)
def test_what_is_wrong_with_a_mark_is_said(message: str, words: str) -> None:
    with pytest.raises(Garbage, match=words):
        RawPcmWire(accepts_history=False).receive(message, 5)


def test_numbers_that_are_not_finite_can_be_written_again() -> None:
    data = parse_object('{"a": NaN, "b": [1e999, -Infinity, 1.5, 2], "c": "\\ud800", "d": {"e": NaN}}')
    assert data == {"a": None, "b": [None, None, 1.5, 2], "c": "\ufffd", "d": {"e": None}}
    json.dumps(data, allow_nan=False)
