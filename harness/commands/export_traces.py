"""`harness report RUN --export URL|FILE.pb`: a run as OpenTelemetry spans, sent to a receiver or written into a file."""

import json
import os
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from harness.errors import AgentError, UserError
from harness.files import write_whole
from harness.progress import RunProgress

AT_ONCE: Final = 512
"""Spans in one message, as OpenTelemetry's own exporters send."""
_TIMEOUT_S: Final = 10.0


def is_for_spans(export: str | None) -> bool:
    """True if a report's `--export` names a receiver or a file of spans, and no folder."""
    return export is not None and (export.endswith(".pb") or ":" in export)


def export_spans(run: Path, to: str, *, as_json: bool) -> None:
    """Send a run as spans to a receiver, or write them into a file: calls, turns, waits and their stages, without words."""
    from harness.store.run_store import RunStore
    from harness.traces.export import as_request, spans_of

    if ":" in to and not to.startswith(("http://", "https://")):
        raise UserError(
            f"--export {to}: an OTLP receiver over HTTP begins with http:// or https://, as in http://localhost:4318"
        )
    found = spans_of(RunStore.open(run))
    calls = sum(not span.parent for span in found)
    if ":" not in to:
        write_whole(Path(to), as_request(found))
    else:
        parts = [found[at : at + AT_ONCE] for at in range(0, len(found), AT_ONCE)]
        with RunProgress() as progress:
            progress.phase("Sending spans", len(parts))
            for part in parts:
                _send(to, as_request(part))
                progress.step(f"{len(part)} spans")
    if as_json:
        print(json.dumps({"schema": 1, "run": str(run), "calls": calls, "spans": len(found), "to": to}, indent=2))
    else:
        print(f"{len(found)} spans of {calls} call(s) sent to {to}")


def _send(to: str, message: bytes) -> None:
    import httpx2

    from harness.agents.this_machine import is_loopback

    address = to.rstrip("/") if to.rstrip("/").endswith("/v1/traces") else f"{to.rstrip('/')}/v1/traces"
    try:
        with httpx2.Client(timeout=_TIMEOUT_S, trust_env=not is_loopback(address)) as client:
            answer = client.post(address, content=message, headers={**_own_headers(), "Content-Type": "application/x-protobuf"})
    except httpx2.ConnectError as error:
        raise AgentError(f"{address}: nothing listens there; is the collector's OTLP receiver over HTTP on?") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise AgentError(f"{address}: the spans could not be sent: {error or type(error).__name__}") from error
    if not answer.is_success:
        raise AgentError(f"{address}: the receiver refused the spans (HTTP {answer.status_code})")


def _own_headers() -> dict[str, str]:
    """The headers that the collector asks for, from the variable that OpenTelemetry's exporters read."""
    pairs = (pair.partition("=") for pair in os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(","))
    return {name.strip(): unquote(value.strip()) for name, _, value in pairs if name.strip()}
