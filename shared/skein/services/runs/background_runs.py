"""Create the runs of plans and webhook services, one for each firing or webhook."""

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
    """A new run, and the writes that store it. The first write fails if the run exists already."""

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
    """Build a new run that is stored with its agent, not in a chat, and the writes that store it.

    One of the writes stores a pointer to the run, which exists until the run ends. If the run has a
    chat, its first prompt shows that chat. If that chat has people, the run's audience is limited
    to them. If the readers of the chat may not all see the trigger, the run is made without the
    chat.

    Args:
        trigger: Why the run exists.
        cause: The parts from which the run's id is derived. The same parts never start a second
            run.
        audience: The audience of the trigger.
        scope: The scope of the items that the run makes; None for the scope of the chat, if any.
        chat: The chat for which the run works. The agent must be a member of it.
        started_by: The item, such as an outreach, that must be active whenever the run writes; None
            if there is no such item.

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
