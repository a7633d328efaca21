"""The held content of a prompt, by which later posts are allowed or refused."""

from collections.abc import Iterable, Iterator

from skein.agent.reading.reading import Reading
from skein.agent.reading.workspace import Workspace
from skein.models.chats.chat import Message
from skein.models.common.audience import Audience, may_show
from skein.models.runs.run import HeldContent, Run
from skein.models.workspace.thread import Thread


def held_by(reading: Reading, run: Run) -> HeldContent:
    """Return the held content of a prompt that is made from a reading."""
    may_be_shown, borrowed = reading.trigger.may_be_shown, reading.other_chats.borrowed
    audience = reading.audience.narrowed(run.audience) if may_be_shown else reading.audience
    return HeldContent(
        chat_id=reading.chat.id if reading.chat is not None else None,
        readers=reading.destination,
        audience=audience,
        alone=_is_of_one_person(reading, run),
        borrowed=borrowed.shown if borrowed is not None else None,
    )


def written_by_others(messages: Iterable[Message], audience: Audience) -> bool:
    """Return whether a person outside the audience wrote any of the messages."""
    known = set(audience.people)
    return any(one.sender.kind == "user" and one.sender.id not in known for one in messages)


def _is_of_one_person(reading: Reading, run: Run) -> bool:
    """Return whether one person alone was present for everything private in a prompt."""
    readers, messages = reading.destination, reading.history.messages
    private = [entry.message for entry in reading.recalled if not entry.audience.open]
    if readers.open or len(readers.people) != 1:
        return False
    if written_by_others([*messages, *private], readers):
        return False
    return all(audience.open or audience == readers for audience in _audiences(reading, run))


def _audiences(reading: Reading, run: Run) -> Iterator[Audience]:
    """Yield the audience of each piece of content that a prompt may show."""
    yield reading.audience
    if reading.trigger.may_be_shown:
        yield run.audience
    history, items, workspace = reading.history, reading.items, reading.workspace
    elsewhere = reading.other_chats
    last_session = elsewhere.last_session.summary if elsewhere.last_session else None
    for summary in (history.before, history.fuller, elsewhere.borrowed, last_session):
        if summary is not None:
            yield summary.audience
    for thing in (*items.goals, *items.plans, *items.memories, *_threads(workspace)):
        yield thing.audience
    for shown in (*workspace.documents, *workspace.thread_documents):
        if shown.document is not None:
            yield shown.document.audience
    for entry in reading.recalled:
        yield entry.audience
    yield from _of_chats(reading)
    readers = reading.destination
    agent_summaries = (own.member.summary for own in elsewhere.elsewhere)
    origins = (message.origin for message in history.messages)
    quoted = [*agent_summaries, *origins]
    yield from (
        each.audience for each in quoted if each is not None and may_show(each.audience, readers)
    )


def _of_chats(reading: Reading) -> Iterator[Audience]:
    """Yield the readers of each chat that a prompt names."""
    if reading.trigger.home is not None:
        yield reading.trigger.home.readers
    for own in reading.other_chats.listed:
        yield own.chat.readers
    for live in reading.other_chats.live_runs:
        if live.chat is not None:
            yield live.chat.readers


def _threads(workspace: Workspace) -> Iterator[Thread]:
    """Yield the open threads of a workspace."""
    if workspace.threads.active is not None:
        yield workspace.threads.active
    yield from workspace.threads.pending
