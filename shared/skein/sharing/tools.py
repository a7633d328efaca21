"""The tools `ask_to_share` and `ask_to_share_earlier`: ask a person to let others be told words."""

from collections.abc import Callable
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import Field

from skein.errors import ExtraWriteFailed, LostLease
from skein.interface.arguments import LINE, Id, Moment
from skein.interface.tool import refusals_as_tool_errors, tool
from skein.interface.tool_context import ToolContext, content_of, readers_of
from skein.models.chats.chat import Message
from skein.models.common.audience import Audience
from skein.models.config.sharing import RoleName
from skein.models.runs.run import PREVIEW_CHARACTERS, SentMessage
from skein.services.common.schedule import FARTHEST, deadline_of
from skein.sharing.proposals import NamedParty, SharingProposals

ASKED = (
    "the person is asked in msg:{seq}. Nothing changes before they say yes: do not say that it may "
    "be told"
)

Person = Annotated[Id | None, Field(description="Name or id; or else a role.")]
Reason = Annotated[str, Field(min_length=1, max_length=200), LINE]
Ask = Callable[[SharingProposals, NamedParty], Message]


@tool(effect="send")
def ask_to_share(
    call: ToolContext,
    reason: Reason,
    person: Person = None,
    role: RoleName | None = None,
    until: Annotated[
        Moment | None, Field(description="Such as 2 weeks; leave out for no end.")
    ] = None,
) -> str:
    """Ask this person whether others may be told, from now on, what they say to agents alone."""
    zone, now = ZoneInfo(call.reading.zone), call.clock.now()

    def ask(proposals: SharingProposals, to: NamedParty) -> Message:
        ends_at = deadline_of(until, zone, now, FARTHEST) if until is not None else None
        claim = call.activation.claim
        return proposals.propose(claim, to, reason, ends_at, zone, client_id=call.effect)

    return _asked(call, person, role, ask)


@tool(effect="send")
def ask_to_share_earlier(
    call: ToolContext, person: Person = None, role: RoleName | None = None
) -> str:
    """Ask this person whether those who may be told their words may be told earlier ones, too."""

    def ask(proposals: SharingProposals, to: NamedParty) -> Message:
        return proposals.propose_earlier(call.activation.claim, to, client_id=call.effect)

    return _asked(call, person, role, ask)


def _asked(call: ToolContext, person: str | None, role: str | None, ask: Ask) -> str:
    """Ask the person of the chat; return the tool's result.

    Raises:
        ToolError: The question is refused.
        LostLease: Another worker has taken the run over.
    """
    run, proposals = call.activation.run, call.service(SharingProposals)
    try:
        with refusals_as_tool_errors():
            to = proposals.named(run, readers_of(call), person=person, role=role)
            question = ask(proposals, to)
    except ExtraWriteFailed as error:
        raise LostLease(run.id) from error
    asked = question.choice.addressee if question.choice is not None else question.sender.id
    call.activation.sent.append(
        SentMessage(
            chat_id=question.chat_id,
            seq=question.seq,
            preview=question.text[:PREVIEW_CHARACTERS],
            audience=content_of(call).narrowed(Audience(open=False, people=(asked,))),
        )
    )
    call.activation.results_wanted = True  # the model must not say that it may be told
    return ASKED.format(seq=question.seq)
