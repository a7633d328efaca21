"""Unproven numbers: after a long silence, Skein checks whether the owner is still the same.

Skein can ask Twilio, which knows which US numbers were reassigned, and it can ask the person.

The first SMS after the silence is posted in a transaction that marks the number as unproven: in the
owner's item (`AddressOwner.unproven`), and in the sender's route, which is read for each prompt.
The person's answer removes the marks.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from skein.channels.phone_numbers import is_american
from skein.errors import SkeinError, Unavailable
from skein.models.chats.chat import Message
from skein.models.common.base import MemberRef
from skein.models.directory.address_index import AddressOwner
from skein.models.visibility.provenance import Authors
from skein.ports import Clock, Sms, Table
from skein.services.chat_state.person_choices import read_choices
from skein.services.choices.asking import Asking, NewChoice
from skein.services.choices.wording import YES_NO, question_whose
from skein.settings import Settings

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SilentNumbers:
    """The service that asks people whether they still own a number."""

    table: Table
    clock: Clock
    asking: Asking
    sms: Callable[[], Sms]  # imported for the first question only
    settings: Settings

    def found_reassigned(self, owner: AddressOwner, channel: str) -> bool:
        """Ask Twilio whether a silent number was reassigned; if so, the owner loses it.

        If Twilio does not answer, the owner keeps the number.

        Args:
            owner: The owner, as stored before the SMS.
            channel: The channel of the SMS.

        Raises:
            ConditionFailed: Another user owns the number now.
        """
        days, phone = self.settings.reassigned_lookup_days, owner.address.address
        today, heard_on = self.clock.now().date(), owner.last_heard(channel)
        if heard_on is None or not owner.was_silent(today, days, channel) or not is_american(phone):
            return False
        try:
            reassigned = self.sms().was_reassigned(phone, since=heard_on)
        except Unavailable:
            logger.warning("Twilio not asked about a number", extra={"user_id": owner.user_id})
            return False
        if reassigned:
            self.table.write(owner.lost())
        return reassigned

    def ask(self, sms: Message, owner: AddressOwner, agent_id: str, days: int) -> None:
        """Ask in the chat of an SMS whether the number still belongs to its owner (idempotent).

        If the question cannot be posted, it is asked after the next SMS. If the question expires,
        it is asked again on another day.

        Args:
            sms: The SMS as stored.
            owner: The owner of the number.
            agent_id: The agent that posts the question.
            days: The number of days without an SMS, which the question mentions.
        """
        now = self.clock.now()
        try:
            choices = read_choices(self.table, owner.tenant, owner.user_id, now)
            if any(choice.number == owner.address for choice in choices.open):
                return
            self.asking.ask(
                NewChoice(
                    tenant=owner.tenant,
                    chat_id=sms.chat_id,
                    agent=MemberRef(kind="agent", id=agent_id),
                    client_id=f"number:{now.date()}",
                    addressee=owner.user_id,
                    question=question_whose(owner.address, sms.sender.name, days),
                    options=YES_NO,
                    purpose="number",
                    authors=Authors.in_digests([owner.user_id]),
                    number=owner.address,
                )
            )
        except SkeinError as error:
            why = type(error).__name__
            extra = {"chat_id": sms.chat_id, "user_id": owner.user_id, "why": why}
            logger.warning("number not asked about", extra=extra)
