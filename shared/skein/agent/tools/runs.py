"""The tools for runs: `get_my_runs`, `stop_run`, `resume_run` and `end_run`."""

from typing import Annotated

from pydantic import Field

from skein.errors import Conflict, Correctable, Failed, Forbidden, NotFound
from skein.interface.arguments import NOT_SHOWN, Count, Id, MessageNumber
from skein.interface.tool import refusals_as_tool_errors, tool
from skein.interface.tool_context import ToolContext
from skein.models.common.base import rfc3339
from skein.models.common.reason import Reason
from skein.models.runs.run import Run, RunStatus
from skein.models.visibility.provenance import NO_AUTHORS
from skein.services.common.quoting import quoted
from skein.services.runs.completion import RunCompletion
from skein.services.runs.ending_waits import EndingWaits
from skein.services.runs.queries import OwnRuns
from skein.services.visibility.disclosure import check_effect, may_affect


@tool(effect="read")
def get_my_runs(
    call: ToolContext,
    status: Annotated[RunStatus | None, Field(json_schema_extra={NOT_SHOWN: True})] = None,
    limit: Count = 10,
) -> str:
    """List your recent runs, with what you sent and did."""
    run = call.activation.run
    runs = call.service(OwnRuns).newest(
        run.tenant,
        run.agent_id,
        here=call.reading.chat,
        readers=call.reading.destination,
        status=status,
        limit=limit,
    )
    words_in = {run.id: run.held.authors if run.held else NO_AUTHORS for run in runs}
    here = call.reading.chat.id if call.reading.chat is not None else None
    runs = tuple(
        run
        for run in runs
        if call.reading.insiders.admit(words_in[run.id])
        and not (run.held is not None and run.held.authors.by_rule and run.held.chat_id != here)
    )
    for other in runs:
        words = words_in[other.id]
        call.activation.add_held(other.audience, words)
        for sent in other.sent:
            call.activation.add_held(sent.audience, words)
    return "\n".join(_row(other, this=run.id) for other in runs) or "there are no such runs"


@tool(effect="save")
def stop_run(call: ToolContext, run_id: Id) -> str:
    """Stop another of your runs. What it has sent stays."""
    run = call.activation.run
    if run_id == run.id:
        raise Correctable("this is the current run; end it with end_run")
    why = f"stopped by {run.id}"
    try:
        other = call.service(OwnRuns).get(
            run.tenant, run.agent_id, run_id, readers=call.reading.destination
        )
        if not may_affect(run, other.audience):
            raise Failed("a private run may stop only runs for the same people")
        check_effect(run, other.own_chat_id)
        if (other.status, other.error) != ("canceled", why):  # not by an earlier attempt
            call.service(RunCompletion).cancel(
                other, reason=Reason.STOPPED_BY_AGENT, error=why, guard=call.activation.claim.guard
            )
    except (NotFound, Conflict, Forbidden) as error:
        raise Failed(str(error)) from None
    return "stopped"


@tool(effect="save")
def resume_run(
    call: ToolContext,
    reply: Annotated[MessageNumber, Field(description="Its number here, such as 43 for msg:43.")],
) -> str:
    """Give your run that waits here the message that answers its question."""
    with refusals_as_tool_errors():
        call.service(EndingWaits).reply(call.activation.claim, call.target(None), reply)
    return "the run continues with this message"


@tool(effect="end")
def end_run(call: ToolContext) -> str:
    """End without another message."""
    call.activation.ended = True
    return "ended"


def _row(run: Run, *, this: str) -> str:
    suffix = " (this run)" if run.id == this else ""
    lines = [f"- {run.id}{suffix}: {run.status}, {run.trigger.type}, {rfc3339(run.created_at)}"]
    if run.tools:
        lines.append(f"    tools: {', '.join(run.tools)}")
    lines += [f"    sent msg:{s.seq} in {s.chat_id}: {quoted(s.preview)}" for s in run.sent]
    return "\n".join(lines)
