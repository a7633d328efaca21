"""The push jobs that follow from changes of the table, for the live channel."""

from collections.abc import Iterable, Iterator

from skein.models.chats.chat import Chat, Message
from skein.models.chats.media import MediaFile
from skein.models.chats.membership import Membership
from skein.models.outbox.changes import ItemChange
from skein.models.outbox.jobs import MAX_LIVE_EVENTS, LiveEvent, PushJob
from skein.models.runs.run import Run
from skein.models.runs.step import Step

SHOWN_OF_MESSAGE = ("text", "kind", "sender", "media", "files", "choice")
SHOWN_OF_MEDIA = ("state", "description")
SHOWN_OF_CHAT = ("title", "roster", "owners", "invited", "respond", "consolidate", "discarded_at")


def push_of_message(change: ItemChange) -> Iterator[PushJob]:
    """Yield the job of a message that is new or was rewritten; none if the message has expired."""
    if change.after is None or not change.alters(*SHOWN_OF_MESSAGE):
        return
    message = change.new(Message)
    kind = "message" if change.before is None else "changed"
    yield _job(message.tenant, message.chat_id, LiveEvent(type=kind, seq=message.seq))


def push_of_media(change: ItemChange) -> Iterator[PushJob]:
    """Yield the job of a message if the data that it shows about one of its files has changed."""
    if change.before is None or change.after is None or not change.alters(*SHOWN_OF_MEDIA):
        return
    file = change.new(MediaFile)
    if file.seq is not None:
        yield _job(file.tenant, file.chat_id, LiveEvent(type="changed", seq=file.seq))


def push_of_run(change: ItemChange) -> Iterator[PushJob]:
    """Yield the job of a chat's run whose status or reason has changed."""
    if change.after is None or Step.is_stored_as(change.after):
        return
    if not change.alters("status", "reason"):
        return
    run = change.new(Run)
    if run.chat_id is not None and Run.lives_in(run.id, run.chat_id):
        yield _job(run.tenant, run.chat_id, LiveEvent(type="run", run_id=run.id))


def push_of_membership(change: ItemChange) -> Iterator[PushJob]:
    """Yield the job of a member whose read mark has moved."""
    if change.before is None or change.after is None or not change.alters("seen_seq"):
        return
    membership = change.new(Membership)
    event = LiveEvent(type="read", member=membership.member.ref)
    yield _job(membership.tenant, membership.chat_id, event)


def push_of_closed_membership(change: ItemChange) -> Iterator[PushJob]:
    """Yield the job of a person who has left a chat or was removed."""
    if change.before is not None or change.after is None:
        return
    membership = change.new(Membership)
    if membership.member.kind == "user":
        event = LiveEvent(type="left", member=membership.member.ref)
        yield _job(membership.tenant, membership.chat_id, event)


def push_of_chat(change: ItemChange) -> Iterator[PushJob]:
    """Yield the jobs of a chat that is new or has changed, and of its invitations."""
    if change.after is None or not change.alters(*SHOWN_OF_CHAT):
        return
    if "roster" not in change.after:  # `META` of something else
        return
    chat = change.new(Chat)
    yield _job(chat.tenant, chat.id, LiveEvent(type="chat"))
    former = change.old(Chat)
    before = former.invited if former is not None else ()
    for invited in dict.fromkeys([*before, *chat.invited]):
        if not (invited in before and invited in chat.invited):
            event = LiveEvent(type="invitation", member=invited.member.ref)
            yield _job(chat.tenant, chat.id, event)


def merged_pushes(jobs: Iterable[PushJob]) -> PushJob:
    """Merge the jobs of one chat into one job; too many events become one `resync`.

    The events of people who have left or are invited are kept even then, because a `resync` is only
    sent to members.
    """
    first, *rest = jobs
    events = dict.fromkeys([*first.events, *(event for job in rest for event in job.events)])
    if len(events) > MAX_LIVE_EVENTS:
        outside = [event for event in events if event.type in {"left", "invitation"}]
        kept = outside[: MAX_LIVE_EVENTS - 1]
        return first.model_copy(update={"events": (*kept, LiveEvent(type="resync"))})
    return first.model_copy(update={"events": tuple(events)})


def _job(tenant: str, chat_id: str, event: LiveEvent) -> PushJob:
    return PushJob(tenant=tenant, chat_id=chat_id, events=(event,))
