"""Addresses that lead to this very machine."""

import socket

import psutil
import pytest

from harness.agents.this_machine import is_this_machine, local_ports


def own_address() -> str:
    """One that is not a loopback; the loopback where there is no other."""
    found = [a.address for of in psutil.net_if_addrs().values() for a in of if a.family == socket.AF_INET]
    return max(found, key=lambda address: not address.startswith("127."))


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.8.1.2", "[::1]", "0.0.0.0", socket.gethostname()])
def test_it_is_known_by_its_names_and_loopbacks(host: str) -> None:
    assert is_this_machine(f"ws://{host}:8765/ws")


def test_it_is_known_by_the_address_of_its_own_interface() -> None:
    assert is_this_machine(f"ws://{own_address()}:8765/")


@pytest.mark.parametrize(
    "url", ["wss://203.0.113.9/ws", "ws://[2001:db8::9]/", "https://no-such-name.invalid/", "", "ws://[broken/"]
)
def test_what_is_elsewhere_or_nowhere_is_not_it(url: str) -> None:
    assert not is_this_machine(url)


def test_the_ports_that_a_profile_speaks_to_are_found_in_whatever_field_they_stand() -> None:
    settings = {
        "url": "ws://localhost:{port}/ws",
        "process": {
            "command": ["./bot", "--llm", "http://127.0.0.1:11434/v1"],
            "env": {"TTS_URL": "http://localhost:8880", "ELSE": "https://203.0.113.9:4000/v1"},
        },
        "options": {"asr": ["ws://localhost/asr"], "retries": 3},
    }
    assert local_ports(settings) == {11434, 8880, 80}
