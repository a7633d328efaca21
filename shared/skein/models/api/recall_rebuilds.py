"""Resources of the HTTP API: rebuilds of the index of recall."""

from typing import Annotated, Self

from pydantic import Field

from skein.models.api.base import Resource
from skein.models.outbox.jobs import RecallJob


class RebuildResource(Resource):
    """A requested rebuild of the index of recall, without both ids for all chats."""

    chat_id: Annotated[str | None, Field(description="The only chat to index again.")]
    agent_id: Annotated[str | None, Field(description="The only agent to index again for.")]

    @classmethod
    def of(cls, job: RecallJob) -> Self:
        """Build the resource from the job that was sent."""
        return cls(chat_id=job.chat_id, agent_id=job.agent_id)
