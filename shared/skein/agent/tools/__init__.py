"""Everything an agent can do, by name. A new tool is a function with `@tool` in this list."""

from collections.abc import Sequence

from skein.agent.tools.base import Tool
from skein.agent.tools.borrow_context import borrow_context
from skein.agent.tools.chats import enter_chat, read_messages
from skein.agent.tools.documents import (
    append_document,
    delete_document,
    edit_document,
    list_documents,
    read_document,
    read_skill,
    write_document,
)
from skein.agent.tools.goals_and_plans import (
    abandon_goal,
    cancel_plan,
    complete_goal,
    set_goal,
    set_plan,
)
from skein.agent.tools.memories import forget_memory, save_memory, search_memories
from skein.agent.tools.profile import update_profile
from skein.agent.tools.runs import end_run, get_my_runs, stop_run
from skein.agent.tools.send_message import send_message
from skein.agent.tools.threads import (
    archive_thread,
    attach_document,
    bind_skill,
    complete_thread,
    create_thread,
    detach_document,
    peek_document,
    switch_thread,
    unbind_skill,
    update_thread,
)

TOOLS: dict[str, Tool] = {
    each.name: each
    for each in (
        send_message,
        enter_chat,
        read_messages,
        borrow_context,
        get_my_runs,
        stop_run,
        set_goal,
        complete_goal,
        abandon_goal,
        set_plan,
        cancel_plan,
        save_memory,
        forget_memory,
        search_memories,
        update_profile,
        list_documents,
        read_document,
        write_document,
        append_document,
        edit_document,
        delete_document,
        read_skill,
        create_thread,
        switch_thread,
        update_thread,
        complete_thread,
        archive_thread,
        attach_document,
        detach_document,
        bind_skill,
        unbind_skill,
        peek_document,
        end_run,
    )
}


def enabled(names: Sequence[str]) -> tuple[Tool, ...]:
    """The tools of these names, in the order of `TOOLS`; names of no tool are passed over."""
    return tuple(each for name, each in TOOLS.items() if name in set(names))
