"""Where what an agent makes with its tools belongs, and what of its things it may touch there."""

from skein.agent.tools.base import Call
from skein.models.intent import Owner, Reach, scopes_at


def owner_at(call: Call) -> Owner:
    """Where a thing that is made now belongs: to those who were there for what was read."""
    run, reading = call.work.run, call.reading
    return Owner(
        tenant=run.tenant,
        agent_id=run.agent_id,
        scope=reading.scope,
        audience=reading.audience,
        source_chat_id=reading.chat.id if reading.chat else None,
        source_run_id=run.id,
    )


def reach_at(call: Call) -> Reach:
    """What may be touched from here: open things, and those of the people who are here."""
    reading = call.reading
    return Reach(
        tenant=call.work.run.tenant,
        agent_id=call.work.run.agent_id,
        scopes=scopes_at(reading.scope),
        place=reading.destination,
    )
