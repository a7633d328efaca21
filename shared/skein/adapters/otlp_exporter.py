"""An exporter that sends spans by OTLP over HTTP, as JSON; imported only if an endpoint is set.

The spans of a segment are sent together when the segment ends. The format:
https://opentelemetry.io/docs/specs/otlp/#otlphttp
"""

import json
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import urllib3
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind
from opentelemetry.trace.status import StatusCode

from skein.errors import SkeinError

PATH = "/v1/traces"
SECONDS = 2.0  # an invocation ends this much later at most if the receiver does not answer
MOST_KEPT = 500
KINDS = {SpanKind.INTERNAL: 1, SpanKind.SERVER: 2, SpanKind.CLIENT: 3}
ACCEPTED = 300
ERROR = 2

logger = logging.getLogger(__name__)


class OtlpExporter(SpanExporter):
    """`SpanExporter` for any receiver of OTLP, such as a collector or Langfuse.

    Args:
        endpoint: The base URL; `/v1/traces` is added.
        headers: Returns the headers that authenticate Skein to the receiver.
    """

    def __init__(self, endpoint: str, *, headers: Callable[[], Mapping[str, str]]) -> None:
        self._url = endpoint.rstrip("/") + PATH
        self._headers = headers
        self._pool = urllib3.PoolManager(retries=False, timeout=SECONDS)
        self._kept: list[ReadableSpan] = []
        self._lock = threading.Lock()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Keep spans until their segment ends, then send them; spans that are not sent are lost."""
        with self._lock:
            self._kept = [*self._kept, *spans][-MOST_KEPT:]
            if all(span.kind is not SpanKind.SERVER for span in spans):
                return SpanExportResult.SUCCESS
            sent, self._kept = self._kept, []
        return self._sent(sent)

    def _sent(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            response = self._pool.request(
                "POST",
                self._url,
                body=json.dumps(payload(spans)).encode(),
                headers={"content-type": "application/json", **self._headers()},
            )
        except (urllib3.exceptions.HTTPError, SkeinError):
            return SpanExportResult.FAILURE
        accepted = response.status < ACCEPTED
        return SpanExportResult.SUCCESS if accepted else SpanExportResult.FAILURE

    def shutdown(self) -> None:
        self._pool.clear()


def payload(spans: Sequence[ReadableSpan]) -> dict[str, Any]:
    """Return spans of one resource and scope as an OTLP request."""
    first = spans[0]
    scope: dict[str, Any] = {"spans": [_span(span) for span in spans]}
    if first.instrumentation_scope is not None:
        scope["scope"] = {"name": first.instrumentation_scope.name}
        scope["schemaUrl"] = first.instrumentation_scope.schema_url
    resource = {"attributes": _attributes(first.resource.attributes)}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}


def _span(span: ReadableSpan) -> dict[str, Any]:
    context = span.get_span_context()
    if context is None:
        raise ValueError("a span needs a context")
    made: dict[str, Any] = {
        "traceId": f"{context.trace_id:032x}",
        "spanId": f"{context.span_id:016x}",
        "name": span.name,
        "kind": KINDS[span.kind],
        "startTimeUnixNano": str(span.start_time or 0),
        "endTimeUnixNano": str(span.end_time or 0),
        "attributes": _attributes(span.attributes or {}),
    }
    if span.parent is not None:
        made["parentSpanId"] = f"{span.parent.span_id:016x}"
    if span.status.status_code is StatusCode.ERROR:
        made["status"] = {"code": ERROR}
    return made


def _attributes(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in attributes.items()]


def _value(value: object) -> dict[str, str]:
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": str(value)}
