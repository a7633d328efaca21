"""The agent's other chats, and its live runs in them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from skein.models.chats.chat import Chat, Membership
from skein.models.common.storage import Item, Key
from skein.models.runs.run import Run

SHOWN_CHATS = 20


@dataclass(frozen=True, slots=True)
class OwnChat:
    """One of the agent's chats, with the agent's membership."""

    chat: Chat
    member: Membership


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


def own_chats(found: dict[Key, Item], keys: Sequence[Key]) -> list[OwnChat]:
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

    def age(own: OwnChat) -> datetime:
        return own.chat.last_message_at or own.chat.created_at

    newest = sorted(others, key=age, reverse=True)[: SHOWN_CHATS - len(active)]
    return tuple(sorted([*active, *newest], key=age, reverse=True))


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
