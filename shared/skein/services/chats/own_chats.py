"""Read an agent's chats and messages, and check that readers in other chats may see them."""

from dataclasses import dataclass

from skein.errors import ConditionFailed, Conflict, Forbidden, LostLease, NotFound
from skein.models.chats.borrowed import BorrowedContext
from skein.models.chats.chat import Chat, Message, chat_partition
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef
from skein.models.common.storage import Put, Query
from skein.models.visibility.audience import Audience, may_show
from skein.ports import Table
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.runs.claim import Claim
from skein.services.visibility.audience import audience_of

NOT_YOURS = "chat not found: you are not a member of a chat with this id"
ROWS_READ = 50  # query at least this many rows, because some are keywords and notices


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnChats:
    """The service that reads an agent's chats, and stores messages to show in another chat."""

    table: Table

    def snapshot(self, tenant: str, chat_id: str) -> ChatSnapshot:
        """Read a chat's snapshot.

        Raises:
            NotFound: The chat does not exist in this tenant.
        """
        return read_snapshot(self.table, tenant, chat_id)

    def get(self, tenant: str, agent: MemberRef, chat_id: str) -> tuple[Chat, Membership]:
        """Read one of an agent's chats, and the agent's membership in it.

        Raises:
            NotFound: The chat does not exist, or the agent is not a member.
            Conflict: The chat is discarded.
        """
        try:
            snapshot = self.snapshot(tenant, chat_id)
        except NotFound:
            raise NotFound(NOT_YOURS) from None
        member = snapshot.member(agent)
        if member is None:
            raise NotFound(NOT_YOURS)
        if snapshot.chat.discarded_at is not None:
            raise Conflict("this chat is discarded")
        return snapshot.chat, member

    def newest_messages(
        self,
        chat: Chat,
        limit: int,
        *,
        here: Chat | None,
        readers: Audience,
        before: int | None = None,
    ) -> tuple[list[Message], Audience]:
        """Read a chat's newest messages and their audience.

        Messages that a reset hides are left out. If the messages will be shown in another chat,
        messages that may repeat what a sharing rule disclosed are left out, too.

        Args:
            chat: The chat as it was just read. Later messages are left out, because their audience
                is not known.
            here: The chat in which the messages will be shown; None if they are not shown in a
                chat.
            readers: The people to whom the messages will be shown; ignored if `here` is `chat`.
            before: Only messages with a lower `seq`.

        Returns:
            The conversation messages, oldest first, and the people who were present for all these
                messages.

        Raises:
            Forbidden: The messages are private, and the readers may not see them.
        """
        end = chat.last_seq if before is None else min(before - 1, chat.last_seq)
        page = self.table.query(
            Query(
                chat_partition(chat.tenant, chat.id),
                first=Message.PREFIX,
                last=Message.key_of(chat.tenant, chat.id, end).sk,
                limit=max(limit, ROWS_READ),
                newest_first=True,
            )
        )
        read = [chat.as_now(each) for each in Message.each_of(reversed(page.items))]
        elsewhere = here is None or here.id != chat.id
        messages = [
            message
            for message in read
            if message.conversational
            and not (elsewhere and message.words.by_rule)
            and not chat.hides(message.seq, message.created_at, here=here)
        ][-limit:]
        audience = audience_of(chat, since_seq=messages[0].seq if messages else chat.last_seq)
        if elsewhere and not may_show(audience, readers):
            raise Forbidden(
                "that chat is private; its messages must not be shown to the members of this chat"
            )
        return messages, audience

    def stage(self, borrowed: BorrowedContext, claim: Claim) -> None:
        """Store messages of another chat, for the agent's next prompt in `borrowed.chat_id`.

        Raises:
            LostLease: Another worker has claimed the run.
        """
        try:
            self.table.transact([Put(borrowed.key, borrowed.to_item()), claim.guard])
        except ConditionFailed as failure:
            raise LostLease(claim.run.id) from failure
