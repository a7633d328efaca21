"""The queues on SQS."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skein import tracing
from skein.adapters.aws.clients import Aws
from skein.adapters.aws.errors import AWS_ERRORS, meaning_of
from skein.adapters.aws.rules import check_jobs
from skein.errors import Transient
from skein.models.outbox.jobs import Job, QueueName

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import SendMessageBatchRequestEntryTypeDef as Entry

# SQS accepts batches of 10 messages and 256 KiB; a job with the longest ids is below 5 KiB.
BATCH_JOBS = 10
# SQS accepts ASCII letters, digits and punctuation.
GROUP_ID = re.compile(r"[!-~]{1,128}")

READ_SECONDS = 5
TRIES = 3


def sqs_client(aws: Aws) -> "SQSClient":
    """Create a client for SQS.

    The client retries a batch whose response was lost. Duplicate jobs are harmless, since a job
    only names the item to process.
    """
    client: SQSClient = aws.client("sqs", read_seconds=READ_SECONDS, tries=TRIES)
    return client


def group_of(tenant: str) -> str:
    """Return the message group of a tenant's jobs.

    On a standard queue, groups do not order messages. While one group has a backlog, SQS delivers
    the jobs of other groups first (fair queues). If SQS does not accept a tenant's name, the group
    is a hash of the name.
    """
    if GROUP_ID.fullmatch(tenant):
        return tenant
    return hashlib.sha256(tenant.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class SqsQueues:
    """`Queues` on SQS.

    Args:
        client: A client, for example from `sqs_client`.
    """

    client: "SQSClient"
    urls: Mapping[str, str]

    def send(self, jobs: Sequence[Job], *, delay_seconds: int = 0) -> None:
        """See `skein.ports.Queues`; jobs that SQS does not accept are sent once more."""
        check_jobs(jobs, delay_seconds)
        refused, header = 0, tracing.header()
        for start in range(0, len(jobs), BATCH_JOBS):
            batch = jobs[start : start + BATCH_JOBS]
            entries: list[Entry] = [
                {
                    "Id": str(position),
                    "MessageBody": job.model_dump_json(),
                    "DelaySeconds": delay_seconds,
                    "MessageGroupId": group_of(job.tenant),
                }
                for position, job in enumerate(batch)
            ]
            if header is not None:
                for entry in entries:
                    entry["MessageSystemAttributes"] = {
                        "AWSTraceHeader": {"DataType": "String", "StringValue": header}
                    }
            left = self._offer(batch[0].queue, entries)
            if left:
                left = self._offer(batch[0].queue, left)
            refused += len(left)
        if refused:
            raise Transient(f"SQS did not accept {refused} of {len(jobs)} jobs")

    def _offer(self, queue: QueueName, entries: "list[Entry]") -> "list[Entry]":
        try:
            response = self.client.send_message_batch(QueueUrl=self.urls[queue], Entries=entries)
        except AWS_ERRORS as error:
            meaning = meaning_of(error, writing=True)
            if meaning is error:
                raise
            raise meaning from error
        refused = {failure["Id"] for failure in response.get("Failed", ())}
        return [entry for entry in entries if entry["Id"] in refused]
