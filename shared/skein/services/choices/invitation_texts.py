"""Ask invited people by SMS, in their newest direct chat on a line.

A job asks the question. Until the question was asked, the person's choices stay listed as due, so
that the job is sent again. A person who shares no chat with the inviter first gets an announcement,
which contains nothing that the inviter wrote. The announcement must meet the conditions of a first
contact (`services/chats/first_contact.py`). The question that names the inviter and the chat is
sent only when the person answers that they want to know who invites them.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from skein.errors import ConditionFailed, ExtraWriteFailed, Rejected
from skein.models.chats.chat import Chat
from skein.models.chats.choice import INVITATION, InvitationData, Invited
from skein.models.chats.person_choices import OpenChoice, PersonChoices
from skein.models.common.base import MemberRef, rfc3339
from skein.models.common.reason import Reason
from skein.models.common.storage import Write
from skein.models.config.desk import DeskSettings
from skein.models.config.overrides import TenantSettings
from skein.models.outbox.jobs import InvitationJob
from skein.models.quotas.limit import DAY, Allowance, Rate, owner_of_user
from skein.models.visibility.provenance import NO_AUTHORS, Authors
from skein.ports import Clock, Table
from skein.services.chat_state.person_choices import (
    current_choices,
    read_choices,
    stored_choices,
)
from skein.services.chats.first_contact import FirstContact, NotNow
from skein.services.chats.views import WINDOW, ChatViews, OwnChat
from skein.services.choices.asking import Asking, NewChoice
from skein.services.choices.wording import SEE_WHO, YES_NO, announcement, question_to_join
from skein.services.common.optimistic import optimistic
from skein.services.directory.display_names import people_in_shared_chats

INVITED = Rate(5, DAY)  # invitations by SMS per inviter

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationTexts:
    """The service that asks invited people by SMS."""

    table: Table
    clock: Clock
    asking: Asking
    first_contact: FirstContact
    views: ChatViews

    def ask(self, job: InvitationJob) -> None:
        """Ask a person by SMS about their new invitations (idempotent).

        Afterwards, an invitation stays due only if the person could not be asked yet.
        """
        choices = read_choices(self.table, job.tenant, job.user_id, self.clock.now())
        times = [(listed, self._ask(job, listed)) for listed in choices.to_ask]
        optimistic(self.clock, lambda: self._settle(job, times), finds_own_write=True)

    def _ask(self, job: InvitationJob, listed: OpenChoice) -> datetime | None:
        """Ask a person about one invitation, in the person's newest SMS chat.

        Returns:
            When to try again; None if the person was asked or cannot be asked.
        """
        chat = Chat.read(self.table, Chat.key_of(job.tenant, listed.chat_id))
        invited = chat.invitation(job.user_id) if chat is not None else None
        own = self._newest_on_sms(job.tenant, job.user_id)
        if chat is None or invited is None or chat.discarded_at is not None or own is None:
            return None
        agent = next(member for member in own.chat.roster if member.kind == "agent")
        question = _question(chat, invited, own.chat.id, agent.ref)
        try:
            if listed.agent_id is not None:
                self.asking.ask(question)
            elif self._know_each_other(chat.tenant, invited):
                self._ask_first(question, lambda: ())
            else:
                self._announce(chat, question)
        except NotNow as not_now:
            return not_now.until
        except Rejected as error:
            logger.warning(
                "invitation not sent as an SMS",
                extra={"chat_id": chat.id, "why": type(error).__name__, "reason": error.reason},
            )
        return None

    def _know_each_other(self, tenant: str, invited: Invited) -> bool:
        person = invited.member.ref
        return person in people_in_shared_chats(self.table, tenant, invited.by.ref, {person})

    def _announce(self, chat: Chat, question: NewChoice) -> None:
        """Announce a stranger's invitation, if a first contact is allowed.

        Raises:
            NotNow: The person has quiet hours, or a daily limit is used up.
            Conflict: The person may not be reached, e.g. because they have not consented to texts.
        """
        team = self._team_name(chat.tenant)
        contact = self.first_contact.open(
            chat.tenant, question.agent.id, question.addressee, asker=team or "somebody"
        )
        announced = question.model_copy(
            update={
                "chat_id": contact.chat_id,
                "client_id": f"announced:{question.client_id}",
                "question": announcement(chat, team),
                "options": SEE_WHO,
                "authors": NO_AUTHORS,
            }
        )
        self._ask_first(announced, lambda: self.first_contact.charges(contact))

    def _ask_first(self, new: NewChoice, charges: Callable[[], tuple[Write, ...]]) -> None:
        """Send the first text about an invitation, and charge the text to the inviter.

        Args:
            new: The question or the announcement.
            charges: Returns further writes for the transaction that stores the text.

        Raises:
            NotNow: A daily limit is used up.
        """

        def attempt() -> None:
            try:
                self.asking.ask(new, extra_writes=lambda _: (*charges(), self._charge(new)))
            except ExtraWriteFailed:  # another writer has charged a limit since
                raise ConditionFailed(frozenset()) from None

        optimistic(self.clock, attempt)

    def _team_name(self, tenant: str) -> str | None:
        overrides = TenantSettings.from_optional(self.table.get(TenantSettings.key_of(tenant)))
        return DeskSettings.model_validate(overrides).team_name

    def _charge(self, new: NewChoice) -> Write:
        """Return the write that charges a text to the inviter.

        Raises:
            NotNow: The inviter's daily limit of invitations is used up.
        """
        owner, now = owner_of_user(new.invited_by or ""), self.clock.now()
        item = self.table.get(Allowance.key_of(new.tenant, owner))
        allowance = Allowance.from_optional(item, new.tenant, owner)
        wait = INVITED.waiting(allowance.invitations_full_at, 1, now)
        if wait:
            raise NotNow(Reason.RATE_LIMITED, now + wait)
        full_at = INVITED.after(allowance.invitations_full_at, 1, now)
        return allowance.changed(now, invitations_full_at=full_at)[1]

    def _settle(
        self, job: InvitationJob, times: Sequence[tuple[OpenChoice, datetime | None]]
    ) -> None:
        """Store when each invitation is due again; None means that it is no longer due."""
        item = self.table.get(PersonChoices.key_of(job.tenant, job.user_id))
        if item is None or "gsi2pk" not in item:
            return
        choices = current_choices(item, job.tenant, job.user_id, self.clock.now())
        self.table.write(stored_choices(choices.asking_at(times)))

    def _newest_on_sms(self, tenant: str, user_id: str) -> OwnChat | None:
        """Return the newest direct chat that reaches a person by SMS, or None."""
        page = self.views.direct_chats(tenant, user_id, limit=WINDOW)
        return next((own for own in page.items if _reaches(own)), None)


def _reaches(own: OwnChat) -> bool:
    agents = any(member.kind == "agent" for member in own.chat.roster)
    return agents and own.membership.route is not None and not own.membership.opted_out


def _question(chat: Chat, invited: Invited, asked_in: str, agent: MemberRef) -> NewChoice:
    """Return the question that names the inviter and the chat."""
    return NewChoice(
        tenant=chat.tenant,
        chat_id=asked_in,
        agent=agent,
        client_id=f"invitation:{chat.id}:{rfc3339(invited.at)}",
        addressee=invited.member.id,
        question=question_to_join(chat, invited),
        options=YES_NO,
        purpose=INVITATION,
        expires_at=invited.expires_at,
        authors=Authors.in_digests([invited.by.id]).joined(chat.title_authors),
        data=InvitationData(invited_to=chat.id).attributes(),
        invited_to=chat.id,
        invited_by=invited.by.id,
    )
