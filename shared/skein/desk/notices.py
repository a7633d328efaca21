"""Notices that tell the people of a chat about its stay on the desk, each posted once."""

from dataclasses import dataclass

from skein.errors import Conflict, NotFound
from skein.models.chats.desk_stay import DeskStay
from skein.models.common.base import MemberRef
from skein.models.common.storage import Write
from skein.ports import Table
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.chats.post_message import Chats, NewMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskNotices:
    """The service that posts the notices of the desk, as an agent of the chat."""

    table: Table
    chats: Chats

    def post(
        self, stay: DeskStay, snapshot: ChatSnapshot, text: str, *, client_id: str, recorded: Write
    ) -> None:
        """Post a notice, and record in the same transaction that people were told.

        If no agent can post it or the chat accepts no more messages, the notice is only recorded.

        Args:
            snapshot: The chat as it was just read.
            client_id: The idempotency key of the notice.
            recorded: The write to the stay that records the notice.

        Raises:
            ConditionFailed, ExtraWriteFailed: The stay has changed meanwhile.
        """
        speaker = _speaker(stay, snapshot)
        if speaker is None:
            self.table.write(recorded)
            return
        notice = NewMessage(
            tenant=stay.tenant,
            chat_id=stay.chat_id,
            sender=speaker,
            kind="notice",
            text=text,
            client_id=client_id,
        )
        try:
            self.chats.post_message(notice, extra_writes=lambda _: (recorded,), known=snapshot)
        except (NotFound, Conflict):
            self.table.write(recorded)


def _speaker(stay: DeskStay, snapshot: ChatSnapshot) -> MemberRef | None:
    """Return the agent that posts the notices, or None if the chat has no agent.

    The agent that asked for a person comes first, then the first agent of the chat.
    """
    agents = sorted(snapshot.agents, key=lambda agent: agent.member.id)
    own = [agent for agent in agents if agent.member.id == stay.agent_id]
    return next((agent.member.ref for agent in own + agents), None)
