"""Create the runs of plans and webhook services: one run per cause, outside of run slots."""

from datetime import datetime
from typing import NamedTuple

from skein.correlation import current
from skein.models.chats.chat import Chat
from skein.models.common.active_item import ActiveItem
from skein.models.common.effects import effect_id
from skein.models.common.storage import Missing, Put, Write
from skein.models.outbox.jobs import RunJob
from skein.models.runs.run import Run, live_key, run_id_in
from skein.models.runs.trigger import Trigger
from skein.models.visibility.audience import NOBODY, OPEN, Audience, may_show
from skein.services.outbox.dispatch import OUTBOX_GRACE
from skein.services.visibility.audience import audience_of, scope_of


class AgentRun(NamedTuple):
    """A new run, and the writes that store it; the first write fails if the run exists."""

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
    audience: Audience = OPEN,
    scope: str | None = None,
    chat: Chat | None = None,
    started_by: ActiveItem | None = None,
) -> AgentRun:
    """Return a new run in its agent's own partition, with its writes.

    A pointer to the run is stored, too, and exists until the run ends. A run with a chat begins
    with a prompt of that chat. If the chat has people, the run's audience is narrowed to these
    people. If the trigger may not be shown to all readers of the chat, the run has no chat.

    Args:
        trigger: Why the run exists.
        cause: The parts from which the run's id is derived. The same parts never start a second
            run.
        audience: The audience of the trigger.
        scope: The scope of the run's new items; None to use the scope of the chat, if the run has a
            chat.
        chat: The chat that the run belongs to; the agent must be a member.
        started_by: The item that must stay active; otherwise the run may not write.

    Returns:
        The run, and the writes for the caller's transaction.
    """
    if chat is not None and not may_show(audience, chat.readers):
        chat = None
    there = audience_of(chat, since_seq=chat.last_seq + 1) if chat is not None else NOBODY
    if there != NOBODY:
        audience, scope = audience.narrowed(there), scope or scope_of(chat)
    run = Run(
        tenant=tenant,
        id=run_id_in(agent_id, effect_id(*cause)),
        agent_id=agent_id,
        trigger=trigger,
        audience=audience,
        scope=scope,
        for_chat_id=chat.id if chat is not None else None,
        active_chat_id=chat.id if chat is not None else None,
        started_by=started_by,
        correlation_id=current(),
        created_at=now,
    )
    due_at = now + OUTBOX_GRACE
    pointer = {
        "run_id": run.id,
        "tenant": tenant,
        "agent_id": agent_id,
        "audience": audience.model_dump(mode="json"),
    }
    writes = (Put(run.key, run.to_item(due_at), Missing()), Put(live_key(run), pointer))
    return AgentRun(run, writes)
