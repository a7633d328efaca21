"""Spans as documents for the X-Ray daemon."""

import json
import socket
import subprocess
import sys

from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from skein.adapters.opentelemetry_tracer import (
    DATAGRAM_HEAD,
    OpenTelemetryTracer,
    XRayExporter,
    segment_document,
)
from skein.tracing import Span, trace_id_of, x_ray_id
from tests.support.builders import World

SEGMENT = Span("RunWorker", correlation_id="request-1", started_ns=10**18, ended_ns=2 * 10**18)
PART = Span("model", parent=SEGMENT, started_ns=10**18, ended_ns=2 * 10**18, failed=True)


def tracer(exporter: InMemorySpanExporter | XRayExporter) -> OpenTelemetryTracer:
    return OpenTelemetryTracer(exporter, percent=100, stack_name="skein-test")


def test_segment_document_has_the_fields_of_x_ray() -> None:
    exporter = InMemorySpanExporter()
    for span in (SEGMENT, PART):
        tracer(exporter).record(span)
    segment, part = map(segment_document, exporter.get_finished_spans())
    assert segment == {
        "name": "RunWorker",
        "id": SEGMENT.id,
        "trace_id": x_ray_id(trace_id_of("request-1")),
        "start_time": 10**9,
        "end_time": 2 * 10**9,
        "annotations": {"correlation_id": "request-1", "service": "skein-test"},
    }
    assert part["type"] == "subsegment"
    assert part["parent_id"] == SEGMENT.id
    assert part["trace_id"] == segment["trace_id"]
    assert part["fault"]


def test_exporter_sends_each_span_to_the_daemon() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
        daemon.bind(("127.0.0.1", 0))
        daemon.settimeout(5)
        exporter = XRayExporter(f"127.0.0.1:{daemon.getsockname()[1]}")
        tracer(exporter).record(SEGMENT)
        head, _, document = daemon.recv(65_535).partition(b"\n")
        exporter.shutdown()
    assert head + b"\n" == DATAGRAM_HEAD
    assert json.loads(document)["id"] == SEGMENT.id


def test_span_that_the_daemon_cannot_take_is_dropped() -> None:
    exporter = XRayExporter("127.0.0.1:1")
    exporter.shutdown()  # a closed socket refuses to send
    tracer(exporter).record(SEGMENT)


def test_tracing_is_off_by_default() -> None:
    assert World().app.ports.tracer is None


def test_library_is_not_imported_while_tracing_is_off() -> None:
    program = (
        "import sys; from skein.bootstrap import build_app, use;"
        "from skein.settings import Settings;"
        "use(build_app(Settings()));"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": "shared"},
    )
    assert done.stdout.strip() == "[]"
