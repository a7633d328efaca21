"""Where what an agent makes with its tools belongs, and what of its things it may touch there.

Content may change a thing only if everybody who may be shown the thing was there for the content
(`models/audience.py: may_change`). The reach that is made here carries the content's audience, and
every service refuses by it (`services/common/optimistic.py: check_change`). So an agent's tools do
not change open things in private, and do not narrow whom a thing is for.
"""

from skein.agent.tools.base import Call
from skein.errors import Failed
from skein.models.audience import Audience
from skein.models.document import DocumentReach, Folder
from skein.models.ownership import Owner, Reach, effect_id, scopes_at
from skein.services.workspace.document_edits import Maker


def content_of(call: Call) -> Audience:
    """Who was there for everything that this activation was shown.

    Every section and tool result may be shown to all who are there, so those who were there for
    the window of messages were there for everything else. Without a chat they are those whom the
    trigger is for.
    """
    return call.reading.audience


def own_scope(call: Call) -> str | None:
    """Which of the agent's partitions holds what is made now.

    Raises:
        Failed: Private content has no partition of its own here.
    """
    scope = call.reading.scope
    if scope is None and not content_of(call).open:
        raise Failed("this run was started in private, so it can keep nothing outside a chat")
    return scope


def place_at(call: Call) -> Audience:
    """Who may be shown the agent's things here; without a chat, those whom the trigger is for."""
    reading = call.reading
    return reading.destination if reading.chat is not None else content_of(call)


def owner_at(call: Call) -> Owner:
    """Where a thing that is made now belongs: to those who were there for what was read.

    Raises:
        Failed: It belongs nowhere; see `own_scope`.
    """
    run, reading = call.work.run, call.reading
    return Owner(
        tenant=run.tenant,
        agent_id=run.agent_id,
        scope=own_scope(call),
        audience=content_of(call),
        source_chat_id=reading.chat.id if reading.chat else None,
        source_run_id=run.id,
    )


def maker_of(call: Call) -> Maker:
    """On whose behalf a document or a thread is changed now."""
    reading, run = call.reading, call.work.run
    return Maker(
        audience=content_of(call),
        source_chat_id=reading.chat.id if reading.chat else None,
        source_run_id=run.id,
        activation=run.activation,
        effect=effect_id(call.effect),
        guard=call.work.claim.guard,
    )


def reach_at(call: Call) -> Reach:
    """What may be touched from here: open things, and those of the people who are here."""
    reading = call.reading
    return Reach(
        tenant=call.work.run.tenant,
        agent_id=call.work.run.agent_id,
        scopes=scopes_at(reading.scope),
        place=place_at(call),
        content=content_of(call),
    )


def document_reach(call: Call) -> DocumentReach:
    """What documents can be got at from here: the chat's, those for its people, open ones."""
    reading, run = call.reading, call.work.run
    folders = [Folder(tenant=run.tenant, agent_id=run.agent_id)]
    if reading.scope is not None:
        folders.insert(0, Folder(tenant=run.tenant, agent_id=run.agent_id, scope=reading.scope))
    if reading.chat is not None:
        folders.insert(0, Folder(tenant=run.tenant, chat_id=reading.chat.id))
    return DocumentReach(folders=tuple(folders), place=place_at(call), content=content_of(call))
