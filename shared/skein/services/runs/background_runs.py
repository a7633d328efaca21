"""Runs outside any chat, which plans and webhook services start exactly once per cause."""

from datetime import datetime, timedelta
from typing import NamedTuple

from skein.correlation import current
from skein.models.common.audience import OPEN, Audience
from skein.models.common.ownership import effect_id
from skein.models.common.storage import Missing, Put, Write
from skein.models.outbox.jobs import RunJob
from skein.models.runs.run import Run, live_key, run_id_in
from skein.models.runs.trigger import Trigger
from skein.settings import Settings


class AgentRun(NamedTuple):
    """A run to be created, with its writes; the first fails if the run exists."""

    run: Run
    writes: tuple[Write, ...]

    @property
    def job(self) -> RunJob:
        """The job that starts the run once the writes are committed."""
        return self.run.job


def agent_run(
    *,
    tenant: str,
    agent_id: str,
    trigger: Trigger,
    cause: tuple[str, ...],
    now: datetime,
    settings: Settings,
    audience: Audience = OPEN,
    scope: str | None = None,
) -> AgentRun:
    """Create a run in its agent's own partition, and a pointer to it.

    The pointer exists until the run ends.

    Args:
        tenant: The agent's tenant.
        agent_id: The id of the agent.
        trigger: Why the run exists.
        cause: The parts from which the run's id is derived; the same cause never starts a second
            run.
        now: The present.
        settings: For the outbox grace.
        audience: The audience of the trigger.
        scope: The scope of the items that the run makes while it shows no chat.

    Returns:
        The writes for the caller's transaction, and the run.
    """
    run = Run(
        tenant=tenant,
        id=run_id_in(agent_id, effect_id(*cause)),
        agent_id=agent_id,
        trigger=trigger,
        audience=audience,
        scope=scope,
        correlation_id=current(),
        created_at=now,
    )
    due_at = now + timedelta(seconds=settings.outbox_grace_seconds)
    pointer = {
        "run_id": run.id,
        "tenant": tenant,
        "agent_id": agent_id,
        "audience": audience.model_dump(mode="json"),
    }
    writes = (Put(run.key, run.to_item(due_at), Missing()), Put(live_key(run), pointer))
    return AgentRun(run, writes)
