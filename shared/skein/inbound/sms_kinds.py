"""The kinds of inbound SMS: a keyword, an answer, a refusal, a request for MORE, or ordinary.

Only an ordinary SMS starts a run in the chat of the line. The classification stores nothing.
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from skein.channels.keywords import could_start, wants_rest
from skein.channels.port import Keyword
from skein.channels.registry import channel_named
from skein.inbound.address_lookup import AddressLookup
from skein.inbound.sms_answers import SmsAnswers
from skein.models.chats.chat import Message
from skein.models.common.address import Route
from skein.models.common.base import MemberRef
from skein.models.config.overrides import Overrides
from skein.models.delivery.sms import InboundSms
from skein.models.directory.address_index import AddressOwner
from skein.models.directory.line import Line
from skein.ports import Clock, Table
from skein.services.chat_state.closed_memberships import read_membership
from skein.services.choices.codes import MatchedAnswer, Refusal
from skein.services.choices.typed_answers import Unsure
from skein.services.delivery.continuation import ContinuationRequest, TextContinuations
from skein.settings import Settings


class ArrivedSms(NamedTuple):
    """An SMS, with the stored data about its sender."""

    line: Line
    route: Route
    sms: InboundSms
    lookup: AddressLookup


class KeywordSms(NamedTuple):
    """An SMS that consists of a keyword, such as STOP."""

    word: Keyword


class EarlierAnswer(NamedTuple):
    """An SMS that is delivered again; an earlier delivery has answered a question."""

    message: Message


@dataclass(frozen=True, slots=True)
class OrdinarySms:
    """An SMS of no special kind, which starts a run."""


StoredKind: TypeAlias = KeywordSms | Refusal | Unsure | ContinuationRequest | OrdinarySms
"""The kinds of an SMS that is stored in the chat of its line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmsKinds:
    """The service that classifies an SMS."""

    table: Table
    answers: SmsAnswers
    continuations: TextContinuations
    clock: Clock
    settings: Settings

    def classify(self, arrived: ArrivedSms) -> StoredKind | MatchedAnswer | EarlierAnswer:
        """Return the kind of an SMS; keywords are checked before answers to questions."""
        word = self._keyword(arrived, opted_out=False)
        if word is not None:
            return KeywordSms(word)
        answer = self._answer(arrived)
        if isinstance(answer, MatchedAnswer | EarlierAnswer):
            return answer
        return self._without_answer(arrived, answer)

    def not_accepted(self, arrived: ArrivedSms, matched: MatchedAnswer) -> StoredKind:
        """Return the kind of an SMS that matched a question but was not accepted as its answer."""
        owner, tenant = arrived.lookup.owner, arrived.line.tenant
        if owner is None:
            return self._without_answer(arrived, None)
        refusal = self.answers.refusal(tenant, owner.user_id, matched, arrived.sms)
        return self._without_answer(arrived, refusal)

    def opted_out(self, arrived: ArrivedSms) -> bool:
        """Return whether the sender has opted out of the SMS's channel."""
        owner, chat = arrived.lookup.owner, arrived.lookup.chat
        if owner is None or chat is None:
            return False
        person = MemberRef(kind="user", id=owner.user_id)
        there = read_membership(self.table, arrived.line.tenant, chat.chat_id, person)
        return there is not None and arrived.sms.channel in there.opt_outs

    def unproven(self, owner: AddressOwner, overrides: Overrides, channel: str) -> int | None:
        """Return how many days without an SMS made a number unproven; None if it is proven.

        Args:
            owner: The owner, as stored before the SMS.
            overrides: The settings of the agent, the line and the tenant.
            channel: The channel of the SMS.
        """
        days = self.settings.overridden(overrides).ask_after_silent_days
        return owner.unproven_on(self.clock.now().date(), days, channel)

    def _without_answer(self, arrived: ArrivedSms, answer: Refusal | Unsure | None) -> StoredKind:
        """Return the kind of an SMS that does not answer a question."""
        if could_start(arrived.sms.body) and self.opted_out(arrived):
            word = self._keyword(arrived, opted_out=True)
            if word is not None:
                return KeywordSms(word)
        return answer or self._continuation(arrived) or OrdinarySms()

    def _keyword(self, arrived: ArrivedSms, *, opted_out: bool) -> Keyword | None:
        line, _, sms, lookup = arrived
        return channel_named(sms.channel).keyword(
            sms.body,
            opt_out_type=sms.opt_out_type,
            opted_out=opted_out,
            addresses=(line.phone, sms.sender),
            countries=self.settings.overridden(lookup.overrides).answered_countries,
        )

    def _answer(
        self, arrived: ArrivedSms
    ) -> MatchedAnswer | EarlierAnswer | Refusal | Unsure | None:
        """Return the answer in an SMS, or why its code is not accepted; None for any other SMS."""
        line, _, sms, lookup = arrived
        owner = lookup.owner or lookup.silent_owner
        if owner is None:
            return None
        person, unproven = MemberRef(kind="user", id=owner.user_id), self._unproven(arrived)
        in_chat = lookup.owner is not None and lookup.chat is not None and not unproven
        chat_id = lookup.chat.chat_id if lookup.chat is not None and in_chat else None
        found = self.answers.match(line.tenant, person.id, sms, chat_id=chat_id)
        if isinstance(found, Refusal):
            # Look for an earlier answer even if it was a no, with which the person lost the number.
            earlier = self.answers.earlier(found, sms, tenant=line.tenant, person=person)
            if earlier is not None:
                return EarlierAnswer(earlier)
        if lookup.owner is None:
            return None
        needs_proof = isinstance(found, MatchedAnswer) and found.choice.number is None
        return None if needs_proof and unproven else found

    def _continuation(self, arrived: ArrivedSms) -> ContinuationRequest | None:
        """Return the request (MORE) for the rest of a cut text; None for any other SMS."""
        if not wants_rest(arrived.sms.body) or self._unproven(arrived):
            return None
        direct = arrived.lookup.fitting(line=arrived.line)
        if direct is None:
            return None
        return self.continuations.asked_for(arrived.line.tenant, direct.chat_id, direct.user_id)

    def _unproven(self, arrived: ArrivedSms) -> int | None:
        """Return how many days without an SMS made the number unproven; None if it is proven."""
        owner, overrides = arrived.lookup.owner, arrived.lookup.overrides
        if owner is None:
            return None
        return self.unproven(owner, overrides, arrived.sms.channel)
