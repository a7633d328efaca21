"""The tools for threads, and for their documents and skills."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

from skein.agent.prompt.documents import (
    SHOWN_CHARACTERS,
    STEPS,
    document_text,
    named,
)
from skein.agent.prompt.skills import skill_text
from skein.agent.prompt.threads import thread_text
from skein.agent.reading.workspace import ShownDocument
from skein.agent.tools.arguments import (
    MAY_BE_EMPTY,
    Aim,
    Blocking,
    Concern,
    DocumentName,
    DocumentNames,
    Finding,
    Id,
    Priority,
    SkillLabel,
    SkillLabels,
    SkillName,
    SkillNames,
    ThreadNote,
)
from skein.agent.tools.base import refusals_as_tool_errors, tool
from skein.agent.tools.context import ToolContext, author_of, owner_at, reach_at
from skein.errors import Correctable, Failed, NotFound
from skein.models.common.ownership import effect_id
from skein.models.workspace.skill import CORE
from skein.models.workspace.thread import Thread, ThreadKind
from skein.services.workspace import thread_changes as changes
from skein.services.workspace.thread_changes import ThreadEdit

SHOWN_BYTES = 40_000  # of a thread in a tool result; a step's results hold 60,000 in all
SKILL_BYTES = 12_000  # of the skills in a tool result

ThreadId = Annotated[Id, Field(description="The thread's id.")]
Which = Annotated[Id | None, Field(description="Without it, the active thread.")]
Name = Annotated[DocumentName, Field(description="The document's name.")]
Names = Annotated[DocumentNames | None, Field(description="Names of documents of yours.")]
Skill = Annotated[SkillName, Field(description="The skill's name.")]
Skills = Annotated[SkillNames | None, Field(description="Names of skills it is to have.")]
Tags = Annotated[SkillLabels | None, Field(description="Skills with these tags come with it.")]
Mode = Annotated[
    SkillLabel | None, Field(description="How it is worked at; skills of this mode come with it.")
]
Kind = Annotated[
    ThreadKind | None, Field(description="Whether it finds something out or makes something.")
]
Rank = Annotated[Priority | None, Field(description="1 is the most important.")]
Goal = Annotated[Aim | None, Field(description="What is to be reached.")]
Deliverable = Annotated[Aim | None, Field(description="What is to be there in the end.")]
Approach = Annotated[ThreadNote | None, Field(description="How you go about it.")]


@tool(shows_items=True)
def create_thread(
    call: ToolContext,
    concern: Annotated[Concern, Field(description="What it is about.")],
    goal: Goal = None,
    deliverable: Deliverable = None,
    kind: Kind = None,
    documents: Names = None,
    mode: Mode = None,
    skill_tags: Tags = None,
    skills: Skills = None,
    priority: Rank = None,
    approach: Approach = None,
) -> str:
    """Begin a thread: a unit of work with documents and skills of its own.

    It does not become the active one.
    """
    fields = {
        "concern": concern,
        "goal": goal,
        "deliverable": deliverable,
        "kind": kind,
        "documents": tuple(documents or ()),
        "mode": mode,
        "skill_tags": tuple(skill_tags or ()),
        "bound_skills": tuple(skills or ()),
        "priority": priority,
        "approach": approach,
    }
    owner, author = owner_at(call), author_of(call)
    with refusals_as_tool_errors():
        thread = call.tool_services.threads.create(
            owner,
            fields,
            reach=reach_at(call),
            thread_id=f"thr_{effect_id(call.effect)}",
            author=author,
        )
    return f"thread begun, id: {thread.id}; switch_thread takes it up"


@tool(shows_items=True)
def switch_thread(call: ToolContext, thread_id: ThreadId) -> str:
    """Take up another open thread of yours, with its documents and skills."""
    with refusals_as_tool_errors():
        thread = call.tool_services.threads.switch(
            reach_at(call), thread_id, author=author_of(call)
        )
        if thread is None:
            raise NotFound("thread not found")
    call.activation.claim = call.activation.claim.with_run(active_thread_id=thread.id)
    return (
        "From now on this is your active thread, whatever the prompt above shows as such.\n"
        f"{_whole(call, thread)}{_skills(call, thread)}"
    )


@tool(shows_items=True)
def update_thread(
    call: ToolContext,
    thread_id: Which = None,
    approach: Approach = None,
    progress: Annotated[ThreadNote | None, Field(description="How far you are.")] = None,
    blocking: Annotated[
        Blocking | None,
        Field(description="What holds it up; empty once nothing does."),
        MAY_BE_EMPTY,
    ] = None,
    concern: Annotated[Concern | None, Field(description="What it is about.")] = None,
    goal: Goal = None,
    deliverable: Deliverable = None,
    kind: Kind = None,
    mode: Mode = None,
    skill_tags: Tags = None,
    priority: Rank = None,
) -> str:
    """Note how an open thread stands; what you leave out stays as it is."""
    given: dict[str, Any] = {
        "approach": approach,
        "progress": progress,
        "blocking": blocking,
        "concern": concern,
        "goal": goal,
        "deliverable": deliverable,
        "kind": kind,
        "mode": mode,
        "skill_tags": tuple(skill_tags) if skill_tags is not None else None,
        "priority": priority,
    }
    known = {name: value for name, value in given.items() if value is not None}
    if not known:
        raise Correctable("say what is to change")
    thread = _changed(call, thread_id, changes.fields(known))
    return f"thread {thread.id} updated"


@tool(shows_items=True)
def complete_thread(
    call: ToolContext,
    thread_id: ThreadId,
    evidence: Annotated[Finding, Field(description="How anybody can tell that it is done.")],
    learned: Annotated[
        Finding | None, Field(description="What you have learnt beyond the work itself.")
    ] = None,
) -> str:
    """Complete an open thread, with the evidence that it is done."""
    now = call.tool_services.clock.now()
    _ended(call, thread_id, changes.ended("completed", now, evidence=evidence, learned=learned))
    return "thread completed"


@tool(shows_items=True)
def archive_thread(
    call: ToolContext,
    thread_id: ThreadId,
    learned: Annotated[Finding | None, Field(description="What you have learnt from it.")] = None,
) -> str:
    """Put an open thread away unfinished."""
    _ended(
        call, thread_id, changes.ended("archived", call.tool_services.clock.now(), learned=learned)
    )
    return "thread archived"


@tool(shows_items=True)
def attach_document(call: ToolContext, name: Name, thread_id: Which = None) -> str:
    """Let a document of yours belong to an open thread, which then shows it."""
    thread = _changed(call, thread_id, changes.attached(name))
    text = _document(call, thread, name)
    return f"attached to thread {thread.id}\n{text}" if _is_active(call, thread) else "attached"


@tool(shows_items=True)
def detach_document(call: ToolContext, name: Name, thread_id: Which = None) -> str:
    """Let a document no longer belong to an open thread; it stays."""
    return f"detached from thread {_changed(call, thread_id, changes.detached(name)).id}"


@tool(shows_items=True)
def bind_skill(call: ToolContext, name: Skill, thread_id: Which = None) -> str:
    """Bind a skill to an open thread, which then shows it."""
    thread = _changed(call, thread_id, changes.bound(name))
    skill = call.tool_services.skills.get(thread.tenant, name)
    return f"bound\n{skill_text(skill)}" if _is_active(call, thread) else "bound"


@tool(shows_items=True)
def unbind_skill(call: ToolContext, name: Skill, thread_id: Which = None) -> str:
    """Take a skill that you have bound off an open thread."""
    return f"taken off thread {_changed(call, thread_id, changes.unbound(name)).id}"


@tool(shows_items=True)
def peek_document(call: ToolContext, thread_id: ThreadId, name: Name) -> str:
    """Read a document of another thread without taking that up."""
    with refusals_as_tool_errors():
        thread = call.tool_services.threads.get(reach_at(call), thread_id)
    if name not in thread.documents:
        has = ", ".join(map(named, thread.documents)) or "no documents"
        raise Correctable(f"this thread has {has}")
    return _document(call, thread, name)


# ---------------------------------------------------------------------- shared helpers


def _chosen(call: ToolContext, thread_id: str | None) -> str:
    """Return the thread id that a call names, or else that of the active thread.

    Raises:
        Correctable: The call names no thread, and no thread is active.
    """
    chosen = thread_id or call.activation.run.active_thread_id
    if chosen is None:
        raise Correctable("no thread is active: give a thread_id, or switch to a thread first")
    return chosen


def _changed(call: ToolContext, thread_id: str | None, change: ThreadEdit) -> Thread:
    chosen = _chosen(call, thread_id)
    with refusals_as_tool_errors():
        return call.tool_services.threads.change(
            reach_at(call), chosen, change, author=author_of(call)
        )


def _ended(call: ToolContext, thread_id: str, change: ThreadEdit) -> None:
    """End a thread, and clear the run's active thread if it is the same."""
    thread = _changed(call, thread_id, change)
    if _is_active(call, thread):
        call.activation.claim = call.activation.claim.with_run(active_thread_id=None)


