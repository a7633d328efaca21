"""The tools for chats: `enter_chat` and `read_messages`."""

from skein.errors import NotFound
from skein.interface.arguments import Count, Id, MessageNumber
from skein.interface.history import words_of
from skein.interface.names import askers, legend, participants_of
from skein.interface.timeline import EntryContext, dated, timeline_entry
from skein.interface.tool import tool
from skein.interface.tool_context import ToolContext, admitted
from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.services.chats.own_chats import NOT_YOURS, OwnChats
from skein.services.common.quoting import quoted

MAX_MESSAGES = 50
MAX_CHARACTERS = 2_000
MAX_BYTES = 20_000  # of a timeline; if it is longer, the oldest messages are left out


@tool(effect="read")
def enter_chat(
    call: ToolContext,
    chat_id: Id,
    limit: Count = MAX_MESSAGES,
) -> str:
    """Make another chat the active one, and read it."""
    chat, _ = own_chat(call, chat_id)
    shown = _shown(call, chat, limit, before=None)
    call.activation.claim = call.activation.claim.with_run(active_chat_id=chat.id)
    readers = call.reading.destination
    title = chat.titled_by(call.reading.insiders, readers).display_title
    return f"ACTIVE CHAT: {quoted(title)}\n{shown}"


@tool(effect="read")
def read_messages(
    call: ToolContext,
    chat_id: Id | None = None,
    limit: Count = MAX_MESSAGES,
    before: MessageNumber | None = None,
) -> str:
    """Read the messages before a number, or another chat by chat_id."""
    chat, _ = own_chat(call, call.target(chat_id))
    return _shown(call, chat, limit, before=before)


def own_chat(call: ToolContext, chat_id: str) -> tuple[Chat, Membership]:
    """Return one of the agent's chats, with the agent's membership.

    Raises:
        NotFound: The agent is not a member of a chat with this id, or a reader of the prompt is
            invited to the chat and has not accepted.
        Conflict: The chat was discarded.
    """
    tenant, agent = call.activation.run.tenant, call.activation.claim.agent
    chat, member = call.service(OwnChats).get(tenant, agent, chat_id)
    if chat.awaits(call.reading.destination, call.clock.now()):
        raise NotFound(NOT_YOURS)
    return chat, member


def _shown(call: ToolContext, chat: Chat, limit: int, *, before: int | None) -> str:
    """Render the messages of a chat as a timeline.

    Raises:
        Forbidden: The messages are private, and the readers of the active chat may not see them.
    """
    messages, audience = call.service(OwnChats).newest_messages(
        chat, limit, here=call.reading.chat, readers=call.reading.destination, before=before
    )
    messages = admitted(call, messages)
    chat = chat.titled_by(call.reading.insiders, call.reading.destination)
    call.activation.add_held(audience, words_of(messages).joined(chat.title_authors))
    names = call.names().joined([*chat.roster, *(each.sender for each in messages)])
    names = names.joined(askers(messages, names.agent, call.reading.destination))
    context = EntryContext(
        names=names,
        destination=call.reading.destination,
        now=call.reading.now,
        zone=call.reading.entries_zone,
        marked=False,
    )
    shown: list[tuple[Message, str]] = []
    left = MAX_BYTES
    for message in reversed(messages):
        line = timeline_entry(message, _cut(message.text), context)
        left -= len(line.encode())
        if left < 0:
            break
        shown.append((message, line))
    if not shown:
        return "there are no messages"
    shown.reverse()
    members = participants_of(chat, [message for message, _ in shown])
    more = f"  (there is more: read the messages before {shown[0][0].seq})"
    return "\n".join(
        [
            f"PARTICIPANTS:\n  {legend(names, chat, members, with_ids=False)}",
            f"CHAT HISTORY ({quoted(chat.display_title)}, {context.zone.key}):",
            *([more] if left < 0 else []),
            *dated(((each.created_at, line) for each, line in shown), context.zone),
        ]
    )


def _cut(text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[:MAX_CHARACTERS]} [{len(text) - MAX_CHARACTERS:,} characters cut]"
