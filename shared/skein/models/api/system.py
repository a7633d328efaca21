"""Resources of the HTTP API: the state of the system, for the operators' home page."""

from typing import Annotated

from pydantic import Field

from skein.models.api.base import IdOfAgent, Resource
from skein.models.api.runs import RunResource
from skein.models.api.usage import UsageRowResource
from skein.models.common.base import Instant
from skein.models.common.reason import Reason
from skein.models.outbox.due import BacklogKind


class ModelStatusResource(Resource):
    """Whether the model's provider answers."""

    name: Annotated[str, Field(description="The deployment's default model.")]
    reachable: Annotated[bool, Field(description="Whether the provider answered.")]
    code: Annotated[str | None, Field(description="Stable code of the error; null without one.")]
    action: Annotated[str | None, Field(description="What the operator should do.")]
    checked_at: Annotated[Instant, Field(description="When Skein last asked the provider.")]


class LastErrorResource(Resource):
    """The newest run that failed or is held up."""

    run_id: Annotated[str, Field(description="The id of a run.")]
    agent_id: IdOfAgent
    reason: Annotated[Reason | None, Field(description="Why there is no answer, or not yet.")]
    meaning: Annotated[str | None, Field(description="The reason in one sentence.")]
    error: Annotated[str | None, Field(description="The error in words; null without one.")]
    at: Annotated[Instant, Field(description="When the reason was recorded.")]


class SystemResource(Resource):
    """The state of the system, as far as it concerns the tenant."""

    now: Annotated[
        Instant, Field(description="The time of the system; a local clock can be ahead.")
    ]
    model: Annotated[ModelStatusResource, Field(description="The state of the model's provider.")]
    runs: Annotated[
        tuple[RunResource, ...],
        Field(description="Runs that have not ended, newest first; at most 100."),
    ]
    last_error: Annotated[
        LastErrorResource | None,
        Field(description="The newest run that failed or is held up; null without one."),
    ]
    today: Annotated[UsageRowResource, Field(description="The tenant's usage today (UTC).")]


class BacklogRowResource(Resource):
    """The tenant's waiting work of one kind."""

    kind: Annotated[
        BacklogKind,
        Field(description="The kind of work; `chat` is the upkeep of chats and their summaries."),
    ]
    later: Annotated[int, Field(description="Number of items that become due later.")]
    due: Annotated[int, Field(description="Number of items that are due now.")]
    overdue: Annotated[
        int, Field(description="Number of these that have been due for more than five minutes.")
    ]
    oldest_due_at: Annotated[
        Instant | None, Field(description="Since when the oldest due item is due; null without.")
    ]
    complete: Annotated[
        bool, Field(description="Whether everything was counted. If not, there is more work.")
    ]
    statuses: Annotated[
        dict[str, int],
        Field(description="Number of runs by status, of the first 100; empty for other kinds."),
    ]


class BacklogResource(Resource):
    """The waiting work of the tenant."""

    now: Annotated[Instant, Field(description="The time of the count.")]
    items: Annotated[tuple[BacklogRowResource, ...], Field(description="The items of this page.")]
