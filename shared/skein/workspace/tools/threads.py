"""The tools for threads, with their documents and skills."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from skein.errors import Correctable, NotFound
from skein.interface.arguments import LINE, MAY_BE_EMPTY, TEXT, Id, Priority
from skein.interface.tool import refusals_as_tool_errors, tool
from skein.interface.tool_context import ToolContext, owner_at, reach_at
from skein.models.common.effects import effect_id
from skein.workspace import thread_changes as changes
from skein.workspace.models.document import Document
from skein.workspace.models.skill import CORE
from skein.workspace.models.thread import EndedThreadStatus, Thread, ThreadKind
from skein.workspace.sections.document_text import (
    SHOWN_CHARACTERS,
    STEPS,
    ShownDocument,
    texts_of,
)
from skein.workspace.sections.skills import Skills as ShownSkills
from skein.workspace.sections.skills import skill_text
from skein.workspace.sections.threads import thread_text
from skein.workspace.skills import Skills
from skein.workspace.thread_changes import ThreadEdit
from skein.workspace.threads import Threads
from skein.workspace.tools.common import DocumentNames, SkillNames, author_of

SkillLabel = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=50), LINE
]
SkillLabels = Annotated[list[SkillLabel], Field(max_length=10)]
Concern = Annotated[str, Field(min_length=1, max_length=300), TEXT]
Aim = Annotated[str, Field(max_length=1_000), TEXT]
ThreadNote = Annotated[str, Field(max_length=2_000), TEXT]
Blocking = Annotated[str, Field(max_length=500), TEXT]
Finding = Annotated[str, Field(min_length=1, max_length=4_000), TEXT]

SHOWN_BYTES = 40_000  # bytes of a thread in a tool result; a step's results hold 60,000 in all
SKILL_BYTES = 12_000  # bytes of skills in a tool result

Evidence = Annotated[Finding | None, Field(description="What shows that it is done.")]


@tool(effect="save")
def create_thread(
    call: ToolContext,
    concern: Annotated[Concern, Field(description="What it is about.")],
    goal: Annotated[Aim | None, Field(description="What it achieves.")] = None,
    deliverable: Annotated[Aim | None, Field(description="What it produces.")] = None,
    kind: Annotated[
        ThreadKind | None, Field(description="exploratory: finds out; deliverable: produces.")
    ] = None,
    documents: Annotated[DocumentNames | None, Field(description="Names of its documents.")] = None,
    mode: Annotated[
        SkillLabel | None, Field(description="Kind of work, such as writing; adds its skills.")
    ] = None,
    skill_tags: Annotated[SkillLabels | None, Field(description="Add skills by tag.")] = None,
    skills: Annotated[SkillNames | None, Field(description="Add skills by name.")] = None,
    priority: Annotated[Priority | None, Field(description="1 is highest, 5 lowest.")] = None,
    approach: Annotated[ThreadNote | None, Field(description="How you go about it.")] = None,
) -> str:
    """Create a thread: work of several runs. switch_thread makes it active."""
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
    named = [Document.id_of(name) for name in documents or ()]
    owner, author = owner_at(call, *named), author_of(call)
    with refusals_as_tool_errors():
        thread = call.service(Threads).create(
            owner,
            fields,
            reach=reach_at(call),
            thread_id=f"thr_{effect_id(call.effect)}",
            author=author,
        )
    return f"thread created, id: {thread.id}; switch_thread makes it active"


@tool(effect="read")
def switch_thread(call: ToolContext, thread_id: Id) -> str:
    """Make an open thread active, and read it, before you work on it."""
    with refusals_as_tool_errors():
        thread = call.service(Threads).switch(reach_at(call), thread_id, author=author_of(call))
        if thread is None:
            raise NotFound("thread not found")
    call.activation.claim = call.activation.claim.with_run(active_thread_id=thread.id)
    return (
        "From now on this is your active thread, whatever the prompt above shows as such.\n"
        f"{_whole(call, thread)}{_skills(call, thread)}"
    )


@tool(effect="save")
def update_thread(
    call: ToolContext,
    thread_id: Id | None = None,
    approach: ThreadNote | None = None,
    progress: ThreadNote | None = None,
    blocking: Annotated[
        Blocking | None,
        Field(description="Empty: nothing blocks it."),
        MAY_BE_EMPTY,
    ] = None,
    concern: Concern | None = None,
    goal: Aim | None = None,
    deliverable: Aim | None = None,
    kind: ThreadKind | None = None,
    mode: SkillLabel | None = None,
    skill_tags: SkillLabels | None = None,
    priority: Priority | None = None,
    add_documents: DocumentNames | None = None,
    remove_documents: DocumentNames | None = None,
    add_skills: SkillNames | None = None,
    remove_skills: SkillNames | None = None,
) -> str:
    """Record how a thread stands, by default the active one, or change its contents."""
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
    edits = [
        *([changes.fields(known)] if known else []),
        *map(changes.detached, remove_documents or ()),
        *map(changes.unbound, remove_skills or ()),
        *map(changes.attached, add_documents or ()),
        *map(changes.bound, add_skills or ()),
    ]
    if not edits:
        raise Correctable("name at least one change")
    named = [Document.id_of(name) for name in add_documents or ()]
    thread = _changed(call, thread_id, changes.combined(edits), *named)
    shown = _added(call, thread, add_documents or (), add_skills or ())
    return "\n".join([f"thread {thread.id} updated", *shown])


@tool(effect="save")
def end_thread(
    call: ToolContext,
    thread_id: Id,
    outcome: Annotated[EndedThreadStatus, Field(description="archived: stopped unfinished.")],
    evidence: Evidence = None,
    learned: Finding | None = None,
) -> str:
    """End an open thread. It can't be opened again."""
    if outcome == "completed" and evidence is None:
        raise Correctable("evidence: required for a completed thread")
    now = call.clock.now()
    thread = _changed(
        call, thread_id, changes.ended(outcome, now, evidence=evidence, learned=learned)
    )
    if _is_active(call, thread):
        call.activation.claim = call.activation.claim.with_run(active_thread_id=None)
    return f"thread {outcome}"


