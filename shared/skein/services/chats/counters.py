"""A chat's counters as one more message leaves them, and what is behind because of it."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from skein.models.chat import Chat, Message
from skein.models.jobs import Job, UpkeepJob
from skein.models.storage import Is, Update, Write
from skein.ports import Ids
from skein.services.chat_state.history_window import pinned
from skein.services.chat_state.sessions import session_with
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.config.resolution import effective_in
from skein.services.memory.consolidation_schedule import full_hour, marked, quiet_at
from skein.services.summaries.staleness import renewals
from skein.settings import Settings

SUMMARIES = ("record", "record_state", "pinned")


class Counted(NamedTuple):
    """The writes that count a message, and the jobs that may be done at once after it."""

    writes: tuple[Write, ...]
    jobs: tuple[Job, ...]


def counted(
    snapshot: ChatSnapshot, message: Message, now: datetime, *, ids: Ids, settings: Settings
) -> Counted:
    """Raise a chat's counters, and leave it due for whatever `message` puts behind.

    The mark is only ever brought forward here; upkeep alone takes it away. Where the message moves
    the window on, and the chat's summary covers what falls out of it, that summary is pinned. Where
    it asks to start anew, the summaries of what was said before go. The first message after a
    consolidation leaves the chat due for the next one; later ones change nothing of that, unless
    failures have put it off for longer.

    Args:
        snapshot: As it was read, with the settings that a person's message brings along.
        message: Numbered.
        now: The present.
        ids: Where a new session's id comes from.
        settings: Of the deployment.
    """
    chat = snapshot.chat
    busier, change = _with(chat, message, ids=ids, settings=settings)
    hour = message.created_at.replace(minute=0, second=0, microsecond=0)
    soon = now + timedelta(seconds=settings.outbox_grace_seconds)
    times = [chat.upkeep_at] if chat.upkeep_at else []
    jobs: list[Job] = []
    if hour > chat.activity_hour:
        times.append(soon)
        jobs.append(UpkeepJob(tenant=chat.tenant, chat_id=chat.id))
    if message.kind == "text":
        for renewal in renewals(busier, snapshot.agents, settings):
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


def _with(
    chat: Chat, message: Message, *, ids: Ids, settings: Settings
) -> tuple[Chat, dict[str, Any]]:
    """The chat with one message more, and the attributes that change."""
    hour = message.created_at.replace(minute=0, second=0, microsecond=0)
    busier = chat.model_copy(
        update={
            "last_seq": message.seq,
            "last_message": message.preview(),
            "version": chat.version + 1,
            "activity_hour": max(hour, chat.activity_hour),
            "session": session_with(chat, message, effective_in(chat, settings), ids),
        }
    )
    names = ["last_seq", "last_message", "version", "activity_hour"]
    if chat.kind == "direct":
        names += ["session", "overrides"]
    if message.resets:
        # A summary that is being made right now is not kept either: its claim is gone.
        busier = busier.model_copy(update=dict.fromkeys(SUMMARIES))
        names += SUMMARIES
    pin = pinned(busier, busier.record, settings)
    if pin is not None and pin != busier.pinned:
        busier = busier.model_copy(update={"pinned": pin})
        names.append("pinned")
    stored = busier.attributes()
    return busier, {name: stored.get(name) for name in names}
