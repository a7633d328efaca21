"""A chat's counters as one more message leaves them, and what is behind because of it."""

from datetime import datetime, timedelta
from typing import NamedTuple

from skein.models.chat import Message
from skein.models.jobs import Job, UpkeepJob
from skein.models.storage import Is, Update, Write
from skein.services.freshness import renewals
from skein.services.quiet import full_hour, marked, quiet_at
from skein.services.roster import Room
from skein.services.windows import pinned
from skein.settings import Settings


class Counted(NamedTuple):
    """The writes that count a message, and the jobs that may be done at once after it."""

    writes: tuple[Write, ...]
    jobs: tuple[Job, ...]


def counted(room: Room, message: Message, now: datetime, settings: Settings) -> Counted:
    """Raise a chat's counters, and leave it due for whatever `message` puts behind.

    The mark is only ever brought forward here; upkeep alone takes it away. Where the message moves
    the window on, and the chat's summary covers what falls out of it, that summary is pinned. The
    first message after a consolidation leaves the chat due for the next one; later ones change
    nothing of that, unless failures have put it off for longer.
    """
    chat = room.chat
    hour = message.created_at.replace(minute=0, second=0, microsecond=0)
    busier = chat.model_copy(
        update={
            "last_seq": message.seq,
            "last_message": message.preview(),
            "version": chat.version + 1,
            "activity_hour": max(hour, chat.activity_hour),
        }
    )
    stored = busier.attributes()
    names = ("last_seq", "last_message", "version", "activity_hour")
    change = {name: stored[name] for name in names}
    pin = pinned(busier, chat.record, settings)
    if pin is not None and pin != chat.pinned:
        change["pinned"] = pin.model_dump(mode="json")
    soon = now + timedelta(seconds=settings.outbox_grace_seconds)
    times = [chat.upkeep_at] if chat.upkeep_at else []
    jobs: list[Job] = []
    if hour > chat.activity_hour:
        times.append(soon)
        jobs.append(UpkeepJob(tenant=chat.tenant, chat_id=chat.id))
    if message.kind == "text":
        for renewal in renewals(busier, room.agents, settings):
            times.append(max(renewal.at, soon))
            if renewal.at <= now:
                jobs.append(renewal.job)
    if times and min(times) != chat.upkeep_at:
        change |= chat.upkeep(min(times))
    beside: list[Write] = []
    if message.kind == "text" and chat.consolidate:
        at = full_hour(quiet_at(busier, settings))
        if chat.consolidation_at is None or at < chat.consolidation_at:
            mark = marked(chat, at)
            change |= mark.change
            beside.append(mark.write)
    write = Update(chat.key, set=change, condition=Is("version", chat.version))
    return Counted((write, *beside), tuple(jobs))
