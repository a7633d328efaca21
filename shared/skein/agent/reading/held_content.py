"""The held content of a prompt, by which later posts are allowed or refused."""

from collections.abc import Iterable, Iterator

from skein.agent.reading.reader import Reading
from skein.models.chats.chat import Message
from skein.models.common.audience import Audience, may_show
from skein.models.runs.run import Held, Run
from skein.models.workspace.thread import Thread


def held_by(reading: Reading, run: Run) -> Held:
    """Return the held content of a prompt that is made from a reading."""
    audience = reading.audience.narrowed(run.audience) if reading.told else reading.audience
    return Held(
        chat_id=reading.chat.id if reading.chat is not None else None,
        readers=reading.destination,
        audience=audience,
        alone=_is_of_one_person(reading, run),
        borrowed=reading.borrowed.shown if reading.borrowed is not None else None,
    )


def said_by_others(messages: Iterable[Message], audience: Audience) -> bool:
    """Return whether a person outside the audience wrote any of the messages."""
    known = set(audience.people)
    return any(one.sender.kind == "user" and one.sender.id not in known for one in messages)


def _is_of_one_person(reading: Reading, run: Run) -> bool:
    """Return whether one person alone was present for everything private in a prompt."""
    readers = reading.destination
    if readers.open or len(readers.people) != 1 or said_by_others(reading.messages, readers):
        return False
    return all(audience.open or audience == readers for audience in _audiences(reading, run))


def _audiences(reading: Reading, run: Run) -> Iterator[Audience]:
    """Yield the audience of each piece of content that a prompt may show."""
    yield reading.audience
    if reading.told:
        yield run.audience
    for summary in (reading.before, reading.fuller, reading.borrowed):
        if summary is not None:
            yield summary.audience
    for thing in (*reading.goals, *reading.plans, *reading.memories, *_threads(reading)):
        yield thing.audience
    for shown in (*reading.documents, *reading.thread_documents):
        if shown.document is not None:
            yield shown.document.audience
    yield from _of_chats(reading)
    readers = reading.destination
    notes = (own.member.summary for own in reading.elsewhere)
    origins = (message.origin for message in reading.messages)
    quoted = [*notes, *origins]
    yield from (
        each.audience for each in quoted if each is not None and may_show(each.audience, readers)
    )


def _of_chats(reading: Reading) -> Iterator[Audience]:
    """Yield the readers of each chat that a prompt names."""
    if reading.home is not None:
        yield reading.home.readers
    for own in reading.chats:
        yield own.chat.readers
    for live in reading.live_runs:
        if live.chat is not None:
            yield live.chat.readers


def _threads(reading: Reading) -> Iterator[Thread]:
    """Yield the open threads of a reading."""
    if reading.threads.active is not None:
        yield reading.threads.active
    yield from reading.threads.pending
