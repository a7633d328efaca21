"""The tools for chats: `enter_chat` and `read_messages`."""

from typing import Annotated

from pydantic import Field

from skein.agent.prompt.timeline import timeline_entry
from skein.agent.reading.held_content import said_by_others
from skein.agent.tools.arguments import Count, Id, MessageNumber
from skein.agent.tools.base import tool
from skein.agent.tools.context import ToolContext
from skein.models.chats.chat import Chat, Membership
from skein.services.common.quoting import quoted

MAX_MESSAGES = 50
MAX_CHARACTERS = 2_000
MAX_BYTES = 20_000  # of a timeline; the oldest messages that do not fit are left out


@tool(shows_items=False)
def enter_chat(
    call: ToolContext,
    chat_id: Id,
    limit: Count = MAX_MESSAGES,
) -> str:
    """Make another chat of yours the active one, and read its newest messages."""
    chat, member = own_chat(call, chat_id)
    shown = _shown(call, chat, member, limit, before=None)
    call.activation.claim = call.activation.claim.with_run(active_chat_id=chat.id)
    return f"ACTIVE CHAT: {quoted(chat.display_title)} (id: {chat.id})\n{shown}"


@tool(shows_items=False)
def read_messages(
    call: ToolContext,
    chat_id: Annotated[Id | None, Field(description="Default: the active chat.")] = None,
    limit: Count = MAX_MESSAGES,
    before: Annotated[
        MessageNumber | None, Field(description="Only messages before this number.")
    ] = None,
) -> str:
    """Read older messages, or the messages of another chat of yours."""
    chat, member = own_chat(call, call.target(chat_id))
    return _shown(call, chat, member, limit, before=before)


def own_chat(call: ToolContext, chat_id: str) -> tuple[Chat, Membership]:
    """Return one of the agent's chats with the agent's membership.

    Raises:
        NotFound: The agent is not a member of such a chat.
        Conflict: The chat was discarded.
    """
    return call.tool_services.own_chats.get(
        call.activation.run.tenant, call.activation.claim.agent, chat_id
    )


def _shown(
    call: ToolContext, chat: Chat, member: Membership, limit: int, *, before: int | None
) -> str:
    """Render the messages of a chat as a timeline.

    Raises:
        Forbidden: The messages are private, and the readers of the active chat may not see them.
    """
    here = call.reading.chat is not None and call.reading.chat.id == chat.id
    readers = None if here else call.reading.destination
    messages, audience = call.tool_services.own_chats.newest_messages(
        chat, limit, readers=readers, before=before
    )
    call.activation.add_held(audience, by_others=said_by_others(messages, audience))
    lines: list[str] = []
    left = MAX_BYTES
    for message in reversed(messages):
        line = timeline_entry(
            message,
            _cut(message.text),
            agent=call.activation.claim.agent,
            seen_seq=member.seen_seq,
            trigger_seq=None,
            resumed=None,
            destination=call.reading.destination,
        )
        left -= len(line.encode())
        if left < 0:
            lines.append(f"  (there is more: read the messages before {message.seq + 1})")
            break
        lines.append(line)
    return "\n".join(reversed(lines)) or "there are no messages"


def _cut(text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[:MAX_CHARACTERS]} [{len(text) - MAX_CHARACTERS:,} characters cut]"
