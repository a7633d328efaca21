"""The tool `ask_a_person`: an agent puts the chat on the desk of the team."""

from typing import Annotated

from pydantic import StringConstraints

from skein.errors import Failed
from skein.interface.arguments import LINE, TEXT
from skein.interface.tool import refusals_as_tool_errors, tool
from skein.interface.tool_context import ToolContext, authors_of, material_of
from skein.models.runs.run import Run
from skein.services.chat_state.desk_stays import MAX_REASON, MAX_SUMMARY, DeskRequest
from skein.services.chats.desk_requests import DeskRequests
from skein.services.chats.own_chats import OwnChats
from skein.services.visibility.disclosure import check_post

Reason = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_REASON), LINE
]
Summary = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_SUMMARY), TEXT
]
ASKED = (
    "a person of the team is asked for, and the people here are told so: do not repeat it. Answer "
    "as before until somebody takes over. Promise no time"
)
BEFORE = "a person was asked for before, and has not come yet. Answer as before"
NOT_KEPT = "; the summary was not kept, because you were shown words from elsewhere"


@tool(effect="save", announced=ASKED)
def ask_a_person(
    call: ToolContext,
    reason: Reason,
    summary: Summary,
) -> str:
    """Ask for a person of the team, if people want one or you cannot help, and say no more."""
    run, shown = call.activation.run, call.reading.chat
    chat_id = call.target(None)
    if shown is None or chat_id != shown.id:
        raise Failed("a person can be asked for only in the chat that this prompt shows")
    keeps = holds_session_only(run)
    request = DeskRequest(reason_code="agent", agent_id=run.agent_id)
    if keeps:
        request = request.model_copy(
            update={
                "reason": reason,
                "summary": summary,
                "authors": authors_of(call),
                "made_from": material_of(call),
            }
        )
    with refusals_as_tool_errors():
        check_post(run, call.service(OwnChats).snapshot(run.tenant, chat_id).chat)
        asked = call.service(DeskRequests).ask(
            run.tenant, chat_id, request, cause=call.effect, guard=call.activation.claim.guard
        )
    if asked.before:
        return BEFORE
    return ASKED if keeps else ASKED + NOT_KEPT


def holds_session_only(run: Run) -> bool:
    """Return whether a run was shown people's words only from the current session."""
    return run.held is not None and not run.held.beyond_session
