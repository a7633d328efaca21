"""Begin and read stays of chats on the desk."""

from datetime import datetime, timedelta
from typing import NamedTuple

from skein.desk.models.stay import DeskStay
from skein.models.chats.chat import Chat
from skein.models.chats.desk import DeskReason, DeskState
from skein.models.common.provenance import NO_AUTHORS, Authors
from skein.models.common.storage import Missing, Put
from skein.models.config.desk import DeskSettings
from skein.ports import Table
from skein.services.config.retention import kept_until, message_days

MAX_SUMMARY = 1_000  # characters of a request's summary


class BegunStay(NamedTuple):
    """The first state of a stay, for the chat's item, and the write of the stay's own item."""

    desk: DeskState
    stay: DeskStay
    write: Put


def begun(
    chat: Chat,
    stay_id: str,
    reason_code: DeskReason,
    now: datetime,
    *,
    agent_id: str | None = None,
    summary: str | None = None,
    authors: Authors = NO_AUTHORS,
) -> BegunStay:
    """Put a chat on the desk, where it waits for a person of the team.

    The caller writes the state as `desk` of the chat's item, in the same transaction.

    Args:
        chat: The chat, which is not on the desk.
        stay_id: The id of the stay, `dsk_<ulid>`.
        agent_id: The agent that asks.
        summary: What the matter is, for the holder only.
        authors: The people whose words the summary may hold, by digest.
    """
    stay = DeskStay(
        tenant=chat.tenant,
        chat_id=chat.id,
        id=stay_id,
        since=now,
        reason_code=reason_code,
        agent_id=agent_id,
        summary=summary[:MAX_SUMMARY] if summary else None,
        authors=authors,
        expires_at=kept_until(now, message_days(chat.retention)),
    )
    desk = DeskState(session=stay.id, since=now, reason_code=reason_code, agent_id=agent_id)
    return BegunStay(desk, stay, Put(stay.key, stay.to_item(), Missing()))


def read_stay(table: Table, chat: Chat) -> DeskStay | None:
    """Read the stay of a chat on the desk; None if the chat is not there."""
    if chat.desk is None:
        return None
    item = table.get(DeskStay.key_of(chat.tenant, chat.id, chat.desk.session))
    return DeskStay.from_item(item) if item is not None else None


def silence(settings: DeskSettings) -> timedelta:
    """Return how long a holder may be silent before the chat goes back by itself."""
    return timedelta(minutes=settings.desk_silence_minutes)
