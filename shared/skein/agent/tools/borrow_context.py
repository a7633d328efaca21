"""The tool `borrow_context`, which shows another chat's newest messages for one activation."""

from skein.agent.sections.borrowed import borrowed_message
from skein.agent.tools.chats import own_chat
from skein.errors import Correctable, Failed
from skein.interface.arguments import Id
from skein.interface.history import words_of
from skein.interface.tool import tool
from skein.interface.tool_context import ToolContext, admitted
from skein.models.chats.borrowed import (
    MAX_MESSAGES,
    BorrowedContext,
)
from skein.models.chats.chat import Chat
from skein.models.common.effects import effect_id
from skein.services.chats.own_chats import OwnChats
from skein.services.common.quoting import quoted
from skein.services.visibility.audience import destination_of
from skein.services.visibility.disclosure import check_effect


@tool(effect="save")
def borrow_context(call: ToolContext, chat_id: Id) -> str:
    """Show another chat's newest messages when you are next started here."""
    run = call.activation.run
    here = call.target(None)
    if chat_id == here:
        raise Correctable("this is the active chat; read_messages shows its messages")
    check_effect(run, here)
    chat, _ = own_chat(call, chat_id)
    active = _active_chat(call, here)
    messages, audience = call.service(OwnChats).newest_messages(
        chat, MAX_MESSAGES, here=active, readers=destination_of(active)
    )
    messages = admitted(call, messages)
    call.activation.add_held(audience, words_of(messages).joined(chat.title_authors))
    if not messages:
        raise Failed("that chat has no messages that can be shown here")
    borrowed = BorrowedContext(
        tenant=run.tenant,
        chat_id=here,
        agent_id=run.agent_id,
        staging=effect_id(call.effect),
        source_chat_id=chat.id,
        source_title=chat.display_title,
        messages=tuple(borrowed_message(each, chat) for each in messages),
        audience=audience,
        last_message_at=max(message.created_at for message in messages),
        created_at=call.clock.now(),
    )
    call.service(OwnChats).stage(borrowed, call.activation.claim)
    count = len(borrowed.messages)
    title = quoted(borrowed.source_title)
    return (
        f"nothing is shown yet: the {count} newest messages of {title} will be shown when you are "
        "next started here; to read them now, call read_messages"
    )


def _active_chat(call: ToolContext, chat_id: str) -> Chat:
    """Return the active chat, which can differ from the chat of the prompt."""
    shown = call.reading.chat
    return shown if shown is not None and shown.id == chat_id else own_chat(call, chat_id)[0]
