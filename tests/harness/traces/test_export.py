"""A run as spans: sent to a receiver that OpenTelemetry's own exporters use, and read back."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from harness.commands.export_traces import export_spans
from harness.errors import AgentError, UserError
from harness.store.run_store import RunStore
from harness.timeline import NS_PER_MS
from harness.traces.export import as_request, spans_of
from harness.traces.receiver import SpanReceiver
from tests.harness.conftest import Finished
from tests.harness.measuring.test_remeasure import store

__all__ = ["store"]


@pytest.fixture
def receiver() -> Iterator[SpanReceiver]:
    made = SpanReceiver()
    made.open()
    yield made
    made.close()


def test_a_call_holds_its_turn_its_wait_and_the_stages_of_it(store: RunStore) -> None:
    found = spans_of(store)
    assert [span.name for span in found] == ["call", "caller_turn", "wait", "stage.unexplained", "reply"] * 2
    by_id = {span.id: span for span in found}
    assert len(by_id) == len(found)
    for span in found:
        if span.parent:
            around = by_id[span.parent]
            assert around.trace == span.trace
            assert around.start_ns <= span.start_ns <= span.end_ns <= around.end_ns
    timing = store.sessions()[-1].turn_timings[0]
    assert timing.ttfa_ms is not None
    wait = [span for span in found if span.name == "wait"][-1]
    assert wait.end_ns - wait.start_ns == pytest.approx(timing.ttfa_ms * NS_PER_MS, abs=2)
    assert wait.attributes["heart.ttfa_ms"] == timing.ttfa_ms
    # The same run gives the same spans, and none of its words.
    assert as_request(spans_of(store)) == as_request(found)
    assert b"don't know" not in as_request(found)


def test_a_receiver_takes_them_and_a_file_holds_them(
    store: RunStore,
    receiver: SpanReceiver,
    harness_here: Callable[..., Finished],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = store.folder
    environment = receiver.environment("harness")
    url = environment["OTEL_EXPORTER_OTLP_ENDPOINT"]
    refused = harness_here("report", run, "--export", url)
    assert refused.code == 3
    assert "(HTTP 401)" in refused.err
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", environment["OTEL_EXPORTER_OTLP_HEADERS"])
    done = harness_here("report", run, "--export", url, "--json")
    assert done.code == 0, done.err
    assert (done.json["spans"], done.json["calls"]) == (10, 2)
    came = receiver.between("harness", -(2**62), 2**62)
    assert sorted(span.name for span in came) == sorted(span.name for span in spans_of(store))

    file = tmp_path / "spans.pb"
    assert harness_here("report", run, "--export", file).code == 0
    message = ExportTraceServiceRequest.FromString(file.read_bytes())
    assert len(message.resource_spans[0].scope_spans[0].spans) == 10

    receiver.close()
    assert "--bundle: does not go with --export" in harness_here("report", run, "--export", file, "--bundle").err
    with pytest.raises(UserError, match="begins with http://"):
        export_spans(store.folder, "localhost:4317", as_json=False)
    with pytest.raises(AgentError, match="nothing listens there"):
        export_spans(store.folder, url, as_json=False)
