"""Tools of the core, and the table of all tools by name.

To add a tool, write a function with `@tool` in one of the modules of `MODULES`, and add its name to
`ToolName` (`skein/models/directory/agent.py`). CONTRIBUTING.md lists the other steps.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import get_args

from skein.agent.sections.your_chats import (
    YourChats,
    askable_elsewhere,
    listed_elsewhere,
    others_listed,
)
from skein.agent.tools import borrow_context, chats, choices, profile, runs
from skein.agent.tools import send_message as messages
from skein.agent.tools.chats import enter_chat
from skein.agent.tools.runs import end_run, get_my_runs, resume_run, stop_run
from skein.agent.tools.send_message import send_message, variant
from skein.desk import tools as desk
from skein.errands import tools as errands
from skein.interface.history import History
from skein.interface.reading import Reading
from skein.interface.section import speaks_in_text
from skein.interface.tool import OfferedTool, Tool, without_continue
from skein.knowledge import tools as knowledge
from skein.memory import tools as memories
from skein.models.directory.agent import ToolName
from skein.models.visibility.audience import may_show
from skein.own_tools.items import OwnToolItems
from skein.planning import tools as goals_and_plans
from skein.planning.sections import Goals, Plans
from skein.privacy import tools as privacy
from skein.recall import tools as recall
from skein.workspace.sections.threads import Threads
from skein.workspace.tools import documents, threads

MODULES = (
    borrow_context,
    chats,
    choices,
    desk,
    documents,
    errands,
    goals_and_plans,
    knowledge,
    memories,
    messages,
    privacy,
    profile,
    recall,
    runs,
    threads,
)


# For each tool that needs an id: the tools that return such ids, and whether the prompt shows one.
# The live runs in a prompt always include the current run.
IDS: Mapping[str, tuple[Sequence[str], Callable[[Reading], bool]]] = {
    enter_chat.name: ((), lambda reading: bool(others_listed(reading))),
    borrow_context.borrow_context.name: ((), lambda reading: bool(others_listed(reading))),
    stop_run.name: ((get_my_runs.name,), lambda reading: len(reading.of(YourChats).live_runs) > 1),
    resume_run.name: ((), lambda reading: reading.of(YourChats).awaiting is not None),
    goals_and_plans.end_goal.name: (
        (goals_and_plans.set_goal.name,),
        lambda reading: bool(reading.of(Goals).goals),
    ),
    goals_and_plans.cancel_plan.name: ((), lambda reading: bool(reading.of(Plans).plans)),
    memories.forget_memory.name: (
        (memories.save_memory.name, memories.search_memories.name),
        lambda _: False,
    ),
    threads.switch_thread.name: (
        (threads.create_thread.name,),
        lambda reading: reading.has(Threads),
    ),
    threads.end_thread.name: (
        (threads.create_thread.name,),
        lambda reading: reading.has(Threads),
    ),
}


def _has_ids(name: str, reading: Reading) -> bool:
    """Return whether the model can know an id that the tool needs."""
    givers, shown = IDS.get(name, ((), lambda _: True))
    return shown(reading) or not set(givers).isdisjoint(reading.agent.enabled_tools)


def written() -> dict[str, Tool]:
    """Return the tools of all modules, by name."""
    found = (each for module in MODULES for each in vars(module).values())
    return {each.name: each for each in found if isinstance(each, Tool)}


_written = written()

TOOLS: dict[str, Tool] = {name: _written[name] for name in get_args(ToolName) if name in _written}


def enabled(names: Sequence[str]) -> tuple[Tool, ...]:
    """Return the tools with these names, in the order of `TOOLS`; unknown names are ignored."""
    return tuple(each for name, each in TOOLS.items() if name in set(names))


def offered(reading: Reading) -> tuple[OfferedTool, ...]:
    """Return the tools that the model is offered with a prompt; the tenant's own tools come last.

    If the model's text is posted in the active chat, `send_message` is for other chats only. It is
    offered only if the model can write in another chat or send files. `enter_chat` and `end_run`
    are not offered, because the text stays in this chat and `[silence]` is the way to say nothing.
    The argument `continue` is then removed from all tools, because the instructions for such a chat
    do not explain it.

    A tool that needs an id is offered only if the prompt shows such an id or another tool returns
    it.
    """
    own = reading.of(OwnToolItems).tools
    return (*_built_in(reading), *own)


def _may_send_files(reading: Reading) -> bool:
    """Return whether the agent possibly has files to send."""
    names = {documents.list_documents.name, documents.read_document.name}
    shown = not names.isdisjoint(reading.agent.enabled_tools)
    return shown or any(message.media for message in reading.of(History).messages)


def _built_in(reading: Reading) -> tuple[Tool, ...]:
    """Return the built-in tools that the model is offered."""
    group = reading.chat is not None and reading.chat.kind == "group"
    tools = [
        each
        for each in enabled(reading.agent.enabled_tools)
        if _has_ids(each.name, reading) and (group or not each.groups_only)
    ]
    in_text = reading.chat is not None and speaks_in_text(reading)
    asks = bool(askable_elsewhere(reading))
    files = _may_send_files(reading)
    if not in_text and not asks and not files:
        return tuple(tools)
    others = any(may_show(reading.destination, chat.readers) for chat in listed_elsewhere(reading))
    speaks = asks or others or files or not in_text
    instead: dict[str, Sequence[Tool]] = {
        send_message.name: [variant(elsewhere=in_text, asks=asks, files=files)] if speaks else (),
    }
    if in_text:
        instead |= {enter_chat.name: (), end_run.name: ()}
    kept = [one for each in tools for one in instead.get(each.name, [each])]
    return tuple(map(without_continue, kept) if in_text else kept)
