"""How far a run may carry what it was told in private (DESIGN section 5, invariant 8)."""

from skein.agent.reading import Reading
from skein.errors import Failed
from skein.models.run import Run
from skein.services.roster import Room


def check_reach(run: Run, reading: Reading, room: Room) -> None:
    """Refuse to say anything in `room` that whoever confided in the run could not hear there.

    A run that was triggered in a private chat may send elsewhere only where whoever triggered it is
    a member; without such a person, only where everybody is who was there. Likewise a run that has
    waited in another private chat, and is shown that, may send elsewhere only where whoever
    answered is a member.

    Args:
        run: About to send.
        reading: What its prompt was made from.
        room: Where it is to be said, as it was just read.

    Raises:
        Failed: Somebody is missing there.
    """
    people = {member.id for member in room.chat.roster if member.kind == "user"}
    for confidants in (_at_home(run, room), _where_it_waited(run, reading, room)):
        if confidants is not None and not (confidants and confidants <= people):
            raise Failed("this would carry what was said in private to where its people are not")


def _at_home(run: Run, room: Room) -> set[str] | None:
    if run.audience.open or room.chat.id == run.chat_id:
        return None
    by = run.trigger.by
    if by is not None and by.kind == "user":
        return {by.id}
    return set(run.audience.people)


def _where_it_waited(run: Run, reading: Reading, room: Room) -> set[str] | None:
    chat = reading.chat
    if chat is None or reading.destination.open or chat.id in {run.chat_id, room.chat.id}:
        return None
    answered = run.resumed.seq if run.resumed else None
    for message in reading.messages:
        if message.seq == answered and message.sender.kind == "user":
            return {message.sender.id}
    return set(reading.destination.people)
