"""The agent's other chats, its live runs in them, and borrowed context."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from skein.models.chats.borrowed import BorrowedContext
from skein.models.chats.chat import Chat, Membership
from skein.models.common.audience import Audience, may_show
from skein.models.common.base import NamedMember
from skein.models.common.storage import Item, Key
from skein.models.runs.run import LIVE_RUN, Run
from skein.models.summaries.summary import Summary
from skein.services.chat_state.audience import destination_of
from skein.services.chat_state.sessions import reset_in

SHOWN_CHATS = 20


@dataclass(frozen=True, slots=True)
class OwnChat:
    """One of the agent's chats, with the agent's membership."""

    chat: Chat
    member: Membership

    @property
    def last_active_at(self) -> datetime:
        """The time of the last message; of the chat's creation if there is no message."""
        return self.chat.last_message_at or self.chat.created_at

    def has(self, person: NamedMember) -> bool:
        """Tell whether a person is a member of the chat."""
        return self.chat.has(person.ref)


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A run of the agent that has not ended.

    Attributes:
        chat: The chat in which the run works or waits; None for a run without a chat.
        waiting: Whether the run waits for a reply in that chat.
        named: Whether the run's id may be shown. The id of a run contains the id of its home chat.
    """

    run_id: str
    chat: Chat | None
    waiting: bool
    named: bool = True


@dataclass(frozen=True, slots=True)
class LastSession:
    """The last session of a direct chat's person, if it was in another direct chat.

    Attributes:
        chat: The other direct chat of the same person and the same agent.
        summary: The chat summary of that chat.
    """

    chat: Chat
    summary: Summary


@dataclass(frozen=True, slots=True)
class OtherChats:
    """The agent's chats besides the active one, and its live runs.

    Attributes:
        listed: The most recently active chats that may be shown, including the active chat, newest
            first. If all of them fit, they are in the order of creation instead.
        complete: Whether `listed` is complete. The list then stays the same when new messages
            arrive.
        elsewhere: All other chats that were read. Their agent summaries may be shown even where
            the chats may not.
        person: The person of the active chat, if that is a direct chat.
        last_session: The last session of that person, if it was elsewhere and may be shown.
        live_runs: The live runs that may be shown.
        borrowed: The borrowed context of this activation, if it may be shown.
    """

    listed: tuple[OwnChat, ...] = ()
    complete: bool = False
    elsewhere: tuple[OwnChat, ...] = ()
    person: NamedMember | None = None
    last_session: LastSession | None = None
    live_runs: tuple[LiveRun, ...] = ()
    borrowed: BorrowedContext | None = None


def found_other_chats(
    active: Sequence[OwnChat],
    others: Sequence[OwnChat],
    owned: Sequence[Item],
    staged: Item | None,
    readers: Audience,
    *,
    person: NamedMember | None,
    all_read: bool,
) -> OtherChats:
    """Return the agent's other chats as far as they may be shown.

    Args:
        active: The active chat, if there is one.
        others: All other chats that were read.
        owned: The agent's items that were read, with the marks of its runs without a chat.
        staged: The item of borrowed context for the active chat, if there is one.
        readers: The readers of the active chat.
        person: The person of the active chat, if that is a direct chat.
        all_read: Whether `others` holds all other chats of the agent.
    """
    shown = [other for other in others if may_show(destination_of(other.chat), readers)]
    complete = all_read and len(active) + len(shown) <= SHOWN_CHATS
    listed = as_made([*active, *shown]) if complete else newest_chats(active, shown)
    lone = [
        item["run_id"]
        for item in owned
        if LIVE_RUN.holds(item) and may_show(Audience.model_validate(item["audience"]), readers)
    ]
    borrowed = BorrowedContext.from_item(staged) if staged is not None else None
    return OtherChats(
        listed=listed,
        complete=complete,
        elsewhere=tuple(others),
        person=person,
        last_session=_last_session(active, others, person, readers),
        live_runs=live_runs(listed, lone, homes={own.chat.id for own in (*active, *shown)}),
        borrowed=borrowed if _may_be_shown(borrowed, (*active, *others), readers) else None,
    )


def _may_be_shown(
    borrowed: BorrowedContext | None, chats: Iterable[OwnChat], readers: Audience
) -> bool:
    """Return whether borrowed context may be shown, and no later reset hides the context.

    A reset counts both in the chat that borrowed and in the chat that the messages are from.
    """
    if borrowed is None or not may_show(borrowed.audience, readers):
        return False
    involved = {borrowed.chat_id, borrowed.source_chat_id}
    sessions = [own.chat.session for own in chats if own.chat.id in involved]
    resets = [session.reset_at for session in sessions if session is not None]
    return all(at is None or at <= borrowed.created_at for at in resets)


def own_chats(found: Mapping[Key, Item], keys: Sequence[Key]) -> list[OwnChat]:
    """Return the undiscarded chats in which the agent is an active member.

    Args:
        found: The items that were read.
        keys: The key of a chat, the key of the agent's membership, and so on in pairs.
    """
    chats = []
    for chat_key, member_key in zip(keys[::2], keys[1::2], strict=True):
        if chat_key not in found or member_key not in found:
            continue
        chat = Chat.from_item(found[chat_key])
        member = Membership.from_item(found[member_key])
        if member.active and chat.discarded_at is None:
            chats.append(OwnChat(chat, member))
    return chats


def as_made(chats: Sequence[OwnChat]) -> tuple[OwnChat, ...]:
    """Sort chats by creation, an order that new messages do not change."""
    return tuple(sorted(chats, key=lambda own: (own.chat.created_at, own.chat.id)))


def newest_chats(active: Sequence[OwnChat], others: Sequence[OwnChat]) -> tuple[OwnChat, ...]:
    """Return the active chat and the newest others, newest first, 20 in all."""
    newest = newest_first(others)[: SHOWN_CHATS - len(active)]
    return tuple(newest_first([*active, *newest]))


def newest_first(chats: Sequence[OwnChat]) -> list[OwnChat]:
    """Sort chats by their last message, newest first."""
    return sorted(chats, key=lambda own: own.last_active_at, reverse=True)


def _last_session(
    active: Sequence[OwnChat],
    others: Sequence[OwnChat],
    person: NamedMember | None,
    readers: Audience,
) -> LastSession | None:
    """Return the person's last session, if it was not in the active chat.

    A session that began with a reset shows no session from before the reset.
    """
    if person is None or not active:
        return None
    session = active[0].chat.session
    theirs = [own for own in others if own.chat.kind == "direct" and own.has(person)]
    if not theirs:
        return None
    newest = newest_first(theirs)[0]
    chat, summary, at = newest.chat, newest.chat.summary, newest.last_active_at
    if session is not None:
        since = session.started_at if session.reset else session.before_at
        if since is not None and at <= since:
            return None
    if summary is None or summary.from_seq < reset_in(chat):
        return None
    return LastSession(chat, summary) if may_show(summary.audience, readers) else None


def live_runs(
    chats: Sequence[OwnChat], lone: Sequence[str], *, homes: Collection[str]
) -> tuple[LiveRun, ...]:
    """Return the live runs of `chats` and those without a chat, each once.

    A run without a chat may wait in a chat. It is then returned as waiting there. A run of a
    private chat may wait in an open chat. Its id is not shown there.

    Args:
        chats: The chats that are shown.
        lone: The ids of runs without a chat that may be shown.
        homes: The ids of all chats that may be shown.
    """
    live = {run_id: LiveRun(run_id, None, waiting=False) for run_id in lone}
    for own in chats:
        running, wait = own.member.running_run, own.member.wait
        if running is not None:
            live[running] = LiveRun(running, own.chat, waiting=False)
        if wait is not None:
            named = wait.run_id in lone or Run.home_of(wait.run_id) in homes
            live[wait.run_id] = LiveRun(wait.run_id, own.chat, waiting=True, named=named)
    return tuple(live.values())
