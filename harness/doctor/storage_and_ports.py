"""Checks of the disks for runs and weights, and of the ports and open files that calls need."""

import os
import shutil
import socket
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from harness.doctor.result import Finding
from harness.files import CACHE_VARIABLE, cache_folder
from harness.run.disk_space import KEPT_BYTES_PER_S, MB

LEAST_FREE_BYTES: Final = 1_000_000_000
"""Free space for an overnight run: forty thousand seconds of calls at the size per second of `harness.run.disk_space`."""
SLOW_FLUSH_MS: Final = 500.0
"""Slowest flush: each session is flushed before it counts. A choice: above a loaded disk's time, below what is felt."""
LISTEN_PORT: Final = 8_177
LEAST_FILES: Final = 1_024


def disk() -> list[Finding]:
    """Findings on space and speed of the disk for runs (this folder) and of the disk for weights."""
    cache = cache_folder()
    found = [_place("disk, this folder", Path.cwd(), "run from another folder, or name one with --out")]
    mend = f"set {CACHE_VARIABLE} to a folder with free space"
    near = next(p for p in (cache, *cache.parents) if p.exists())
    found.append(_place(f"disk, cache {cache}", near, mend))
    return found


def _place(part: str, folder: Path, mend: str) -> Finding:
    free = shutil.disk_usage(folder).free
    hours = free / KEPT_BYTES_PER_S / 3600
    try:
        took_ms = _flush_ms(folder)
    except OSError as error:
        return Finding(part, "broken", f"cannot be written ({error.strerror})", mend)
    seen = f"{free / MB / 1000:.1f} GB free (about {hours:,.0f} hours of calls), flushes in {took_ms:.0f} ms"
    if free < LEAST_FREE_BYTES:
        return Finding(part, "disturbs", seen, mend)
    if took_ms > SLOW_FLUSH_MS:
        return Finding(part, "disturbs", seen, f"slow: every session is flushed before it counts; {mend}")
    return Finding(part, "fine", seen)


def _flush_ms(folder: Path) -> float:
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(1_000_000))
        began = time.monotonic()
        file.flush()
        os.fsync(file.fileno())
        return (time.monotonic() - began) * 1000


def ports() -> list[Finding]:
    """Findings on local connections, the port of the raters' page, proxies, and the number of open files."""
    found = []
    try:
        with socket.socket() as server, socket.socket() as client:
            server.bind(("127.0.0.1", 0))
            server.listen(1)
            client.settimeout(2)
            client.connect(server.getsockname())
        found.append(Finding("ports", "fine", "this machine can call itself (127.0.0.1)"))
    except OSError as error:
        mend = "allow connections to 127.0.0.1: agents are called there"
        found.append(Finding("ports", "broken", f"this machine cannot call itself ({error.strerror or error})", mend))
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", LISTEN_PORT))
        except OSError:
            mend = "end it, or: harness listen RUN --address ANOTHER_PORT"
            found.append(Finding("port of harness listen", "without", f"{LISTEN_PORT} is taken", mend))
    proxies = [n for n in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy") if os.environ.get(n)]
    if proxies and not any("127.0.0.1" in os.environ.get(n, "") for n in ("NO_PROXY", "no_proxy")):
        mend = "export NO_PROXY=127.0.0.1,localhost, or requests to local model servers may go through the proxy"
        found.append(Finding("proxy", "disturbs", f"{', '.join(proxies)} is set without NO_PROXY for 127.0.0.1", mend))
    with suppress(ImportError):
        import resource

        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if files != resource.RLIM_INFINITY and files < LEAST_FILES:
            mend = f"ulimit -n {LEAST_FILES}: many callers at once need a file each"
            found.append(Finding("open files", "disturbs", f"at most {files}", mend))
    return found