def _is_active(call: ToolContext, thread: Thread) -> bool:
    return thread.id == call.activation.run.active_thread_id


def _document(call: ToolContext, thread: Thread, name: str) -> str:
    document = call.tool_services.threads.documents(reach_at(call), thread, [name])[name]
    if document is None:
        raise Failed(f"there is no document {name!r} any more")
    return document_text(document)


def _whole(call: ToolContext, thread: Thread) -> str:
    """Render a thread with documents as in a prompt, cut to 40,000 bytes if possible."""
    found = call.tool_services.threads.documents(reach_at(call), thread, thread.documents)
    render = thread_text(thread, [ShownDocument(name, found[name]) for name in thread.documents])
    return _within(SHOWN_BYTES, render)


def _within(most_bytes: int, render: Callable[[int], str]) -> str:
    for characters in (SHOWN_CHARACTERS, *STEPS):
        text = render(characters)
        if len(text.encode(errors="replace")) <= most_bytes:
            break
    return text


def _skills(call: ToolContext, thread: Thread) -> str:
    """Render the skills of a thread that fit, without `core`, which each prompt shows."""
    chosen = call.tool_services.skills.selected(
        thread.tenant, bound=thread.bound_skills, mode=thread.mode, tags=thread.skill_tags
    )
    lines: list[str] = []
    left, bytes_left = [], SKILL_BYTES
    for skill in chosen.skills:
        if skill.name == CORE:
            continue
        text = skill_text(skill)
        bytes_left -= len(text.encode())
        if bytes_left >= 0:
            lines.append(text)
        else:
            left.append(skill.name)
    if left:
        lines.append(f"  no room for: {', '.join(left)}")
    if chosen.missing:
        lines.append(f"  gone: {', '.join(chosen.missing)}")
    return "\n".join(["\nIts skills:", *lines]) if lines else ""
