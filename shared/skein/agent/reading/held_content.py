"""The held content of a prompt, by which later posts are allowed or refused."""

from skein.agent.reading.reading import Reading
from skein.models.common.audience import may_show
from skein.models.common.ownership import DerivedItem
from skein.models.common.provenance import Authors
from skein.models.runs.run import HeldContent, Run
from skein.models.summaries.summary import PinnedSummary, Summary


def held_by(reading: Reading, run: Run) -> HeldContent:
    """Return the held content of a prompt that is made from a reading."""
    may_be_shown, borrowed = reading.trigger.may_be_shown, reading.other_chats.borrowed
    return HeldContent(
        chat_id=reading.chat.id if reading.chat is not None else None,
        readers=reading.destination,
        audience=reading.audience.narrowed(run.audience) if may_be_shown else reading.audience,
        authors=_authors_in(reading, run),
        borrowed=borrowed.shown if borrowed is not None else None,
    )


def _authors_in(reading: Reading, run: Run) -> Authors:
    """Return the people whose words a reading holds; the prompt may leave out some of them."""
    history, others, items = reading.history, reading.other_chats, reading.items
    workspace, threads = reading.workspace, reading.workspace.threads
    messages = [*history.messages, *(entry.message for entry in reading.recalled)]
    if reading.trigger.message is not None:
        messages.append(reading.trigger.message)
    senders = [message.sender.person_id for message in messages]
    if others.borrowed is not None:
        senders += [message.sender.person_id for message in others.borrowed.messages]
    if reading.person is not None:
        senders.append(reading.person.id)
    summaries: list[Summary | PinnedSummary | None] = [history.before, history.fuller]
    if others.last_session is not None:
        summaries.append(others.last_session.summary)
    summaries += [
        own.member.summary
        for own in others.elsewhere
        if own.member.summary and may_show(own.member.summary.audience, reading.destination)
    ]
    documents = [*workspace.documents, *workspace.thread_documents]
    owned: list[DerivedItem | None] = [
        *items.memories,
        *items.goals,
        *items.plans,
        *threads.pending,
    ]
    owned += [threads.active, *(shown.document for shown in documents)]
    plan = run.trigger.plan
    return Authors.in_digests(senders).joined(
        *(summary.authors for summary in summaries if summary is not None),
        *(each.authors for each in owned if each is not None),
        *([plan.authors] if plan is not None else []),
    )
