"""Jobs arrive as they were sent, on the queues in memory and on SQS."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast, get_args

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError
from moto import mock_aws

from local.polling.inbox import Held, PolledQueue
from local.sqlite.database import Database
from local.sqlite.queues import SqliteInbox, SqliteQueues
from local.template import Queue, QueueSource
from skein.adapters.aws.clients import Aws
from skein.adapters.aws.sqs import BATCH_JOBS, SqsQueues, group_of, sqs_client
from skein.bootstrap.job_handlers import parsed
from skein.errors import Ambiguous, Throttled, Transient, Unavailable
from skein.models.outbox.jobs import (
    ConsentJob,
    ConsolidationJob,
    DeliveryJob,
    ErasureJob,
    EventJob,
    ForgettingJob,
    InvitationJob,
    Job,
    LiveEvent,
    MediaJob,
    PushJob,
    QueueName,
    RecallJob,
    ReflectionJob,
    RunJob,
    SummaryJob,
    UpkeepJob,
)
from skein.ports import Queues
from skein.settings import Settings
from tests.fakes.system import FixedClock, MemoryQueues
from tests.support.aws_shapes import checked
from tests.support.functions import a_function

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

KINDS: dict[QueueName, tuple[type[Job], ...]] = {
    "turns": (RunJob, ConsentJob, InvitationJob),
    "deliveries": (DeliveryJob,),
    "upkeep": (UpkeepJob, SummaryJob, RecallJob),
    "media": (MediaJob,),
    "events": (EventJob,),
    "background": (ConsolidationJob, ReflectionJob, ErasureJob, ForgettingJob),
    "pushes": (PushJob,),
}
NAMES: tuple[QueueName, ...] = get_args(QueueName)
BATCH_BYTES = 256 * 1024


class Receiving(Protocol):
    """Queues whose jobs a test can look at."""

    @property
    def queues(self) -> Queues: ...

    def received(self, queue: QueueName) -> list[Job]: ...

    def delayed(self, queue: QueueName) -> int: ...


class InMemory:
    def __init__(self, clock: FixedClock) -> None:
        self.queues = MemoryQueues(clock)

    def received(self, queue: QueueName) -> list[Job]:
        return list(self.queues.ready(queue))

    def delayed(self, queue: QueueName) -> int:
        return len(self.queues.waiting(queue))


class OnSqlite:
    def __init__(self, clock: FixedClock, path: Path) -> None:
        self.database = database = Database(path)
        database.create()
        names: dict[str, str] = {name: name.title() for name in NAMES}
        self.queues = SqliteQueues(database, clock, names)
        self._clock = clock
        self._sources = {name: source(name.title()) for name in NAMES}
        self._inbox = SqliteInbox(database, sources=list(self._sources.values()), clock=clock)

    def take(self, queue: QueueName) -> list[Held]:
        return self._inbox.take(self._sources[queue])

    def received(self, queue: QueueName) -> list[Job]:
        jobs: list[Job] = []
        while batch := self.take(queue):
            jobs += [parsed(held.message.body, KINDS[queue]) for held in batch]
            for held in batch:
                self._inbox.succeed(held)
        return jobs

    def delayed(self, queue: QueueName) -> int:
        due = self._inbox.next_due()
        return int(due is not None and due > self._clock.now())


def source(name: str) -> PolledQueue:
    settings = QueueSource(name, 10, partial_failures=True, concurrency=None)
    function = a_function(name, queues=(settings,))
    return PolledQueue(Queue(name, 0, 360, 3, None), function, settings)


class OnSqs:
    def __init__(self, client: "SQSClient") -> None:
        self.client = client
        self.urls: dict[str, str] = {
            name: client.create_queue(QueueName=name)["QueueUrl"] for name in NAMES
        }
        self.queues = SqsQueues(client, self.urls)

    def received(self, queue: QueueName) -> list[Job]:
        jobs: list[Job] = []
        while messages := self._receive(queue):
            jobs += [parsed(message["Body"], KINDS[queue]) for message in messages]
        return jobs

    def delayed(self, queue: QueueName) -> int:
        found = self.client.get_queue_attributes(
            QueueUrl=self.urls[queue], AttributeNames=["ApproximateNumberOfMessagesDelayed"]
        )
        return int(found["Attributes"]["ApproximateNumberOfMessagesDelayed"])

    def _receive(self, queue: QueueName) -> list[Any]:
        response = self.client.receive_message(QueueUrl=self.urls[queue], MaxNumberOfMessages=10)
        return list(response.get("Messages", ()))


@pytest.fixture
def sqs(monkeypatch: pytest.MonkeyPatch) -> Iterator["SQSClient"]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        client = sqs_client(Aws(Settings()))
        yield client
        client.close()


@pytest.fixture(params=["memory", "sqlite", "moto"])
def receiving(request: pytest.FixtureRequest, clock: FixedClock) -> Iterator[Receiving]:
    if request.param == "memory":
        yield InMemory(clock)
    elif request.param == "sqlite":
        on_sqlite = OnSqlite(clock, request.getfixturevalue("tmp_path") / "queues.db")
        yield on_sqlite
        on_sqlite.database.close()
    else:
        yield OnSqs(request.getfixturevalue("sqs"))


def run_job(number: int = 1) -> RunJob:
    return RunJob(tenant="demo", run_id=f"run_{number}", agent_id="agt_1")


def test_a_job_arrives_on_its_own_queue_and_once(receiving: Receiving) -> None:
    jobs: dict[QueueName, list[Job]] = {
        "turns": [
            run_job(),
            ConsentJob(tenant="demo", user_id="usr_1", consent_id="cns_1"),
            InvitationJob(tenant="demo", user_id="usr_1"),
        ],
        "deliveries": [DeliveryJob(tenant="demo", chat_id="chat_1", delivery_id="dlv_1")],
        "upkeep": [
            UpkeepJob(tenant='d"é\u2028😀', chat_id="chat\x00_1"),
            SummaryJob(tenant="demo", chat_id="chat_1", agent_id=None),
            RecallJob(tenant="demo", chat_id="chat_1", first_seq=8, last_seq=9),
        ],
        "media": [MediaJob(tenant="demo", chat_id="chat_1", media_id="med_1")],
        "events": [EventJob(tenant="demo", endpoint_id="evp_1", lane="chat_1")],
        "background": [
            ConsolidationJob(tenant="demo", chat_id="chat_1"),
            ErasureJob(tenant="demo", erasure_id="era_1"),
            ForgettingJob(tenant="demo", user_id="usr_1", forgetting_id="msg_1"),
            ReflectionJob(tenant="demo", agent_id="agt_1", scope="user:usr_1"),
        ],
        "pushes": [PushJob(tenant="demo", chat_id="chat_1", events=(LiveEvent(type="chat"),))],
    }
    for each in jobs.values():
        receiving.queues.send(each)
    found = {name: receiving.received(name) for name in NAMES}
    assert {name: {*got} for name, got in found.items()} == {n: {*js} for n, js in jobs.items()}
    assert {name: len(got) for name, got in found.items()} == {n: len(js) for n, js in jobs.items()}
    assert {name: receiving.received(name) for name in NAMES} == {n: [] for n in jobs}


def test_more_jobs_than_a_batch_holds_all_arrive(receiving: Receiving) -> None:
    jobs = [run_job(number) for number in range(23)]
    receiving.queues.send(jobs)
    received = cast("list[RunJob]", receiving.received("turns"))
    assert sorted(received, key=lambda job: int(job.run_id[4:])) == jobs


def test_the_same_job_can_be_sent_twice(receiving: Receiving) -> None:
    receiving.queues.send([run_job(), run_job()])
    receiving.queues.send([run_job()])
    assert receiving.received("turns") == [run_job()] * 3


def test_delayed_job_is_not_received_before_its_delay(receiving: Receiving) -> None:
    receiving.queues.send([run_job()], delay_seconds=60)
    receiving.queues.send([run_job(2)])
    assert receiving.received("turns") == [run_job(2)]
    assert receiving.delayed("turns") == 1


@pytest.mark.parametrize("where", ["memory", "sqlite"])
def test_jobs_of_two_tenants_arrive_in_turn(where: str, clock: FixedClock, tmp_path: Path) -> None:
    receiving = InMemory(clock) if where == "memory" else OnSqlite(clock, tmp_path / "queues.db")
    receiving.queues.send([run_job(number) for number in range(3)])
    late = [run_job(number).model_copy(update={"tenant": "quiet"}) for number in range(2)]
    receiving.queues.send(late)
    order = [job.tenant for job in receiving.received("turns")]
    assert order == ["demo", "quiet", "demo", "quiet", "demo"]


def test_tenant_with_messages_at_work_is_behind_an_idle_tenant(
    clock: FixedClock, tmp_path: Path
) -> None:
    on_sqlite = OnSqlite(clock, tmp_path / "queues.db")
    on_sqlite.queues.send([run_job(number) for number in range(12)])
    at_work = on_sqlite.take("turns")
    assert len(at_work) == BATCH_JOBS
    on_sqlite.queues.send([run_job(99).model_copy(update={"tenant": "quiet"})])
    tenants = [json.loads(held.message.body)["tenant"] for held in on_sqlite.take("turns")]
    assert tenants == ["quiet", "demo", "demo"]


def test_sending_no_jobs_is_no_error(receiving: Receiving) -> None:
    receiving.queues.send([])


def test_jobs_of_several_kinds_are_refused(receiving: Receiving) -> None:
    with pytest.raises(ValueError, match="different kinds"):
        receiving.queues.send([run_job(), UpkeepJob(tenant="demo", chat_id="chat_1")])
    assert [receiving.received(name) for name in NAMES] == [[]] * len(NAMES)


@pytest.mark.parametrize("seconds", [-1, 901])
def test_a_delay_that_sqs_does_not_have_is_refused(receiving: Receiving, seconds: int) -> None:
    with pytest.raises(ValueError, match="delay"):
        receiving.queues.send([run_job()], delay_seconds=seconds)


def test_in_memory_a_delay_ends_when_the_clock_is_turned(clock: FixedClock) -> None:
    queues = MemoryQueues(clock)
    queues.send([run_job(1)], delay_seconds=60)
    queues.send([run_job(2)], delay_seconds=30)
    clock.advance(59)
    assert queues.ready("turns") == (run_job(2),)
    clock.advance(1)
    assert queues.ready("turns") == (run_job(1),)
    assert [waiting.job for waiting in queues.sent] == [run_job(1), run_job(2)]


def test_ten_of_the_largest_jobs_fit_a_batch() -> None:
    longest = "\x01" * 128
    job = RunJob(tenant=longest[:64], run_id=longest, agent_id=longest)
    assert 10 * len(job.model_dump_json().encode()) < BATCH_BYTES


class RefusingClient:
    """Refuses some entries of each batch it is offered, in turn."""

    def __init__(self, *refusals: set[str] | Exception) -> None:
        self.offered: list[list[str]] = []
        self._refusals = list(refusals)

    def send_message_batch(
        self,
        QueueUrl: str,  # noqa: N803
        Entries: list[dict[str, Any]],  # noqa: N803
    ) -> dict[str, Any]:
        assert QueueUrl == "url"
        self.offered.append([json.loads(entry["MessageBody"])["run_id"] for entry in Entries])
        refused = self._refusals.pop(0) if self._refusals else set()
        if isinstance(refused, Exception):
            raise refused
        code = {"Code": "InternalError", "SenderFault": False}
        return {
            "Successful": [
                {"Id": entry["Id"], "MessageId": "1", "MD5OfMessageBody": ""}
                for entry in Entries
                if entry["Id"] not in refused
            ],
            "Failed": [{"Id": entry["Id"], **code} for entry in Entries if entry["Id"] in refused],
        }


def over(client: RefusingClient) -> SqsQueues:
    return SqsQueues(checked("sqs", client), {"turns": "url"})


def test_jobs_of_a_tenant_are_a_group_of_a_fair_queue(sqs: "SQSClient") -> None:
    on_sqs = OnSqs(sqs)
    on_sqs.queues.send([run_job()])
    on_sqs.queues.send([run_job().model_copy(update={"tenant": "other"})], delay_seconds=0)
    response = sqs.receive_message(
        QueueUrl=on_sqs.urls["turns"],
        MaxNumberOfMessages=10,
        MessageSystemAttributeNames=["MessageGroupId"],
    )
    groups = [message["Attributes"]["MessageGroupId"] for message in response["Messages"]]
    assert sorted(groups) == ["demo", "other"]


@pytest.mark.parametrize("tenant", ["acme", "acme-eu_1", "https://issuer.example/t?x=1", "a" * 64])
def test_group_of_a_tenant_is_its_name(tenant: str) -> None:
    assert group_of(tenant) == tenant


@pytest.mark.parametrize("tenant", ["Zürich", "a b", "\x00", "😀" * 64])
def test_group_of_a_tenant_that_sqs_does_not_accept_is_a_hash(tenant: str) -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", group_of(tenant))
    assert group_of(tenant) == group_of(tenant)
    assert group_of(tenant) != group_of(f"{tenant}.")


def test_jobs_that_sqs_refuses_are_offered_once_more() -> None:
    client = RefusingClient({"1", "2"})
    over(client).send([run_job(number) for number in range(4)])
    assert client.offered == [["run_0", "run_1", "run_2", "run_3"], ["run_1", "run_2"]]


def test_jobs_that_sqs_refuses_twice_stop_no_other_batch() -> None:
    client = RefusingClient({"1"}, {"1"})
    with pytest.raises(Transient, match="1 of 12"):
        over(client).send([run_job(number) for number in range(12)])
    assert client.offered[1:] == [["run_1"], ["run_10", "run_11"]]


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (EndpointConnectionError(endpoint_url="x"), Unavailable),
        (ReadTimeoutError(endpoint_url="x"), Ambiguous),
        (ClientError({"Error": {"Code": "ThrottlingException"}}, "SendMessageBatch"), Throttled),
    ],
)
def test_an_sqs_that_is_down_is_transient(error: Exception, meaning: type[Exception]) -> None:
    with pytest.raises(meaning) as caught:
        over(RefusingClient(error)).send([run_job()])
    assert isinstance(caught.value, Transient)
