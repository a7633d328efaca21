"""The recorded form of a model's answer, limited in size so that it fits in its step's item.

DynamoDB allows 400 KB per item, which a step shares between the prompt, the answer and the tool
results. Skein uses only the recorded form of an answer, both to carry out its calls and to repeat
it in the next request. So a worker that takes over the run does the same as the first worker.
"""

import re
from collections.abc import Collection, Sequence

from skein.models.runs.completion import ToolCall

MAX_STEP_BYTES = 405_000  # slightly below the limit of the table
MAX_ANSWER_BYTES = 275_000  # for the text and the arguments of all calls together, in bytes
MAX_ANSWER_TEXT = 20_000  # characters; also the limit of a message
MAX_CALLS = 40  # recorded calls; fewer are carried out
CUT_ARGUMENTS = 200  # characters that are kept of arguments that are too long
RESULT_FRAME_BYTES = 500  # bytes of a result besides its content

CALL_ID = re.compile(r"[!-~]{1,200}")
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
NO_NAME = "unknown"


def recordable_text(text: str) -> str:
    """Shorten the text beside tool calls to 20,000 characters, with a note that it was cut.

    The text is shown only to the model, in the next request, with the results of its calls.
    """
    if len(text) <= MAX_ANSWER_TEXT:
        return text
    kept = text.strip()[:MAX_ANSWER_TEXT]
    return f"{kept} [{len(text) - len(kept):,} characters cut]"


def recordable_calls(
    calls: Sequence[ToolCall], *, n: int, bytes_left: int, taken: Collection[str] = ()
) -> tuple[ToolCall, ...]:
    """Limit the size of an answer's calls, and give them ids and names that providers accept.

    Arguments that do not fit are cut, and the call is then refused (`ToolCall.cut_from`).

    Args:
        calls: The tool calls of the answer; calls after the fortieth are left out.
        n: The number of the step.
        bytes_left: The maximum size of all arguments together, in bytes.
        taken: The ids of calls in earlier steps.
    """
    kept: list[ToolCall] = []
    bytes_left -= min(len(calls), MAX_CALLS) * CUT_ARGUMENTS * 4
    for call in with_fit_names(calls[:MAX_CALLS], n=n, taken=taken):
        size = len(call.arguments.encode())
        if size <= bytes_left:
            kept.append(call)
            bytes_left -= size
            continue
        start, length = call.arguments[:CUT_ARGUMENTS], len(call.arguments)
        kept.append(call.model_copy(update={"arguments": start, "cut_from": length}))
    return tuple(kept)


def with_fit_names(
    calls: Sequence[ToolCall], *, n: int, taken: Collection[str] = ()
) -> tuple[ToolCall, ...]:
    """Give each call a unique id, and a name in the format that providers require.

    Invalid characters of a name become hyphens. No tool's name has a hyphen, so an invalid name
    never becomes the name of a tool.
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
