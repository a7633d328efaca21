"""The tool `forget`: have a person's messages deleted, after their yes."""

from typing import Annotated

from pydantic import Field

from skein.errors import ExtraWriteFailed, LostLease
from skein.interface.arguments import Query
from skein.interface.tool import refusals_as_tool_errors, tool
from skein.interface.tool_context import ToolContext, content_of
from skein.models.common.audience import Audience
from skein.models.runs.run import SentMessage
from skein.privacy.forgetting import Forgettings

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
    run, claim = call.activation.run, call.activation.claim
    try:
        with refusals_as_tool_errors():
            asked = call.service(Forgettings).ask(
                claim, query, call.reading.entries_zone, client_id=call.effect
            )
    except ExtraWriteFailed as error:
        raise LostLease(run.id) from error
    if asked is not None and asked.choice is not None:
        alone = Audience(open=False, people=(asked.choice.addressee,))
        call.activation.sent.append(
            SentMessage(
                chat_id=asked.chat_id,
                seq=asked.seq,
                preview=PREVIEW,
                audience=content_of(call).narrowed(alone),
            )
        )
        if asked.chat_id == run.chat_id:
            return ASKED.format(seq=asked.seq)
    own = run.chat_id is not None and call.reading.destination.only_person == run.trigger.user_id
    return NOTHING if own and not call.reading.destination.open else ELSEWHERE
