"""Looking around: `enter_chat` and `read_messages`."""

from typing import Annotated

from pydantic import Field

from skein.agent.prompt.timeline import timeline_entry
from skein.agent.reading.held_content import said_by_others
from skein.agent.tools.arguments import Count, Id, MessageNumber
from skein.agent.tools.base import Call, tool
from skein.errors import Failed, NotFound
from skein.models.audience import Audience, may_show
from skein.models.chat import Chat, Membership, Message, chat_partition
from skein.services.chat_state.audience import audience_of
from skein.services.chat_state.snapshot import read_room
from skein.services.common.quoting import quoted

MOST_MESSAGES = 50
ROWS_READ = 50  # at least, since some are keywords and notices
MOST_CHARACTERS = 2_000
MOST_BYTES = 20_000  # of a timeline; beyond, the oldest messages are left out

Limit = Annotated[Count, Field(description="How many messages, at most 50.")]


@tool
def enter_chat(
    call: Call,
    chat_id: Annotated[Id, Field(description="The id of one of your chats.")],
    limit: Limit = MOST_MESSAGES,
) -> str:
    """Make another of your chats the active one, and read its newest messages."""
    chat, member = own_chat(call, chat_id)
    shown = _shown(call, chat, member, limit, before=None)
    call.work.claim = call.work.claim.with_run(active_chat_id=chat.id)
    return f"ACTIVE CHAT: {quoted(chat.display_title)} (id: {chat.id})\n{shown}"


@tool
def read_messages(
    call: Call,
    chat_id: Annotated[
        Id | None, Field(description="One of your chats; without it, the active one.")
    ] = None,
    limit: Limit = MOST_MESSAGES,
    before: Annotated[
        MessageNumber | None, Field(description="Only messages before this number.")
    ] = None,
) -> str:
    """Read messages of one of your chats, the newest ones or those before a certain one."""
    chat, member = own_chat(call, call.target(chat_id))
    return _shown(call, chat, member, limit, before=before)


def own_chat(call: Call, chat_id: str) -> tuple[Chat, Membership]:
    """One of the agent's chats, and its place there.

    Raises:
        Failed: It is in no such chat, or the chat was discarded.
    """
    try:
        room = read_room(call.desk.table, call.work.run.tenant, chat_id)
    except NotFound:
        raise Failed("you are in no chat with this id") from None
    member = room.member(call.work.claim.agent)
    if member is None:
        raise Failed("you are in no chat with this id")
    if room.chat.discarded_at is not None:
        raise Failed("this chat was discarded")
    return room.chat, member


def newest_messages(
    call: Call, chat: Chat, limit: int, *, place: Audience | None, before: int | None = None
) -> tuple[list[Message], Audience]:
    """What people and agents said last in a chat, and who was there for all of it.

    Args:
        call: Who asks.
        chat: As it was just read; what has been said since then is left out, since it is not
            known who was there for that.
        limit: How many messages at most.
        place: Who will be shown them; None in the chat itself.
        before: Only messages before this number.

    Raises:
        Failed: They must not be shown there.
    """
    end = chat.last_seq if before is None else min(before - 1, chat.last_seq)
    page = call.desk.table.query(
        chat_partition(chat.tenant, chat.id),
        first=Message.PREFIX,
        last=Message.key_of(chat.tenant, chat.id, end).sk,
        limit=max(limit, ROWS_READ),
        newest_first=True,
    )
    read = [chat.as_now(Message.from_item(item)) for item in reversed(page.items)]
    messages = [message for message in read if message.kind == "text"][-limit:]
    audience = audience_of(chat, since_seq=messages[0].seq if messages else chat.last_seq)
    if place is not None and not may_show(audience, place):
        raise Failed("what was said there is private, and must not be told here")
    return messages, audience


def _shown(call: Call, chat: Chat, member: Membership, limit: int, *, before: int | None) -> str:
    """The messages as a timeline, if what was said there may be told here."""
    here = call.reading.chat is not None and call.reading.chat.id == chat.id
    place = None if here else call.reading.destination
    messages, audience = newest_messages(call, chat, limit, place=place, before=before)
    call.work.hold(audience, by_others=said_by_others(messages, audience))
    lines: list[str] = []
    left = MOST_BYTES
    for message in reversed(messages):
        line = timeline_entry(
            message,
            _cut(message.text),
            agent=call.work.claim.agent,
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
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]} [{len(text) - MOST_CHARACTERS:,} characters cut]"
