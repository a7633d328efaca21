"""Open chats, add members, and take the answers of people who were invited.

Invitations are stored by `services/chats/invitations.py`. A person on SMS is asked in their newest
direct chat on a line, after the invitation's transaction. If that fails, the person still has the
invitation in the app.
"""

import logging
from dataclasses import dataclass

from skein.errors import SkeinError
from skein.models.api.chats import NewChat
from skein.models.chats.chat import Chat, Message
from skein.models.chats.choice import NO, YES, ChoiceAnswer, Invited
from skein.models.chats.person_choices import OpenChoice
from skein.models.common.base import MemberRef, NamedMember, rfc3339
from skein.models.common.provenance import Authors
from skein.models.common.storage import Write
from skein.ports import Clock, Table
from skein.services.chat_state.person_choices import INVITATION, invitation_to, read_choices
from skein.services.chats.administration import ChatAdministration
from skein.services.chats.invitations import answered, ended_choice
from skein.services.chats.opening import OpenedChat
from skein.services.chats.views import WINDOW, ChatViews, OwnChat
from skein.services.choices.asking import Asking, NewChoice
from skein.services.choices.wording import YES_NO, question_to_join
from skein.services.common.optimistic import optimistic

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitations:
    """The service that adds people to chats, or invites them."""

    table: Table
    clock: Clock
    administration: ChatAdministration
    asking: Asking
    views: ChatViews

    def create(
        self, tenant: str, by: NamedMember, new: NewChat, *, operator: bool = False
    ) -> OpenedChat:
        """Create a chat; see `ChatAdministration.create`. Invited people on SMS are asked."""
        opened = self.administration.create(tenant, by, new, operator=operator)
        self._ask(opened.chat)
        return opened

    def add_member(
        self,
        tenant: str,
        chat_id: str,
        by: NamedMember,
        member: MemberRef,
        *,
        operator: bool = False,
    ) -> Chat:
        """Add or invite a member; see `ChatAdministration.add_member`."""
        chat = self.administration.add_member(tenant, chat_id, by, member, operator=operator)
        self._ask(chat, member)
        return chat

    def answer(self, tenant: str, chat_id: str, person: MemberRef, *, accept: bool) -> None:
        """Accept or decline an invitation; accepting twice is harmless.

        Raises:
            NotFound: The chat does not exist, or the person is not invited to it.
            Conflict: The invitation has expired, the chat is discarded, or the person has joined
                and declines.
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
        """Return the write that records an answer from elsewhere in the question's message."""
        if listed.seq is None:
            return []
        item = self.table.get(Message.key_of(tenant, listed.chat_id, listed.seq))
        message = Message.from_item(item) if item is not None else None
        if message is None or message.choice is None:
            return []
        option = YES if accept else NO
        answer = ChoiceAnswer(option=option, seq=message.seq, at=self.clock.now())
        return [message.with_choice(message.choice.model_copy(update={"answer": answer}))]

    # ------------------------------------------------------------------ by SMS

    def _ask(self, chat: Chat, member: MemberRef | None = None) -> None:
        """Ask the invited people who are on SMS, or one of them (idempotent)."""
        for invited in chat.invited:
            if member not in {None, invited.member.ref}:
                continue
            try:
                self._ask_person(chat, invited)
            except SkeinError as error:
                logger.warning(
                    "invitation not sent as an SMS",
                    extra={"chat_id": chat.id, "why": type(error).__name__},
                )

    def _ask_person(self, chat: Chat, invited: Invited) -> None:
        person, now = invited.member, self.clock.now()
        listed = invitation_to(read_choices(self.table, chat.tenant, person.id, now), chat.id)
        if listed is None or listed.seq is not None:
            return
        own = self._newest_on_sms(chat.tenant, person.id)
        if own is None:
            return
        agent = next(member for member in own.chat.roster if member.kind == "agent")
        self.asking.ask(
            NewChoice(
                tenant=chat.tenant,
                chat_id=own.chat.id,
                agent=agent.ref,
                client_id=f"invitation:{chat.id}:{rfc3339(invited.at)}",
                addressee=person.id,
                question=question_to_join(chat, invited),
                options=YES_NO,
                purpose=INVITATION,
                expires_at=invited.expires_at,
                authors=Authors.in_digests([invited.by.id]).joined(chat.title_authors),
                invited_to=chat.id,
                invited_by=invited.by.id,
            )
        )

    def _newest_on_sms(self, tenant: str, user_id: str) -> OwnChat | None:
        """Return the newest direct chat whose answers reach a person by SMS, if there is one."""
        page = self.views.direct_chats(tenant, user_id, limit=WINDOW)
        return next((own for own in page.items if _reaches(own)), None)


def _reaches(own: OwnChat) -> bool:
    agents = any(member.kind == "agent" for member in own.chat.roster)
    return agents and own.membership.route is not None and not own.membership.opted_out
