"""The check for loopback addresses, which proxies cannot reach and which can be probed before a run.

Machines behind a company's proxy name it in the environment, and HTTP libraries obey, even for `localhost`.
"""

from urllib.parse import urlsplit


def is_loopback(url: str) -> bool:
    """True for `localhost` and the loopback addresses, with any scheme."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")
