"""The OTLP receiver, sent to by OpenTelemetry's own exporter, and by whoever sends something else."""

import gzip
import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from harness.agents.secrets import redact
from harness.recording.span_file import SPANS_FILE, load_spans, save_spans
from harness.traces import receiver as span_receiver
from harness.traces.export import RunSpan, as_request
from harness.traces.receiver import SpanReceiver
from harness.traces.receiver_grpc import EXPORT


@pytest.fixture
def receiver() -> Iterator[SpanReceiver]:
    made = SpanReceiver()
    made.open()
    yield made
    made.close()


def headers(receiver: SpanReceiver, agent: str) -> dict[str, str]:
    """The headers that an agent's exporter takes from its environment."""
    pairs = receiver.environment(agent)["OTEL_EXPORTER_OTLP_HEADERS"].split(",")
    return dict(pair.split("=", 1) for pair in pairs)


def post(url: str, body: bytes, **headers: str) -> int:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, named), timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code


@pytest.mark.parametrize("packed", [Compression.NoCompression, Compression.Gzip])
def test_an_exporter_that_is_told_by_the_environment_reaches_it(
    packed: Compression, receiver: SpanReceiver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in receiver.environment("my-bot").items():
        monkeypatch.setenv(name, value)
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(compression=packed)))
    before_ns = time.monotonic_ns()
    with provider.get_tracer("test").start_as_current_span("llm") as span:
        span.set_attribute("metrics.ttfb", 0.25)
        span.set_attribute("input", "what somebody in distress said")
        time.sleep(0.05)
    provider.shutdown()
    (found,) = receiver.between("my-bot", before_ns, time.monotonic_ns())
    assert found.name == "llm"
    assert dict(found.attributes) == {"metrics.ttfb": 0.25}
    assert 50e6 <= found.end_ns - found.start_ns < 5e9
    assert abs(found.start_ns - before_ns) < 1e9
    assert receiver.between("another", 0, 2**62) == ()
    assert receiver.between("my-bot", 0, before_ns - 1_000_000_000) == ()
    save_spans([found], tmp_path)
    assert load_spans(tmp_path) == (found,)
    assert "distress" not in (tmp_path / SPANS_FILE).read_text()


def test_an_exporter_over_grpc_is_told_by_the_same_variables_and_reaches_the_same_port(
    receiver: SpanReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in receiver.environment("my-bot").items():
        monkeypatch.setenv(name, value)
    before_ns = time.monotonic_ns()
    exporter = GrpcExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    for k in range(3):
        with provider.get_tracer("test").start_as_current_span("llm") as span:
            span.set_attribute("metrics.ttfb", 0.1 + k)
    provider.shutdown()
    found = receiver.between("my-bot", before_ns, time.monotonic_ns())
    assert [dict(span.attributes) for span in found] == [{"metrics.ttfb": 0.1 + k} for k in range(3)]
    assert receiver.between("another", 0, 2**62) == ()
    # What is no message is refused, and HTTP goes on beside it.
    with grpc.insecure_channel(exporter._endpoint) as channel:
        known = tuple(headers(receiver, "my-bot").items())
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(EXPORT)(b"\xff\xffrubbish", timeout=5, metadata=known)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        for unknown in ((), (("x-harness-agent", "my-bot"),), (("x-harness-agent", "another"), known[1])):
            with pytest.raises(grpc.RpcError) as caught:
                channel.unary_unary(EXPORT)(b"", timeout=5, metadata=unknown)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary("/no.such.Service/Method")(b"", timeout=5)
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    url = receiver.environment("my-bot")["OTEL_EXPORTER_OTLP_ENDPOINT"]
    assert post(f"{url}/v1/metrics", b"", Content_Type="application/x-protobuf", **headers(receiver, "my-bot")) == 200


def test_spans_without_the_agent_s_own_token_are_refused_and_the_token_is_shown_to_nobody(receiver: SpanReceiver) -> None:
    message = as_request([RunSpan(bytes(16), bytes(8), b"", "llm", time.time_ns(), time.time_ns())])
    url = receiver.environment("my-bot")["OTEL_EXPORTER_OTLP_ENDPOINT"]
    protobuf = {"Content_Type": "application/x-protobuf"}
    token = headers(receiver, "my-bot")["x-harness-token"]
    assert post(f"{url}/v1/traces", message, **protobuf) == 401
    assert post(f"{url}/v1/traces", message, **protobuf, x_harness_token=token[:-1]) == 401
    assert post(f"{url}/v1/traces", message, **protobuf, **headers(receiver, "another")) == 401
    assert post(f"{url}/v1/metrics", b"", **protobuf) == 401
    assert receiver.between("my-bot", 0, 2**62) == ()
    assert post(f"{url}/v1/traces", message, **protobuf, **headers(receiver, "my-bot")) == 200
    assert len(receiver.between("my-bot", 0, 2**62)) == 1
    assert token not in redact(f"exporting with x-harness-token: {token} failed")


def test_whatever_else_is_sent_is_refused_and_harms_nothing(receiver: SpanReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    url = receiver.environment("my-bot")["OTEL_EXPORTER_OTLP_ENDPOINT"]
    protobuf = {"Content_Type": "application/x-protobuf", **headers(receiver, "my-bot")}
    assert post(f"{url}/v1/traces", b"\xff\xffrubbish", **protobuf) == 400
    assert post(f"{url}/v1/traces", gzip.compress(b"\xff"), **protobuf, Content_Encoding="gzip") == 400
    assert post(f"{url}/v1/traces", b"no gzip", **protobuf, Content_Encoding="gzip") == 400
    assert post(f"{url}/v1/traces", json.dumps({}).encode(), **{**protobuf, "Content_Type": "application/json"}) == 415
    assert post(f"{url}/v1/metrics", b"", **protobuf) == 200
    assert post(f"{url}/elsewhere", b"", **protobuf) == 404
    monkeypatch.setattr(span_receiver, "MOST_BYTES", 1_000)
    assert post(f"{url}/v1/traces", gzip.compress(bytes(100_000)), **protobuf, Content_Encoding="gzip") == 400
    assert post(f"{url}/v1/traces", bytes(2_000), **protobuf) == 413
    assert receiver.between("my-bot", 0, 2**62) == ()


def test_a_receiver_that_is_not_open_tells_nobody_anything() -> None:
    receiver = SpanReceiver()
    assert receiver.environment("my-bot") == {}
    receiver.close()


def test_a_closed_receiver_takes_nothing_over_either_protocol() -> None:
    receiver = SpanReceiver()
    receiver.open()
    server = receiver._server
    assert server is not None
    assert server.grpc is not None
    ports = (server.server_port, server.grpc.port)
    receiver.close()
    for port in ports:
        with pytest.raises(OSError, match="refused"), socket.create_connection(("127.0.0.1", port), timeout=5):
            pass
    receiver.close()
