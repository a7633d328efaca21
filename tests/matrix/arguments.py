"""What to call every tool with: plain values, and ids of things that may be out of reach."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from skein.agent.tools import TOOLS
from tests.matrix.calls import Lacking
from tests.matrix.tenant_data import Ids

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

NEW = "Something new"

# Values by the name of the argument; None leaves an argument out that may be left out, and a list
# of a Ref is a list of such ids. Numbers, truth values and choices need no row: see `_fitting`.
SAMPLES: dict[str, Any] = {
    "chat_id": CHAT,
    "goal_id": GOAL,
    "memory_id": MEMORY,
    "run_id": RUN,
    "thread_id": THREAD,
    "name": DOCUMENT,
    "documents": [DOCUMENT],
    "skills": [SKILL],
    "text": NEW,
    "concern": NEW,
    "goal": "A goal",
    "deliverable": "A report",
    "approach": "Step by step",
    "progress": "Half",
    "blocking": "Nothing",
    "evidence": "It is done",
    "learned": "Much",
    "mode": "slow",
    "skill_tags": None,
    "reason": "They want one",
    "summary": "A refund",
    "query": "like",
    "find": "On",
    "replace": "Of",
    "field": "preferences",
    "value": "tea",
    "instruction": "Look",
    "run_after": "2 hours",
    "scheduled_at": None,
    "cron": None,
    "time_zone": None,
    "reply_to": None,
    "wait": None,
    "until": None,
    "before": None,
    "after": None,
    "offset": None,
    "status": None,
    "limit": 50,
    "media_type": None,
    "in_chat": None,
    "pinned": None,
    "version": None,
}

# Ways to call a tool that reach other things than its usual call, by name.
VARIANTS = {"read_document of a thread": "read_document"}
CASES: dict[str, str] = {name: name for name in TOOLS} | VARIANTS
"""The tool of each call that the matrix makes."""

# Where a call needs another value than `SAMPLES` has.
OWN: dict[str, dict[str, Any]] = {
    "recall": {
        "query": Ref("word", harmless=True),  # it finds nothing of another place
        "from": "2026-01-01",
        "to": "2026-12-31",
        "person": None,
        "chat_id": Ref("chat_id", harmless=True),  # it finds nothing there
    },
    "list_documents": {"query": None},  # a query finds only what holds its words
    "send_message": {"text": "Hello there", "also_in": None, "media": None},  # each as a chat_id
    "ask_choice": {"question": "Tea?", "options": ["Yes", "No"], "person": "Ben"},
    "ask_someone": {"person": "Ann", "question": "Tea?", "until": "1 day", "also_ask": None},
    "find_time": {
        "topic": "Tea",
        "earliest": "2026-03-02T08:00",
        "latest": "2026-03-06T20:00",
        "until": "1 day",
    },
    "forget": {"query": Ref("word", harmless=True)},  # it finds nothing of another place
    "set_plan": {"name": "New"},
    "cancel_plan": {"name": PLAN},
    "write_document": {"name": Ref("document", also=("board",), harmless=True)},
    "read_skill": {"name": SKILL},
    "read_document": {"thread_id": None},
    "update_thread": {
        "add_documents": [Ref("draft", also=("board",))],
        "remove_documents": [Ref("document", also=("board",), harmless=True)],
        "add_skills": [Ref("free_skill")],
        "remove_skills": [Ref("skill", harmless=True)],
    },
    "create_thread": {"kind": "deliverable"},
}


def _fitting(tool: str, name: str, schema: dict[str, Any]) -> Any:
    """A value for an argument: the tool's own, the name's, or one that its schema allows.

    Raises:
        Lacking: It is a text or a list, which may name something that is out of reach.
    """
    for samples in (OWN.get(tool, {}), SAMPLES):
        if name in samples:
            return samples[name]
    choices = [part for part in schema.get("anyOf", [schema]) if part.get("type") != "null"]
    for part in choices:
        if "enum" in part:
            return part["enum"][0]
        if part.get("type") == "boolean":
            return True
        if part.get("type") == "integer":
            return part.get("minimum", 1)
    raise Lacking(
        f"{tool!r} takes {name!r}: add {name!r} with a value to SAMPLES of {WHERE} (a Ref, if it "
        f"names something that may be out of reach), or to OWN for this tool alone"
    )


@cache
def values_of(tool: str) -> dict[str, Any]:
    """Every argument of a tool, with Refs in place of ids.

    Raises:
        Lacking: It is not known what to put into an argument.
    """
    properties = TOOLS[CASES[tool]].arguments.model_json_schema()["properties"]
    return {name: _fitting(tool, name, schema) for name, schema in properties.items()}


def arguments_of(tool: str, ids: Ids) -> dict[str, Any]:
    """What to call a tool with, for the things of these ids; where a place has none, a made-up one.

    Raises:
        Lacking: It is not known what to put into an argument.
    """
    given = {name: value for name, value in values_of(tool).items() if value is not None}
    for name, ref in refs_of(tool).items():
        given[name] = spelled(tool, name, ids.get(ref.kind, "nothing"))
    return given


def refs_of(tool: str) -> dict[str, Ref]:
    """The arguments of a tool that name things, one or many."""
    each = {name: v[0] if isinstance(v, list) else v for name, v in values_of(tool).items()}
    return {name: value for name, value in each.items() if isinstance(value, Ref)}


def spelled(tool: str, argument: str, named: str) -> Any:
    """An id as an argument takes it, alone or as a list."""
    return [named] if isinstance(values_of(tool)[argument], list) else named
