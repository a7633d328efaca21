"""What of a model's answer is recorded: bounded, so that any answer fits into its step's item.

DynamoDB holds 400 KB an item. A step shares them between the prompt, the answer and the results of
its tools. The recorded form is the only one that is used: it is carried out, and repeated in the
next request. So a worker that takes the run over does the same as the first one.
"""

import re
from collections.abc import Collection, Sequence

from skein.models.completion import ToolCall

MAX_STEP_BYTES = 405_000  # a little less than the table takes
MAX_ANSWER_BYTES = 275_000  # of its text and the arguments of its calls together
MAX_ANSWER_TEXT = 20_000  # characters; a message holds no more either
MAX_CALLS = 40  # that are recorded; fewer are carried out
CUT_ARGUMENTS = 200  # characters that are kept of arguments for which there is no room
RESULT_FRAME_BYTES = 400  # what one result takes beside its content

CALL_ID = re.compile(r"[!-~]{1,200}")
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
NO_NAME = "unknown"


def recordable_text(text: str, *, alone: bool) -> str:
    """Cut the text of an answer to 20,000 characters.

    Args:
        text: What the model wrote.
        alone: It calls no tools, so the text may be posted. Otherwise a mark says what is missing,
            for the model, which is shown it again.
    """
    if len(text) <= MAX_ANSWER_TEXT:
        return text
    kept = text.strip()[:MAX_ANSWER_TEXT]
    return kept if alone else f"{kept} [{len(text) - len(kept):,} characters cut]"


def recordable_calls(
    calls: Sequence[ToolCall], *, n: int, room: int, taken: Collection[str] = ()
) -> tuple[ToolCall, ...]:
    """Bound the calls of an answer, with ids and names that providers take back.

    Arguments that no longer fit are cut, and the call is then refused (`ToolCall.cut_from`).

    Args:
        calls: What the model asks for; those after the fortieth are left out.
        n: The number of the step.
        room: How many bytes all arguments may take together.
        taken: Ids of calls that earlier steps have made.
    """
    kept: list[ToolCall] = []
    room -= min(len(calls), MAX_CALLS) * CUT_ARGUMENTS * 4
    for call in with_fit_names(calls[:MAX_CALLS], n=n, taken=taken):
        size = len(call.arguments.encode())
        if size <= room:
            kept.append(call)
            room -= size
            continue
        cut = {"arguments": call.arguments[:CUT_ARGUMENTS], "cut_from": len(call.arguments)}
        kept.append(call.model_copy(update=cut))
    return tuple(kept)


def with_fit_names(
    calls: Sequence[ToolCall], *, n: int, taken: Collection[str] = ()
) -> tuple[ToolCall, ...]:
    """Give each call a unique id and a name of the form that providers ask for.

    A name of another form gets hyphens, which no tool's name holds, so it never becomes the name of
    a tool.
    """
    known = set(taken)
    fit: list[ToolCall] = []
    for position, call in enumerate(calls):
        call_id, more = call.id, 0
        while CALL_ID.fullmatch(call_id) is None or call_id in known:
            call_id = f"call_{n}_{position}" + (f"_{more}" if more else "")
            more += 1
        known.add(call_id)
        name = call.name
        if TOOL_NAME.fullmatch(name) is None:
            name = NOT_IN_NAMES.sub("-", name[:64]) or NO_NAME
        fit.append(call.model_copy(update={"id": call_id, "name": name}))
    return tuple(fit)
