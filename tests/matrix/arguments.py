"""What to call every tool with: plain values, and ids of things that may be out of reach."""

from dataclasses import dataclass
from typing import Any

from skein.agent.tools import TOOLS
from tests.matrix.calls import Lacking
from tests.matrix.households import Ids

WHERE = "tests/matrix/arguments.py"


@dataclass(frozen=True)
class Ref:
    """The id of something of a place, by its kind in `Place.ids`.

    Attributes:
        also: Further kinds of things that have such ids, which are beyond reach everywhere.
        harmless: Another place's id is nothing here, or something new, so nothing is refused.
    """

    kind: str
    also: tuple[str, ...] = ()
    harmless: bool = False


CHAT, GOAL, MEMORY = Ref("chat_id"), Ref("goal_id"), Ref("memory_id")
PLAN, RUN, THREAD, SKILL = Ref("plan_name"), Ref("run_id"), Ref("thread_id"), Ref("skill")
DOCUMENT = Ref("document", also=("board",))

# Every argument of every tool; None leaves one out that may be left out, and a list of a Ref is a
# list of such ids.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "send_message": {"text": "Hello there", "reply_to": None, "wait": None, "chat_id": CHAT},
    "enter_chat": {"chat_id": CHAT, "limit": 50},
    "read_messages": {"chat_id": CHAT, "limit": 50, "before": None},
    "borrow_context": {"chat_id": CHAT},
    "get_my_runs": {"status": None, "limit": 50},
    "stop_run": {"run_id": RUN},
    "set_goal": {"text": "Something new", "priority": 1, "long_term": True},
    "complete_goal": {"goal_id": GOAL},
    "abandon_goal": {"goal_id": GOAL},
    "set_plan": {
        "name": "New",
        "instruction": "Look",
        "run_after": "2 hours",
        "scheduled_at": None,
        "cron": None,
        "time_zone": None,
    },
    "cancel_plan": {"name": PLAN},
    "save_memory": {"text": "Something new", "kind": "core"},
    "forget_memory": {"memory_id": MEMORY},
    "search_memories": {"query": "word", "limit": 50},
    "update_profile": {"field": "preferences", "value": "tea"},
    "list_documents": {"limit": 50, "after": None},
    "read_document": {"name": DOCUMENT, "offset": None},
    "write_document": {
        "name": Ref("document", also=("board",), harmless=True),
        "text": "Something new",
        "media_type": None,
        "in_chat": None,
        "on_show": None,
        "version": None,
    },
    "append_document": {"name": DOCUMENT, "text": "Something new"},
    "edit_document": {"name": DOCUMENT, "find": "On", "replace": "Of", "version": None},
    "delete_document": {"name": DOCUMENT, "version": None},
    "read_skill": {"name": SKILL},
    "create_thread": {
        "concern": "Something new",
        "goal": "A goal",
        "deliverable": "A report",
        "kind": "deliverable",
        "documents": [DOCUMENT],
        "mode": "slow",
        "skill_tags": None,
        "skills": [SKILL],
        "priority": 1,
        "approach": "Step by step",
    },
    "switch_thread": {"thread_id": THREAD},
    "update_thread": {
        "thread_id": THREAD,
        "approach": "Step by step",
        "progress": "Half",
        "blocking": "Nothing",
        "concern": "Something new",
        "goal": "A goal",
        "deliverable": "A report",
        "kind": "exploratory",
        "mode": "slow",
        "skill_tags": None,
        "priority": 1,
    },
    "complete_thread": {"thread_id": THREAD, "evidence": "It is done", "learned": "Much"},
    "archive_thread": {"thread_id": THREAD, "learned": "Much"},
    "attach_document": {"name": DOCUMENT, "thread_id": THREAD},
    "detach_document": {
        "name": Ref("document", also=("board",), harmless=True),
        "thread_id": THREAD,
    },
    "bind_skill": {"name": SKILL, "thread_id": THREAD},
    "unbind_skill": {"name": Ref("skill", harmless=True), "thread_id": THREAD},
    "peek_document": {"thread_id": THREAD, "name": DOCUMENT},
    "end_run": {},
}


def arguments_of(tool: str, ids: Ids) -> dict[str, Any]:
    """What to call a tool with, for the things of these ids; where a place has none, a made-up one.

    Raises:
        Lacking: It is not known what to put into an argument.
    """
    check_known(tool)
    given = {name: value for name, value in ARGUMENTS[tool].items() if value is not None}
    for name, ref in refs_of(tool).items():
        given[name] = spelled(tool, name, ids.get(ref.kind, "nothing"))
    return given


def refs_of(tool: str) -> dict[str, Ref]:
    """The arguments of a tool that name things, one or many."""
    each = {name: v[0] if isinstance(v, list) else v for name, v in ARGUMENTS[tool].items()}
    return {name: value for name, value in each.items() if isinstance(value, Ref)}


def spelled(tool: str, argument: str, named: str) -> Any:
    """An id as an argument takes it, alone or as a list."""
    return [named] if isinstance(ARGUMENTS[tool][argument], list) else named


def check_known(tool: str) -> None:
    """Fail, and say what to add, unless every argument of a tool is known, and no other.

    Raises:
        Lacking: One is not.
    """
    if tool not in ARGUMENTS:
        raise Lacking(f"{tool!r} is a new tool: say in ARGUMENTS of {WHERE} what to call it with")
    wanted = set(TOOLS[tool].arguments.model_fields)
    for name in sorted(wanted ^ ARGUMENTS[tool].keys()):
        raise Lacking(
            f"{tool!r} {'takes' if name in wanted else 'does not take'} {name!r}: ARGUMENTS of "
            f"{WHERE} must say what fits (a Ref, if it names something that may be out of reach)"
        )
