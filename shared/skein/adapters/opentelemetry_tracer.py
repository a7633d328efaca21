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
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from skein.tracing import Attribute, Span, is_sampled, x_ray_id

DAEMON_VARIABLE = "AWS_XRAY_DAEMON_ADDRESS"  # set by Lambda
DAEMON = "127.0.0.1:2000"
DATAGRAM_HEAD = b'{"format": "json", "version": 1}\n'
NANOSECONDS = 1_000_000_000
# The conventions (opentelemetry.io/docs/specs/semconv/gen-ai) are those of this version.
SCHEMA = "https://opentelemetry.io/schemas/1.44.0"
SCOPE = InstrumentationScope("skein", schema_url=SCHEMA)
OWN_NAME = "skein.span"  # the name in X-Ray
BEDROCK = frozenset({"bedrock", "converse"})
# Span -> its operation, and the attribute that the span's name ends with.
OPERATIONS = {
    "run": ("invoke_agent", "agent"),
    "model": ("chat", "model"),
    "tool": ("execute_tool", "tool"),
    "recall": ("retrieval", ""),
}
NAMES = {
    "agent": "gen_ai.agent.id",
    "chat": "gen_ai.conversation.id",
    "run": "skein.run.id",
    "model": "gen_ai.request.model",
    "answered_by": "gen_ai.response.model",
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cached_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_written_tokens": "gen_ai.usage.cache_creation.input_tokens",
    "fault": "skein.answer.fault",
    "tool": "gen_ai.tool.name",
    "call": "gen_ai.tool.call.id",
    "asked": "gen_ai.input.messages",
    "said": "gen_ai.output.messages",
}

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
        name, attributes = conventional(span)
        exported = ReadableSpan(
            name=name,
            context=_context(trace_id, span.id),
            parent=_context(trace_id, span.parent_id) if span.parent_id else None,
            resource=self._resource,
            attributes={
                "correlation_id": span.segment.correlation_id or "",
                OWN_NAME: span.name,
                **attributes,
            },
            kind=_kind(span),
            instrumentation_scope=SCOPE,
            status=Status(StatusCode.ERROR if span.failed else StatusCode.UNSET),
            start_time=span.started_ns,
            end_time=span.ended_ns,
        )
        if self._exporter.export([exported]) is not SpanExportResult.SUCCESS:
            logger.warning("failed to export a span")


def conventional(span: Span) -> tuple[str, dict[str, Attribute]]:
    """Return the name and the attributes of a span by the GenAI conventions of OpenTelemetry.

    A span to which the conventions do not apply keeps its name, and has no attributes.
    """
    operation, subject = OPERATIONS.get(span.name, ("", ""))
    if not operation:
        return span.name, {}
    given = span.attributes
    attributes = {NAMES[name]: value for name, value in given.items() if value and name in NAMES}
    model = str(given.get("model", ""))
    if model:
        attributes["gen_ai.provider.name"] = _provider(model)
    attributes["gen_ai.operation.name"] = operation
    return f"{operation} {given.get(subject, '')}".strip(), attributes


def _provider(model: str) -> str:
    return "aws.bedrock" if model.partition("/")[0] in BEDROCK else "openai"


def _kind(span: Span) -> SpanKind:
    if span.parent is None:
        return SpanKind.SERVER
    return SpanKind.CLIENT if span.name == "model" else SpanKind.INTERNAL


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
    context, parent, attributes = span.get_span_context(), span.parent, span.attributes or {}
    if context is None:
        raise ValueError("a span needs a context")
    document: dict[str, Any] = {
        "name": str(attributes[OWN_NAME]),
        "id": f"{context.span_id:016x}",
        "trace_id": x_ray_id(f"{context.trace_id:032x}"),
        "start_time": (span.start_time or 0) / NANOSECONDS,
        "end_time": (span.end_time or 0) / NANOSECONDS,
        "annotations": {
            "correlation_id": str(attributes["correlation_id"]),
            "service": str(span.resource.attributes["service.name"]),
        },
    }
    if parent is not None:
        document["parent_id"] = f"{parent.span_id:016x}"
    if span.kind is not SpanKind.SERVER:
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
