"""A kamailio in front of an agent that registers by agent-transport, which does so over TCP and at port 5060 alone.

The standard library only: it is imported by programs of environments without the harness.
"""

import atexit
import contextlib
import re
import socket
import subprocess
import tempfile
import time
from pathlib import Path

SETTINGS = Path(__file__).parent / "sip" / "kamailio.cfg"
AGENTS_PORT = 5060


def start(port: int) -> None:
    """Start it for callers over UDP at `port`; it ends with this process.

    Raises:
        TimeoutError: it does not listen within five seconds.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".cfg", delete=False) as settings:
        settings.write(re.sub(r"disable_tcp=yes", "tcp_children=1", SETTINGS.read_text(encoding="utf-8")))
    doors = ("-l", f"udp:127.0.0.1:{port}", "-l", f"tcp:127.0.0.1:{AGENTS_PORT}")
    proxy = subprocess.Popen(["/usr/sbin/kamailio", "-f", settings.name, *doors, "-DD", "-E"])
    atexit.register(proxy.terminate)
    for _ in range(100):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", AGENTS_PORT), timeout=1):
            return
        time.sleep(0.05)
    raise TimeoutError(f"kamailio does not listen at port {AGENTS_PORT}: is it taken?")
