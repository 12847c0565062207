"""The servers whose metrics can be read, one file each."""

from textwrap import shorten
from typing import Final

from harness.servers.adapter import Adapter
from harness.servers.adapters import llama_cpp, nim, sglang, tgi, triton, vllm
from harness.servers.page import NotMetrics, Page

ADAPTERS: Final[dict[str, Adapter]] = {
    found.server: found
    for found in (
        vllm.ADAPTER, sglang.ADAPTER, tgi.ADAPTER, llama_cpp.ADAPTER, triton.ADAPTER, nim.ADAPTER,
    )
}  # fmt: skip
WANTED: Final = frozenset(name for adapter in ADAPTERS.values() for name in adapter.wanted)
"""The names of all series that any of them reads."""
_NAMES_SHOWN: Final = 3


def adapter_for(page: Page, server: str | None) -> Adapter:
    """The adapter of a page: that of the named server, or of the one that is recognised.

    Raises:
        NotMetrics: the page is of another server, or of none that is known.
    """
    known = ", ".join(ADAPTERS)
    if server is None:
        found = next((adapter for adapter in ADAPTERS.values() if adapter.recognises(page)), None)
        if found is None:
            raise NotMetrics(f"is of a server that is not known (its series: {_some(page)}); known are {known}")
        return found
    adapter = ADAPTERS[server]
    if not adapter.recognises(page):
        expected = " or ".join(f"{beginning}…" for beginning in adapter.recognised_by)
        raise NotMetrics(f"is not of {server}: it has no series {expected} (its series: {_some(page)}); known are {known}")
    return adapter


def _some(page: Page) -> str:
    names = sorted(page.names)
    return ", ".join(shorten(name, 60) for name in names[:_NAMES_SHOWN]) + (", …" if len(names) > _NAMES_SHOWN else "")
