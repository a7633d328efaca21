"""The held content of a prompt, by which later posts are allowed or refused."""

from skein.agent.reading.reading import Reading
from skein.models.runs.run import HeldContent, Run


def held_by(reading: Reading, run: Run) -> HeldContent:
    """Return the held content of a prompt that is made from a reading."""
    may_be_shown, borrowed = reading.trigger.may_be_shown, reading.other_chats.borrowed
    return HeldContent(
        chat_id=reading.chat.id if reading.chat is not None else None,
        readers=reading.destination,
        audience=reading.audience.narrowed(run.audience) if may_be_shown else reading.audience,
        borrowed=borrowed.shown if borrowed is not None else None,
    )
