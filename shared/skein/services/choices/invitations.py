"""Ask invited people by SMS, and take their answers.

Invitations are stored by `services/chats/invitations.py`. A person on SMS is asked in their newest
direct chat on a line, by a job. Until then, the person's choices are due.
"""

import logging
from collections.abc import Set
from dataclasses import dataclass

from skein.errors import Rejected
from skein.models.chats.chat import Chat, Message
from skein.models.chats.choice import INVITATION, NO, YES, ChoiceAnswer, InvitationData
from skein.models.chats.person_choices import OpenChoice, PersonChoices
from skein.models.common.base import MemberRef, rfc3339
from skein.models.common.provenance import Authors
from skein.models.common.storage import Write
from skein.models.outbox.jobs import InvitationJob
from skein.ports import Clock, Table
from skein.services.chat_state.person_choices import (
    current_choices,
    invitation_to,
    read_choices,
    stored_choices,
)
from skein.services.chats.invitations import answered, ended_choice
from skein.services.chats.views import WINDOW, ChatViews, OwnChat
from skein.services.choices.asking import Asking, NewChoice
from skein.services.choices.wording import YES_NO, question_to_join
from skein.services.common.optimistic import optimistic

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitations:
    """The service that asks invited people, and takes their answers."""

    table: Table
    clock: Clock
    asking: Asking
    views: ChatViews

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

    def ask(self, job: InvitationJob) -> None:
        """Ask a person by SMS about invitations not asked about yet (idempotent).

        Invitations that have expired, or of which nobody can be asked, are due no more.
        """
        choices = read_choices(self.table, job.tenant, job.user_id, self.clock.now())
        for listed in choices.to_ask:
            self._ask(job, listed)
        seen = {listed.chat_id for listed in choices.to_ask}
        optimistic(self.clock, lambda: self._settle(job, seen), finds_own_write=True)

    def _ask(self, job: InvitationJob, listed: OpenChoice) -> None:
        """Ask a person about one invitation, in their newest chat on SMS, if they have one."""
        item = self.table.get(Chat.key_of(job.tenant, listed.chat_id))
        chat = Chat.from_item(item) if item is not None else None
        invited = chat.invitation(job.user_id) if chat is not None else None
        own = self._newest_on_sms(job.tenant, job.user_id)
        if chat is None or invited is None or chat.discarded_at is not None or own is None:
            return
        agent = next(member for member in own.chat.roster if member.kind == "agent")
        try:
            self.asking.ask(
                NewChoice(
                    tenant=chat.tenant,
                    chat_id=own.chat.id,
                    agent=agent.ref,
                    client_id=f"invitation:{chat.id}:{rfc3339(invited.at)}",
                    addressee=job.user_id,
                    question=question_to_join(chat, invited),
                    options=YES_NO,
                    purpose=INVITATION,
                    expires_at=invited.expires_at,
                    authors=Authors.in_digests([invited.by.id]).joined(chat.title_authors),
                    data=InvitationData(invited_to=chat.id).attributes(),
                    invited_to=chat.id,
                    invited_by=invited.by.id,
                )
            )
        except Rejected as error:
            logger.warning(
                "invitation not sent as an SMS",
                extra={"chat_id": chat.id, "why": type(error).__name__},
            )

    def _settle(self, job: InvitationJob, seen: Set[str]) -> None:
        """Store that the person need not be asked any more about the invitations of `seen`."""
        item = self.table.get(PersonChoices.key_of(job.tenant, job.user_id))
        if item is None or "gsi2pk" not in item:
            return
        choices = current_choices(item, job.tenant, job.user_id, self.clock.now())
        self.table.write(stored_choices(choices.without_asking(seen)))

    def _newest_on_sms(self, tenant: str, user_id: str) -> OwnChat | None:
        """Return the newest direct chat whose answers reach a person by SMS, if there is one."""
        page = self.views.direct_chats(tenant, user_id, limit=WINDOW)
        return next((own for own in page.items if _reaches(own)), None)


def _reaches(own: OwnChat) -> bool:
    agents = any(member.kind == "agent" for member in own.chat.roster)
    return agents and own.membership.route is not None and not own.membership.opted_out
