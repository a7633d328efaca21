"""Who must approve a call, and what a service may learn from it (docs/security.md).

A prompt can contain private content, and words of people from other chats. A call that cannot harm
anyone is made at once. For any other call, a person or an operator is asked first.
"""

from collections.abc import Iterable, Mapping
from math import log2
from typing import Any, Literal

from skein.errors import Failed
from skein.interface.history import History
from skein.interface.reading import Reading
from skein.models.runs.run import Run
from skein.models.visibility.provenance import Insiders
from skein.own_tools.items import CallableTool
from skein.own_tools.models.tool import OwnTool
from skein.own_tools.schema import closed_values

Approver = Literal["nobody", "person", "operator"]

MAX_RUN_BITS = 24  # bits that a private run may reveal to shared services without approval
MAX_DAY_BITS = 240  # bits that all private runs of a person may reveal in a day

PRIVATE = (
    "refused: this run was shown private content, and this service may show its arguments to "
    "anybody; say that you cannot look this up here"
)
SPENT = (
    "refused: this run was shown private content, and services that may show their arguments to "
    "anybody have learned as much as they may without a yes; say that you cannot look this up here"
)


def only_person(run: Run, reading: Reading) -> str | None:
    """Return the only person whose messages an activation answers, or None if that is unclear.

    The person is unclear if an agent, plan or service stands between the person and the run. An
    activation answers all messages from the first one that triggered the run to the last one that
    the run's prompt showed.
    """
    trigger, resumed = run.trigger, run.resumed
    if trigger.type != "chat_message" or trigger.traced_to is not None or run.chain_depth:
        return None
    if reading.chat is None or reading.chat.id != run.chat_id or run.shown is None:
        return None
    if resumed is not None and (resumed.status == "timeout" or resumed.chat_id != run.chat_id):
        return None
    first = trigger.from_seq or trigger.seq
    messages = reading.of(History).messages
    if first is None or not messages or messages[0].seq > first:
        return None
    answered = [each.sender for each in messages if first <= each.seq <= run.shown.seq]
    others = {each.id for each in answered if each.kind == "agent"} - {run.agent_id}
    people = {each.id for each in answered if each.kind == "user"}
    return people.pop() if len(people) == 1 and not others else None


def who_is_asked(
    run: Run,
    insiders: Insiders,
    tool: CallableTool,
    arguments: Mapping[str, Any],
    *,
    person: str | None,
) -> Approver:
    """Return who must approve a call before it is made.

    Args:
        run: The run, with the record of what its prompt contains.
        insiders: The insiders of the run.
        person: The only person whose messages the activation answers.

    Raises:
        Failed: The call would tell the service something private, and the tool's operator forbids
            that.
    """
    record = tool.tool
    if _tells_private(run, tool, arguments):
        return asked_in_private(tool, PRIVATE)
    if record.asks != "none":
        return record.asks
    if record.effect == "read":
        return "nobody"
    outsiders = run.held is None or not insiders.wrote(run.held.authors.without_tools)
    return "person" if person is None or outsiders else "nobody"


def asked_in_private(tool: CallableTool, refusal: str) -> Approver:
    """Return `person`, who must approve a call that tells a service something private.

    Raises:
        Failed: The operator of the tool does not allow such a question. The error says `refusal`.
    """
    if tool.tool.from_private == "never":
        raise Failed(refusal)
    return "person"


def tells_choices(run: Run, tool: CallableTool) -> bool:
    """Return whether merely calling this tool tells a service something private."""
    private = run.held is None or not run.held.audience.open
    return private and tool.tool.privacy == "shared"


def _tells_private(run: Run, tool: CallableTool, arguments: Mapping[str, Any]) -> bool:
    """Return whether the arguments may tell a service words from private content."""
    return tells_choices(run, tool) and not arguments.keys() <= _closed(tool).keys()


def bits_of(tool: CallableTool, tools: Iterable[CallableTool]) -> float:
    """Return how much a call with only closed arguments reveals to the service, in bits.

    The service learns which of the agent's shared tools was chosen, and which of the listed values
    was chosen for each parameter.

    Args:
        tool: The tool that is called.
        tools: The tools of the agent.
    """
    shared = sum(each.tool.privacy == "shared" for each in tools)
    return log2(1 + shared) + sum(map(log2, _closed(tool).values()))


def _closed(tool: CallableTool) -> dict[str, int]:
    """Return the closed parameters of a tool, and the number of choices for each.

    A closed parameter has a schema that lists all its values. For a tool of an MCP server, the
    result is empty until an operator has confirmed the listed values.
    """
    confirmed = all(each.values_confirmed for each in tool.tool.rights.values())
    return closed_values(tool.schema) if confirmed else {}


def title_of(tool: OwnTool) -> str:
    """Return the beginning of a question for approval, which says what the tool does."""
    return (tool.approval_text or "").rstrip(" ?") or f"Call {tool.name}"
