"""Record what a prompt contains, because this limits where the run may post later."""

from skein.agent.sections.borrowed import BorrowedItems
from skein.agent.sections.trigger import ShownTrigger
from skein.agent.sections.your_chats import YourChats
from skein.interface.history import History
from skein.interface.reading import Reading
from skein.models.runs.run import BY_VERSIONS, HeldContent, Run
from skein.models.visibility.provenance import NO_AUTHORS, Authors
from skein.models.visibility.sharing_rules import SharingStamp
from skein.recall.disclosures import stamp_of
from skein.recall.sections import RecalledMessages


def held_by(reading: Reading, run: Run) -> HeldContent:
    """Return a record of the content of a prompt built from this reading."""
    may_be_shown = reading.of(ShownTrigger).may_be_shown
    borrowed, authors = reading.of(BorrowedItems).context, _authors_in(reading, run)
    return HeldContent(
        chat_id=reading.chat.id if reading.chat is not None else None,
        readers=reading.destination,
        audience=reading.audience.narrowed(run.audience) if may_be_shown else reading.audience,
        authors=authors,
        outsiders=not reading.insiders.wrote(authors),
        beyond_session=_goes_beyond_session(reading, run),
        borrowed=borrowed.shown if borrowed is not None else None,
        sharing_epoch=BY_VERSIONS if told_by_rules(reading) is not None else None,
    )


def told_by_rules(reading: Reading) -> SharingStamp | None:
    """Return the record of what a prompt shows because of sharing rules; None if nothing."""
    rules = reading.sharing.for_readers if reading.sharing is not None else None
    return stamp_of(reading.of(RecalledMessages).entries, rules) if rules is not None else None


def _authors_in(reading: Reading, run: Run) -> Authors:
    """Return the people whose words are in a prompt's data, even in data that the prompt omits."""
    person, plan = reading.person, run.trigger.plan
    return Authors.in_digests([person.id] if person is not None else []).joined(
        *(authors for items in reading.items for authors in items.authors()),
        *([plan.authors] if plan is not None else []),
    )


def _goes_beyond_session(reading: Reading, run: Run) -> bool:
    """Return whether the data for a prompt has people's words from outside the current session."""
    chat, plan, history = reading.chat, run.trigger.plan, reading.of(History)
    if chat is None or (reading.person is not None and reading.person.profile):
        return True
    first_seq = chat.session.first_seq if chat.session is not None else 1
    trigger, listed = reading.of(ShownTrigger), reading.of(YourChats).listed
    here = {History, YourChats} | (
        {ShownTrigger} if trigger.home is None or trigger.home.id == chat.id else set()
    )
    elsewhere = [
        *(
            words
            for items in reading.items
            if type(items) not in here and not items.cites
            for words in items.authors()
        ),
        *(own.chat.title_authors for own in listed if own.chat.id != chat.id),
        *([plan.authors] if plan is not None else []),
    ]
    summaries = (each for each in (history.before, history.fuller) if each is not None)
    seqs = [message.seq for message in history.messages] + [each.from_seq for each in summaries]
    return (
        any(words != NO_AUTHORS for words in elsewhere) or min(seqs, default=first_seq) < first_seq
    )
