"""Take the answers that invited people give in the app.

Invitations are stored by `services/chats/invitations.py`. `invitation_texts` asks invited people by
SMS.
"""

from dataclasses import dataclass

from skein.models.chats.chat import Message
from skein.models.chats.choice import NO, YES, ChoiceAnswer
from skein.models.chats.person_choices import OpenChoice
from skein.models.common.base import MemberRef
from skein.models.common.storage import Write
from skein.ports import Clock, Table
from skein.services.chat_state.person_choices import invitation_to, read_choices
from skein.services.chats.invitations import answered, ended_choice
from skein.services.common.optimistic import optimistic


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitations:
    """The service that takes the answers of invited people."""

    table: Table
    clock: Clock

    def answer(self, tenant: str, chat_id: str, person: MemberRef, *, accept: bool) -> None:
        """Accept or decline an invitation; accepting again has no further effect.

        Raises:
            NotFound: The chat does not exist, or the person is not invited to it.
            Conflict: The invitation has expired, the chat is discarded, or the person declines but
                is already a member.
        """

        def attempt() -> None:
            now = self.clock.now()
            listed = invitation_to(read_choices(self.table, tenant, person.id, now), chat_id)
            joins = answered(self.table, tenant, chat_id, person.id, accept=accept, now=now)
            if joins is None:
                return
            ended = ended_choice(self.table, tenant, chat_id, person.id, now)
            question = self._question(tenant, listed, accept=accept) if listed else []
            self.table.transact([*joins, ended, *question])

        optimistic(self.clock, attempt)

    def _question(self, tenant: str, listed: OpenChoice, *, accept: bool) -> list[Write]:
        if listed.seq is None:
            return []
        message = Message.read(self.table, Message.key_of(tenant, listed.chat_id, listed.seq))
        if message is None or message.choice is None:
            return []
        option = YES if accept else NO
        answer = ChoiceAnswer(option=option, seq=message.seq, at=self.clock.now())
        return [message.with_choice(message.choice.model_copy(update={"answer": answer}))]
