"""Places in a profile's texts that are filled in when its program is started: `{port}` and `{python}`."""

import socket
import sys


def free_port() -> int:
    """A port of this machine that nothing listens at now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def filled(text: str, port: str) -> str:
    """The text with this port and this interpreter."""
    return text.replace("{port}", port).replace("{python}", sys.executable)
