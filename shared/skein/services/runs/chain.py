"""The chain of agents that respond one after another because a person asked all of them."""

from datetime import datetime

from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef
from skein.models.runs.run import Run
from skein.models.runs.trigger import Trigger
from skein.ports import Ids, Table
from skein.services.runs.slots import EnqueuedRun, enqueue
from skein.settings import Settings


def next_in_chain(
    table: Table, run: Run, *, ids: Ids, now: datetime, settings: Settings
) -> EnqueuedRun | None:
    """Queue a run of the next agent in the chain of `run`, in the transaction that ends `run`.

    Agents that have left the chat in the meantime are skipped. The result is None if no agent
    remains.
    """
    if run.chat_id is None:
        return None
    waiting = list(run.then)
    while waiting:
        agent = MemberRef(kind="agent", id=waiting.pop(0))
        member = Membership.read(table, Membership.key_of(run.tenant, run.chat_id, agent))
        if member is None:
            continue
        if member.active and agent.id != run.agent_id:
            trigger = Trigger(type="manual", by=run.trigger.by, traced_to=run.trigger.traced_to)
            return enqueue(
                member,
                trigger,
                depth=0,
                audience=run.audience,
                then=waiting,
                ids=ids,
                now=now,
                settings=settings,
            )
    return None
