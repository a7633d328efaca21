"""Runs outside any chat, which plans and services start: each exactly once, by what started it."""

from datetime import datetime, timedelta
from typing import NamedTuple

from skein.correlation import current
from skein.models.audience import OPEN, Audience
from skein.models.jobs import RunJob
from skein.models.ownership import effect_id
from skein.models.run import Run, live_key, run_id_in
from skein.models.storage import Missing, Put, Write
from skein.models.trigger import Trigger
from skein.settings import Settings


class AgentRun(NamedTuple):
    """A run to be created: its writes, the first of which fails if it was created before."""

    run: Run
    writes: tuple[Write, ...]

    @property
    def job(self) -> RunJob:
        """What starts it once the writes are committed."""
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
    """Make a run in its agent's own partition, with a pointer that lasts as long as it lives.

    Args:
        tenant: Whose agent.
        agent_id: The agent.
        trigger: Why.
        cause: What the run's id follows from; the same cause never starts a second run.
        now: The present.
        settings: For the outbox grace.
        audience: Whom the trigger may be shown to.
        scope: Which of the agent's partitions holds what the run makes without a chat.

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
