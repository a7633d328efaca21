"""The payloads of the queues. Each carries a version; a job says only what to look at."""

from typing import ClassVar, Literal

from skein.models.base import Identifier, Tenant, Value

QueueName = Literal[
    "turns", "deliveries", "upkeep", "summaries", "consolidations", "reflections", "erasures"
]


class Job(Value):
    """Something to look at; what is to be done is decided by what is found there."""

    queue: ClassVar[QueueName]

    v: Literal[1] = 1
    tenant: Tenant


class RunJob(Job):
    """A run may be due.

    Attributes:
        user_id: The person whose word it answers, if that was known: their records are read with
            the run.
    """

    queue = "turns"

    run_id: Identifier
    agent_id: Identifier
    user_id: Identifier | None = None


class DeliveryJob(Job):
    """A delivery may be due."""

    queue = "deliveries"

    chat_id: Identifier
    delivery_id: Identifier


class UpkeepJob(Job):
    """A chat's derived records may have fallen behind."""

    queue = "upkeep"

    chat_id: Identifier


class SummaryJob(Job):
    """A summary may be behind: an agent's note on a chat or, without an agent, the chat's own."""

    queue = "summaries"

    chat_id: Identifier
    agent_id: Identifier | None = None


class ConsolidationJob(Job):
    """A chat may be quiet enough to be consolidated, or somebody wants that now."""

    queue = "consolidations"

    chat_id: Identifier


class ReflectionJob(Job):
    """Some journal entries in one of an agent's partitions are about to fade."""

    queue = "reflections"

    agent_id: Identifier
    scope: str | None = None


class ErasureJob(Job):
    """A person is being erased, and there may be more to do now."""

    queue = "erasures"

    erasure_id: Identifier
