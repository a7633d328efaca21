"""One trace covers the way of a text from the webhook to the answer on the phone."""

from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import sms_webhook
from skein.adapters.opentelemetry_tracer import OpenTelemetryTracer
from skein.bootstrap.wiring import App
from skein.tracing import trace_id_of
from tests.faults.texting_story import SMS_SETTINGS, TEXT, SmsLine


def own_name(span: ReadableSpan) -> str:
    """Return the name that Skein gives a span, which exporters replace by a conventional one."""
    return str((span.attributes or {})["skein.span"])


class TracedLine(SmsLine):
    """A line whose spans are kept in memory."""

    def __init__(self, percent: float = 100) -> None:
        self.exporter = InMemorySpanExporter()
        self.percent = percent
        super().__init__(SMS_SETTINGS.model_copy(update={"trace_percent": percent}))

    def _cold_start(self) -> App:
        app = super()._cold_start()
        tracer = OpenTelemetryTracer(self.exporter, percent=self.percent, stack_name="skein-test")
        vars(app.ports)["tracer"] = tracer
        return app

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        return self.exporter.get_finished_spans()

    def trace_ids(self, name: str) -> set[str]:
        return {
            f"{span.context.trace_id:032x}"
            for span in self.spans
            if own_name(span) == name and span.context is not None
        }


def test_text_and_its_answer_are_one_trace() -> None:
    line = TracedLine()
    line.tell()
    line.check()
    assert line.chat_id is not None
    asked, answer = line.messages(line.chat_id)
    assert asked.correlation_id == answer.correlation_id
    [expected] = {trace_id_of(str(asked.correlation_id))}
    for name in ("SmsWebhook", "post", "RunWorker", "model", "SmsDelivery", "twilio"):
        assert line.trace_ids(name) == {expected}, name


def test_part_of_a_segment_names_the_segment_as_its_parent() -> None:
    line = TracedLine()
    line.tell()
    ids = {span.context.span_id: span for span in line.spans if span.context is not None}
    parts = {"model": "run", "run": "RunWorker", "twilio": "SmsDelivery"}
    for span in line.spans:
        if own_name(span) in parts:
            assert span.parent is not None
            assert own_name(ids[span.parent.span_id]) == parts[own_name(span)]
    assert {own_name(span) for span in line.spans} >= parts.keys()


def test_words_of_private_chats_are_in_no_trace() -> None:
    for content in (True, False):
        line = TracedLine()
        line.app.ports.settings.__dict__["otlp_content"] = content
        line.tell()
        told = [name for span in line.spans for name in span.attributes or {}]
        assert "gen_ai.usage.input_tokens" in told
        assert "gen_ai.input.messages" not in told


def test_run_that_the_tick_resumes_keeps_its_trace() -> None:
    line = TracedLine()
    line.webhook(sms_webhook, TEXT.signed())
    line.clock.advance(10)
    assert line.queues.ready("turns")  # the job is lost
    line.live()
    line.check()
    assert line.trace_ids("RunWorker") == line.trace_ids("SmsWebhook")
    assert line.trace_ids("twilio") == line.trace_ids("SmsWebhook")


def test_trace_that_is_not_sampled_is_recorded_by_no_function() -> None:
    line = TracedLine(percent=0)
    line.tell()
    assert not line.spans