# ---------------------------------------------------------------------- shared helpers


def _chosen(call: ToolContext, thread_id: str | None) -> str:
    """Return the thread id that a call names, or else the active thread's id.

    Raises:
        Correctable: The call does not name a thread, and no thread is active.
    """
    chosen = thread_id or call.activation.run.active_thread_id
    if chosen is None:
        raise Correctable("no thread is active: give a thread_id, or switch to a thread first")
    return chosen


def _changed(call: ToolContext, thread_id: str | None, change: ThreadEdit, *named: str) -> Thread:
    chosen = _chosen(call, thread_id)
    with refusals_as_tool_errors():
        return call.service(Threads).change(
            reach_at(call), chosen, change, author=author_of(call, *named)
        )


def _is_active(call: ToolContext, thread: Thread) -> bool:
    return thread.id == call.activation.run.active_thread_id


def _added(
    call: ToolContext, thread: Thread, documents: Sequence[str], skills: Sequence[str]
) -> list[str]:
    """Render what was added to the active thread: documents, shortened to fit, and skills."""
    if not _is_active(call, thread):
        return []
    if documents or skills:
        call.activation.results_wanted = True
    found = call.service(Threads).documents(reach_at(call), thread, documents)
    call.activation.add_items(found.values())
    shown = [ShownDocument(name, found[name]) for name in documents]
    texts = _within(SHOWN_BYTES, lambda characters: "\n".join(texts_of(shown, characters)))
    readers = call.reading.destination
    return [
        *([texts] if texts else []),
        *(skill_text(call.service(Skills).get(thread.tenant, name, readers)) for name in skills),
    ]


def _whole(call: ToolContext, thread: Thread) -> str:
    """Render a thread with documents as in a prompt, cut to 40,000 bytes if possible."""
    found = call.service(Threads).documents(reach_at(call), thread, thread.documents)
    call.activation.add_items([thread, *found.values()])
    render = thread_text(thread, [ShownDocument(name, found[name]) for name in thread.documents])
    return _within(SHOWN_BYTES, render)


def _within(most_bytes: int, render: Callable[[int], str]) -> str:
    for characters in (SHOWN_CHARACTERS, *STEPS):
        text = render(characters)
        if len(text.encode(errors="replace")) <= most_bytes:
            break
    return text


def _skills(call: ToolContext, thread: Thread) -> str:
    """Render as many of a thread's skills as fit, except `core` and those that the prompt shows."""
    shown = call.reading.of(ShownSkills).chosen.skills
    chosen = call.service(Skills).selected(
        thread.tenant,
        bound=thread.bound_skills,
        mode=thread.mode,
        tags=thread.skill_tags,
        readers=call.reading.destination,
    )
    lines: list[str] = []
    left, bytes_left = [], SKILL_BYTES
    for skill in chosen.skills:
        if skill.name == CORE or skill in shown:
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
