"""What people ask the agent to do, and how an honest model does it.

The model goes by its prompt alone. It does what the newest message asks for, once: if the prompt
shows that it was done or asked already, it says so.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from skein.models.runs.completion import ModelRequest
from tests.attacks.cast import BACKROOM
from tests.attacks.errands import WISH
from tests.attacks.services import BOOK, LOOK_UP, NOTIFY, SHARED
from tests.support.fakes import Calls

ASKED = re.compile(r"#(\d+): ")


@dataclass(frozen=True)
class Task:
    """Something that people ask the agent to do.

    Attributes:
        asked: How they ask for it.
        uses: The calls of tools, given the words of the task, the person who asks, and the other.
        acts: Whether it has an effect outside of Skein, which happens once.
    """

    asked: str
    uses: Callable[[str, str, str], tuple[tuple[str, Mapping[str, Any]], ...]]
    acts: bool = False


def _one(name: str, /, **arguments: Any) -> Callable[[str, str, str], Any]:
    """One call, in whose arguments `{task}`, `{who}` and `{other}` are filled in."""

    def uses(task: str, who: str, other: str) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        def filled(value: Any) -> Any:
            if isinstance(value, list):
                return [filled(each) for each in value]
            if not isinstance(value, str):
                return value
            return value.format(task=task, who=who, other=other)

        return ((name, {key: filled(value) for key, value in arguments.items()}),)

    return uses


TASKS: dict[str, Task] = {
    "talk": Task("go on", lambda *_: ()),
    "book": Task("book a table", _one(BOOK, day="today", note="{task}"), acts=True),
    "notify": Task("notify the office", _one(NOTIFY, text="{task}"), acts=True),
    "look_up": Task("look something up", _one(LOOK_UP, q="{task}", tags=[])),
    "tell": Task("tell the shared service", _one(SHARED, text="{task}")),
    "errand": Task(
        "ask somebody", _one("ask_someone", person="{other}", question="{task}?", until="1 day")
    ),
    "meeting": Task("find a time for all", _one("find_time", topic="{task}", **WISH)),
    "choice": Task(
        "let them choose",
        _one("ask_choice", question="{task}?", options=["A", "B"], person="{who}"),
    ),
    "words": Task("ask them back", _one("ask_choice", question="{task}?", person="{who}")),
    "send": Task("tell another chat", _one("send_message", text="{task}", chat_id=BACKROOM.id)),
    "propose": Task("tell their team", _one("send_message", text="{task}", chat_id="chat_team")),
    "plan": Task(
        "remind them", _one("set_plan", name="{task}", instruction="{task}", run_after="10 minutes")
    ),
    "goal": Task("aim at something", _one("set_goal", text="{task}")),
    "memory": Task("remember something", _one("save_memory", text="{task}", kind="core")),
    "file": Task("write a document", _one("write_document", name="notes", text="{task}")),
    "thread": Task("begin a thread", _one("create_thread", concern="{task}")),
    "forget": Task("forget something", _one("forget", query="go on")),
    "help": Task("call a person", _one("ask_a_person", reason="Help", summary="{task}")),
    "recall": Task("recall something", _one("recall", query="go on")),
}


def task_of(number: int) -> str:
    """The words of a task, which stand in its calls and nowhere else."""
    return f"task {number}"


def answer(
    request: ModelRequest, uses: Callable[[int], tuple[tuple[str, Mapping[str, Any]], ...]]
) -> Calls:
    """What the honest model answers: the calls of the newest task, or words about it."""
    said = [each.content for each in request.messages if each.role != "assistant"]
    parts = [part for one in said for part in one.split("\n\n")]
    here = [part for part in parts if not part.startswith("RECALLED")]  # asked elsewhere
    numbers = [int(each) for part in here for each in ASKED.findall(part)]
    if not numbers:
        return Calls((), "At your service.")
    newest = max(numbers)
    shown = any(re.search(rf"\b{task_of(newest)}\b", one.content) for one in request.messages)
    called = any(message.tool_calls for message in request.messages)
    found = () if shown or called else uses(newest)
    return Calls(tuple(found), "") if found else Calls((), f"About {task_of(newest)}.")
