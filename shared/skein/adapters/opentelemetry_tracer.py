"""A tracer on OpenTelemetry, whose spans any OpenTelemetry exporter can send.

The exporter of this module sends spans to the X-Ray daemon, which Lambda runs beside a function
with active tracing. The exporter sends one UDP datagram per span and does not wait for a response.
The format: https://docs.aws.amazon.com/xray/latest/devguide/xray-api-segmentdocuments.html
"""

import json
import logging
import os
import socket
from collections.abc import Sequence
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from skein.tracing import Span, is_sampled, x_ray_id

DAEMON_VARIABLE = "AWS_XRAY_DAEMON_ADDRESS"  # set by Lambda
DAEMON = "127.0.0.1:2000"
DATAGRAM_HEAD = b'{"format": "json", "version": 1}\n'
NANOSECONDS = 1_000_000_000

logger = logging.getLogger(__name__)


class OpenTelemetryTracer:
    """`Tracer` that hands OpenTelemetry spans to an exporter.

    Args:
        exporter: Any exporter of OpenTelemetry.
        percent: The share of traces that are recorded, from 0 to 100.
        stack_name: The name of the stack, which becomes the service of each span.
    """

    def __init__(self, exporter: SpanExporter, *, percent: float, stack_name: str) -> None:
        self._exporter = exporter
        self._percent = percent
        self._resource = Resource({"service.name": stack_name})

    def sampled(self, trace_id: str) -> bool:
        return is_sampled(trace_id, self._percent)

    def record(self, span: Span) -> None:
        """See `skein.tracing.Tracer`; a span that cannot be exported is dropped."""
        trace_id = span.trace_id
        if trace_id is None:
            return
        exported = ReadableSpan(
            name=span.name,
            context=_context(trace_id, span.id),
            parent=_context(trace_id, span.parent_id) if span.parent_id else None,
            resource=self._resource,
            attributes={"correlation_id": span.segment.correlation_id or ""},
            kind=SpanKind.INTERNAL if span.parent is not None else SpanKind.SERVER,
            status=Status(StatusCode.ERROR if span.failed else StatusCode.UNSET),
            start_time=span.started_ns,
            end_time=span.ended_ns,
        )
        if self._exporter.export([exported]) is not SpanExportResult.SUCCESS:
            logger.warning("failed to export a span")


class XRayExporter(SpanExporter):
    """Exporter that sends each span to the X-Ray daemon.

    Args:
        address: The daemon as `host:port`; None for the address that Lambda names.
    """

    def __init__(self, address: str | None = None) -> None:
        host, _, port = (address or os.environ.get(DAEMON_VARIABLE) or DAEMON).rpartition(":")
        self._address = (host, int(port))
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.settimeout(0)  # never waits

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send the segment document of each span; a span that cannot be sent is lost."""
        try:
            for span in spans:
                document = json.dumps(segment_document(span)).encode()
                self._socket.sendto(DATAGRAM_HEAD + document, self._address)
        except OSError:
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self._socket.close()


def segment_document(span: ReadableSpan) -> dict[str, Any]:
    """Return a span as X-Ray's segment document; a span inside another becomes a subsegment."""
    context, parent = span.get_span_context(), span.parent
    if context is None:
        raise ValueError("a span needs a context")
    document: dict[str, Any] = {
        "name": span.name,
        "id": f"{context.span_id:016x}",
        "trace_id": x_ray_id(f"{context.trace_id:032x}"),
        "start_time": (span.start_time or 0) / NANOSECONDS,
        "end_time": (span.end_time or 0) / NANOSECONDS,
        "annotations": dict(span.attributes or {})
        | {"service": str(span.resource.attributes["service.name"])},
    }
    if parent is not None:
        document["parent_id"] = f"{parent.span_id:016x}"
    if span.kind is SpanKind.INTERNAL:
        document["type"] = "subsegment"
    if span.status.status_code is StatusCode.ERROR:
        document["fault"] = True
    return document


def _context(trace_id: str, span_id: str) -> SpanContext:
    return SpanContext(
        trace_id=int(trace_id, 16),
        span_id=int(span_id, 16),
        is_remote=False,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )
