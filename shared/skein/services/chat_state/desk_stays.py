"""Put chats on the desk, where a person of the team can take them over.

A stay is the time that a chat spends on the desk.
"""

import re
from datetime import datetime, timedelta
from typing import NamedTuple

from skein.models.chats.chat import Chat, Message
from skein.models.chats.desk import DeskReason, DeskState
from skein.models.chats.desk_stay import DeskStay
from skein.models.common.base import Identifier, Value
from skein.models.common.storage import Missing, Put
from skein.models.config.desk import DeskSettings
from skein.models.outbox.due import due_pointer
from skein.models.outbox.jobs import DeskJob
from skein.models.visibility.provenance import NO_AUTHORS, NOTHING, Authors, MadeFrom
from skein.ports import Table
from skein.services.config.retention import kept_until, message_days
from skein.services.outbox.dispatch import OUTBOX_GRACE

MAX_REASON = 300  # characters of the reason that an agent gives
MAX_SUMMARY = 1_000  # characters of a request's summary


class DeskRequest(Value):
    """Why a chat is put on the desk.

    Attributes:
        agent_id: The agent that asked for a person of the team, or whose answers or tool failed;
            None if no agent is involved.
        reason: The reason in the agent's words. Only the person of the team who takes the chat sees
            it.
        summary: A summary of the matter. Only the person of the team who takes the chat sees it.
        authors: The people whose words the reason and the summary may contain, as digests.
        made_from: The messages from which the agent made the reason and the summary.
    """

    reason_code: DeskReason
    agent_id: Identifier | None = None
    reason: str | None = None
    summary: str | None = None
    authors: Authors = NO_AUTHORS
    made_from: MadeFrom = NOTHING


class BegunStay(NamedTuple):
    """A new stay on the desk: the state for the chat's item, and the write that stores the stay."""

    desk: DeskState
    stay: DeskStay
    write: Put

    @property
    def job(self) -> DeskJob:
        """The job that notifies the people of the chat."""
        return job_of(self.stay)


def begun(chat: Chat, stay_id: str, request: DeskRequest, now: datetime) -> BegunStay:
    """Build the stay that puts a chat on the desk, to wait for a person of the team.

    The caller stores the state in the attribute `desk` of the chat's item, in the transaction that
    stores the stay. After the commit, the caller sends the job.

    Args:
        chat: The chat, which is not on the desk.
        stay_id: The id of the stay, `dsk_...`.
    """
    stay = DeskStay(
        tenant=chat.tenant,
        chat_id=chat.id,
        id=stay_id,
        since=now,
        expires_at=kept_until(now, message_days(chat.retention)),
        **dict(request),
    )
    desk = DeskState(
        session=stay.id,
        since=now,
        reason_code=request.reason_code,
        agent_id=request.agent_id,
    )
    due = due_pointer("desk", stay.key, now + OUTBOX_GRACE)
    return BegunStay(desk, stay, Put(stay.key, stay.to_item() | due, Missing()))


def asked_in_words(message: Message, chat: Chat, words: tuple[str, ...]) -> bool:
    """Return whether a person's message contains a word that puts its chat on the desk.

    The result is False for chats without agents and for chats that are on the desk already. It is
    also False for answers to choices, words that an agent proposed, and resets.

    Args:
        chat: The chat before the message.
        words: The tenant's words that put a chat on the desk.
    """
    if not words or message.kind != "text" or message.sender.kind != "user":
        return False
    if message.answers is not None or message.via is not None or message.resets:
        return False
    if chat.desk is not None or not any(member.kind == "agent" for member in chat.roster):
        return False
    pattern = rf"(?<!\w)({'|'.join(re.escape(word.casefold()) for word in words)})(?!\w)"
    return re.search(pattern, " ".join(message.text.casefold().split())) is not None


def job_of(stay: DeskStay) -> DeskJob:
    return DeskJob(tenant=stay.tenant, chat_id=stay.chat_id, stay_id=stay.id)


def read_stay(table: Table, chat: Chat) -> DeskStay | None:
    """Read a chat's current stay on the desk; return None if the chat is not on the desk."""
    if chat.desk is None:
        return None
    return DeskStay.read(table, DeskStay.key_of(chat.tenant, chat.id, chat.desk.session))


def silence(settings: DeskSettings) -> timedelta:
    """Return how long the team may be silent before a chat goes back to its agents."""
    return timedelta(minutes=settings.desk_silence_minutes)
