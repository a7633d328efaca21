"""Segments and parts of a trace, and the trace header of jobs."""

from collections.abc import Iterator
from typing import Any

import pytest

from skein import tracing
from skein.adapters.aws.sqs import SqsQueues
from skein.bootstrap.job_handlers import process
from skein.correlation import correlated, follow
from skein.models.outbox.jobs import RunJob
from skein.tracing import Span, trace_id_of, x_ray_id
from tests.support.api_client import recorded
from tests.support.aws_shapes import checked
from tests.support.builders import TENANT

WORK = "request-1"


class Recorder:
    """Keeps spans; records every trace."""

    def __init__(self) -> None:
        self.spans: list[Span] = []

    def sampled(self, trace_id: str) -> bool:
        return bool(trace_id)

    def record(self, span: Span) -> None:
        self.spans.append(span)


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    tracing.use(recorder)
    yield recorder
    tracing.use(None)


def test_work_with_a_correlation_id_is_a_segment_with_parts(recorder: Recorder) -> None:
    with correlated(WORK), tracing.span("post"):
        pass
    part, segment = recorder.spans
    assert (part.name, part.parent_id) == ("post", segment.id)
    assert part.trace_id == segment.trace_id == trace_id_of(WORK)
    assert segment.ended_ns is not None
    assert segment.ended_ns >= segment.started_ns


def test_segment_whose_id_is_known_later_has_its_trace(recorder: Recorder) -> None:
    with correlated():
        follow(WORK)
    [segment] = recorder.spans
    assert segment.trace_id == trace_id_of(WORK)


def test_work_without_a_correlation_id_is_not_recorded(recorder: Recorder) -> None:
    with correlated():
        assert tracing.header() is None
    with tracing.span("model"):
        pass
    assert recorder.spans == []


def test_span_that_an_error_leaves_is_failed(recorder: Recorder) -> None:
    with pytest.raises(ValueError, match="no"), correlated(WORK), tracing.span("model"):
        raise ValueError("no")
    assert [span.failed for span in recorder.spans] == [True, True]


def test_segment_of_a_job_names_the_segment_that_sent_the_job(recorder: Recorder) -> None:
    with correlated(WORK):
        header = tracing.header()
    sender = recorder.spans[0]
    assert header == f"Root={x_ray_id(trace_id_of(WORK))};Parent={sender.id};Sampled=1"
    with tracing.received(header), correlated():
        follow(WORK)
    assert recorder.spans[1].parent_id == sender.id


def test_segment_of_a_job_from_another_trace_has_no_parent(recorder: Recorder) -> None:
    with correlated("request-2"):
        header = tracing.header()
    with tracing.received(header), correlated(WORK):
        pass
    assert recorder.spans[1].parent_id is None


def test_tracing_that_is_off_has_no_header() -> None:
    with correlated(WORK), tracing.span("model"):
        assert tracing.header() is None


def test_sampled_share_is_about_the_percentage() -> None:
    ids = [trace_id_of(f"request-{number}") for number in range(4_000)]
    sampled = [one for one in ids if tracing.is_sampled(one, 25)]
    assert 800 < len(sampled) < 1_200
    assert all(tracing.is_sampled(one, 100) for one in ids)
    assert not any(tracing.is_sampled(one, 0) for one in ids)


class SqsClient:
    """Keeps the messages of each batch."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []

    def send_message_batch(self, **batch: Any) -> dict[str, Any]:
        self.entries.extend(batch["Entries"])
        taken = [
            {"Id": each["Id"], "MessageId": "1", "MD5OfMessageBody": ""}
            for each in batch["Entries"]
        ]
        return {"Successful": taken, "Failed": []}


def test_job_that_is_sent_in_a_trace_has_the_header_as_a_system_attribute(
    recorder: Recorder,
) -> None:
    client = SqsClient()
    queues = SqsQueues(checked("sqs", client), {"turns": "url"})
    job = RunJob(tenant=TENANT, run_id="run_1", agent_id="agt_a")
    queues.send([job])
    with correlated(WORK):
        header = tracing.header()
        queues.send([job])
    plain, traced = client.entries
    assert "MessageSystemAttributes" not in plain
    value = {"DataType": "String", "StringValue": header}
    assert traced["MessageSystemAttributes"] == {"AWSTraceHeader": value}
    assert traced["MessageBody"] == plain["MessageBody"]


def test_worker_continues_the_trace_of_its_message(recorder: Recorder) -> None:
    header = f"Root={x_ray_id(trace_id_of(WORK))};Parent=00000000000000aa;Sampled=1"
    event = recorded("run_worker")
    event["Records"] = [event["Records"][0]]
    event["Records"][0]["attributes"]["AWSTraceHeader"] = header

    def handle(job: RunJob) -> None:
        with correlated(WORK):
            assert job.run_id

    assert process(event, [RunJob], handle) == {"batchItemFailures": []}
    assert recorder.spans[0].parent_id == "00000000000000aa"
