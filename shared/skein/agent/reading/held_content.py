"""The held content of a prompt, by which later posts are allowed or refused."""

from skein.agent.sections.borrowed import BorrowedItems
from skein.agent.sections.trigger import ShownTrigger
from skein.interface.reading import Reading
from skein.models.common.provenance import Authors
from skein.models.runs.run import HeldContent, Run


def held_by(reading: Reading, run: Run) -> HeldContent:
    """Return the held content of a prompt that is made from a reading."""
    may_be_shown = reading.of(ShownTrigger).may_be_shown
    borrowed, authors = reading.of(BorrowedItems).context, _authors_in(reading, run)
    return HeldContent(
        chat_id=reading.chat.id if reading.chat is not None else None,
        readers=reading.destination,
        audience=reading.audience.narrowed(run.audience) if may_be_shown else reading.audience,
        authors=authors,
        outsiders=not reading.insiders.wrote(authors),
        borrowed=borrowed.shown if borrowed is not None else None,
    )


def _authors_in(reading: Reading, run: Run) -> Authors:
    """Return the people whose words a reading holds; the prompt may leave out some of them."""
    person, plan = reading.person, run.trigger.plan
    return Authors.in_digests([person.id] if person is not None else []).joined(
        *(authors for items in reading.items for authors in items.authors()),
        *([plan.authors] if plan is not None else []),
    )
