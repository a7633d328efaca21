"""Things of one owner, and the tool calls that would change them."""

from typing import Any

from skein.memory.models.memory import MadeBy, Memory
from skein.models.visibility.ownership import Owner
from skein.planning.models.goal import Goal
from skein.planning.models.plan import Plan
from skein.workspace.document_edits import Author
from skein.workspace.models.document import Document, DocumentReach, Folder
from skein.workspace.models.thread import Thread
from tests.support.agents import COACH
from tests.support.builders import TENANT, World, live

CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "complete a goal": ("end_goal", {"goal_id": "goal_1", "outcome": "completed"}),
    "abandon a goal": ("end_goal", {"goal_id": "goal_1", "outcome": "abandoned"}),
    "cancel a plan": ("cancel_plan", {"name": "Report"}),
    "forget a memory": ("forget_memory", {"memory_id": "mem_1"}),
    "write a document": ("write_document", {"name": "log", "text": "secret"}),
    "append to a document": ("append_document", {"name": "log", "text": "secret"}),
    "edit a document": ("edit_document", {"name": "log", "find": "ours", "replace": "secret"}),
    "show a document": ("write_document", {"name": "log", "text": "ours", "pinned": True}),
    "delete a document": ("delete_document", {"name": "log"}),
    "note on a thread": ("update_thread", {"thread_id": "thr_1", "progress": "secret"}),
    "complete a thread": (
        "end_thread",
        {"thread_id": "thr_1", "outcome": "completed", "evidence": "secret"},
    ),
    "archive a thread": ("end_thread", {"thread_id": "thr_1", "outcome": "archived"}),
    "attach a document": ("update_thread", {"thread_id": "thr_1", "add_documents": ["log"]}),
    "bind a skill": ("update_thread", {"thread_id": "thr_1", "add_skills": ["planning"]}),
}


def given(world: World, owner: Owner) -> None:
    """A goal, a plan, a memory, a document and a thread of one owner."""
    app = world.app
    app.goals.set(owner, "Ship it", goal_id="goal_1")
    app.plans.set(owner, "Report", "Report", run_after="2 days")
    made_by: MadeBy = "api" if owner.by_operator else "tool"
    app.memories.add(owner, "Tea at four", "core", made_by=made_by, memory_id="mem_1")
    folder = Folder(tenant=TENANT, agent_id=COACH.id, scope=owner.scope)
    reach = DocumentReach(folders=(folder,))
    author = Author(
        audience=owner.audience,
        authors=owner.authors,
        source_chat_id=owner.source_chat_id,
        by_operator=owner.by_operator,
    )
    app.documents.write(reach, "log", "ours", new_in=folder, author=author)
    app.threads.create(owner, {"concern": "The launch"}, thread_id="thr_1")


def kept(world: World, owner: Owner) -> list[Goal | Plan | Memory | Document | Thread]:
    """All of these as they are stored."""
    app, reach = world.app, owner.reach
    folder = Folder(tenant=TENANT, agent_id=COACH.id, scope=owner.scope)
    return [
        app.goals.get(reach, "goal_1"),
        *live(app.plans, reach),
        app.memories.get(reach, "mem_1"),
        app.documents.get(DocumentReach(folders=(folder,)), "log"),
        app.threads.get(reach, "thr_1"),
    ]
