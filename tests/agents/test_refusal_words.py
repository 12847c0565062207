"""What a server's refusal says: its words, wherever it puts them, and the fault that they name."""

import pytest

from harness.agents.connections.diagnosis import words_in
from harness.agents.connections.what_to_check import fault_of_refusal
from tests.agents.printed import moves_no_cursor


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"err_code": "INVALID_AUTH", "err_msg": "Invalid credentials."}', "Invalid credentials"),
        (b'{"message": ["a is wrong", "b too"], "error": "Bad Request"}', "a is wrong, b too"),
        (b'{"error": {"message": "No such model."}}', "No such model"),
        (b'{"error": "Unauthorized"}', "Unauthorized"),
        (b'{"detail": [{"loc": 1}], "n": 1}', "{'loc': 1}"),
        (b'{"n": 1}', '{"n": 1}'),
        (b"Go away\n", "Go away"),
        (b"<html><h1>404</h1>", ""),
        (b"", ""),
    ],
)
def test_its_words_are_found_wherever_they_are(body: bytes, words: str) -> None:
    assert words_in(body) == words


def test_its_words_are_text_of_one_line() -> None:
    assert moves_no_cursor(words_in(b'{"message": "\\u001b[2J\\n' + b"x" * 9_000 + b'"}'))
    assert len(words_in(b"y" * 9_000)) < 200


@pytest.mark.parametrize(
    ("status", "words", "fault"),
    [
        (400, "Over Concurrency Limit.", "busy"),
        (400, "Wallet Balance is -0.12.", "no_credit"),
        (402, "", "no_credit"),
        (400, "Couldn't Find Assistant.", "no_agent"),
        (403, "assistantId 'b0e0' is not allowed for this key", "no_agent"),
        (403, "user agent is not allowed", "turned_away"),
        (401, "assistant not found", "wrong_key"),
        (429, "Rate limit", "busy"),
        (400, "bad field", "refused_otherwise"),
        (500, "balance", "server_error"),
    ],
)
def test_its_words_decide_where_they_say_more_than_the_status(status: int, words: str, fault: str) -> None:
    assert fault_of_refusal(status, True, words) == fault
