"""The tool `forget`: delete a person's messages after they confirm."""

from typing import Annotated

from pydantic import Field

from skein.errors import ExtraWriteFailed, LostLease
from skein.interface.arguments import Query
from skein.interface.tool import refusals_as_tool_errors, tool
from skein.interface.tool_context import ToolContext, content_of
from skein.models.runs.run import SentMessage
from skein.models.visibility.audience import Audience
from skein.privacy.forgetting import Forgettings, is_own

PREVIEW = "whether to forget messages"
NOTHING = "nothing of this person was found with these words"
ASKED = (
    "the person is asked in msg:{seq} whether to delete what was found. Do not repeat it, and do "
    "not say that it was forgotten"
)
ELSEWHERE = (
    "if anything was found, the person is asked in their direct chat with you. Say here only: "
    '"If I find something, I ask you in our direct chat."'
)


@tool(effect="send")
def forget(
    call: ToolContext,
    query: Annotated[Query, Field(description="Words of these messages, such as PIN.")],
) -> str:
    """Have the messages deleted that this person asks you to forget. They are asked first."""
    run, claim, zone = call.activation.run, call.activation.claim, call.reading.entries_zone
    chat, forgettings = call.reading.chat, call.service(Forgettings)
    own = chat is not None and chat.id == run.chat_id and is_own(chat, str(run.trigger.user_id))
    try:
        with refusals_as_tool_errors():
            if not own:
                forgettings.ask_later(claim, query, zone, client_id=call.effect)
                return ELSEWHERE
            asked = forgettings.ask(claim, query, zone, client_id=call.effect)
    except ExtraWriteFailed as error:
        raise LostLease(run.id) from error
    if asked is None or asked.choice is None:
        return NOTHING
    alone = Audience(open=False, people=(asked.choice.addressee,))
    call.activation.sent.append(
        SentMessage(
            chat_id=asked.chat_id,
            seq=asked.seq,
            preview=PREVIEW,
            audience=content_of(call).narrowed(alone),
        )
    )
    return ASKED.format(seq=asked.seq)
