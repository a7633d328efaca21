"""Proposals of sharing rules: ask a person to let others be told what they say to agents alone.

Code writes the question, the yes of exactly this person decides, and code carries it out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from skein.errands.orders import ErrandOrders
from skein.errors import Correctable, Forbidden
from skein.models.chats.chat import Chat, Message
from skein.models.common.audience import Audience
from skein.models.common.characters import on_one_line
from skein.models.common.reason import Reason
from skein.models.common.storage import Write
from skein.models.config.sharing import ProposedRule, SharingData, SharingParty, SharingRule
from skein.models.directory.user import User
from skein.models.runs.run import Run
from skein.ports import Clock, Table
from skein.services.chat_state.sharing_rules import PersonRoles, covering, pause_in
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.choices.asking import Asking, NewChoice
from skein.services.choices.proposals import person_to_ask
from skein.services.choices.wording import (
    YES_NO,
    question_to_share,
    question_to_share_earlier,
    words_to_post,
)
from skein.services.config.resolution import effective_in
from skein.services.config.rule_versions import NewVersion, check_people, read_rules
from skein.services.runs.claim import Claim
from skein.services.runs.disclosure import check_post
from skein.settings import Settings

NOT_HERE = "refused: ask in a private direct chat, in answer to a message of its person"
CARRIES_ON = "refused: a sharing rule told words here, which the reason may not carry on"
ALREADY = "they may be told already, by a rule with the reason: {reason}"
NO_RULE = "nobody of that name or role may be told what this person says here"
OPENED = "they may be told what the person said here earlier already"


@dataclass(frozen=True, slots=True)
class NamedParty:
    """Who is to be told, with their name in plain words."""

    party: SharingParty
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingProposals:
    """The service by which runs ask people to let others be told their words."""

    table: Table
    clock: Clock
    asking: Asking
    orders: ErrandOrders
    settings: Settings

    def named(
        self, run: Run, readers: Audience, *, person: str | None, role: str | None
    ) -> NamedParty:
        """Find whom a run names: a person of a chat that the asker is a member of, or a role.

        Raises:
            Correctable: Not exactly one is named, or the name is that of nobody or of several.
            Failed: The run traces back to nobody.
        """
        if (person is None) == (role is None):
            raise Correctable("give either person or role")
        if role is not None:
            return NamedParty(SharingParty(role=role), f'everybody with the role "{role}"')
        [found] = self.orders.find(run, readers, [str(person)])
        return NamedParty(SharingParty(user_id=found.id), on_one_line(found.name))

    def propose(
        self,
        claim: Claim,
        to: NamedParty,
        reason: str,
        ends_at: datetime | None,
        zone: ZoneInfo,
        *,
        client_id: str,
    ) -> Message:
        """Ask the person whom a run answers whether to make a rule for their words (idempotent).

        Args:
            claim: The run, in a private direct chat of the person.
            to: Who may be told.
            reason: Why.
            ends_at: When the rule ends; None: never.
            zone: The time zone of the question.
            client_id: The idempotency key of the question.

        Returns:
            The message with the question.

        Raises:
            Correctable: The rule exists already.
            Forbidden: The run may not ask here, or was told words by a rule, which the reason would
                carry to the person's other chats.
            Conflict: The person has too many rules.
            Unprocessable: The reason has no visible characters, or a person is gone.
            RateLimited: The person was asked often enough.
            ReadersChanged: Someone joined the chat of the activation.
            ExtraWriteFailed: Another worker has taken the run over.
        """
        chat, person_id = self._home(claim.run)
        if claim.run.words.by_rule:
            raise Forbidden(CARRIES_ON, reason=Reason.DISCLOSURE_REFUSED)
        now, tenant = self.clock.now(), chat.tenant
        words = on_one_line(words_to_post(reason))
        proposed = ProposedRule(to=to.party, reason=words, ends_at=ends_at)
        rule = proposed.made(client_id, person_id, now)
        check_people(self.table, tenant, (rule.from_, rule.to))
        for each in self._covering(tenant, person_id):
            if each.to == rule.to and not each.same_subject:
                raise Correctable(ALREADY.format(reason=each.reason))
        NewVersion.with_rule(read_rules(self.table, tenant), rule, person_id, now)
        until = f"{ends_at.astimezone(zone):%Y-%m-%d %H:%M %Z}" if ends_at is not None else None
        minutes = round(pause_in(chat, self.settings).total_seconds() / 60)
        hours = effective_in(chat, self.settings).choice_hours
        sooner = ends_at is not None and ends_at < now + timedelta(hours=hours)
        return self._ask(
            claim,
            chat,
            person_id,
            question_to_share(to.words, words, until, minutes),
            client_id,
            expires_at=ends_at if sooner else None,
            data=SharingData(rule=proposed),
        )

    def propose_earlier(self, claim: Claim, to: NamedParty, *, client_id: str) -> Message:
        """Ask whether a rule is to cover also what the person said before its notice (idempotent).

        Returns:
            The message with the question.

        Raises:
            Correctable: No such rule covers the chat, or its earlier words are opened already.
            Forbidden, RateLimited, ReadersChanged, ExtraWriteFailed: See `propose`.
        """
        chat, person_id = self._home(claim.run)
        noticed = chat.sharing.noticed if chat.sharing is not None else {}
        opened = chat.sharing.opened if chat.sharing is not None else {}
        rules = self._covering(chat.tenant, person_id)
        found = [rule for rule in rules if rule.to == to.party and rule.id in noticed]
        if not found:
            raise Correctable(NO_RULE)
        rule = next((rule for rule in found if rule.id not in opened), None)
        if rule is None:
            raise Correctable(OPENED)
        question = question_to_share_earlier(to.words, rule.reason)
        return self._ask(
            claim, chat, person_id, question, client_id, data=SharingData(opens=rule.id)
        )

    def _home(self, run: Run) -> tuple[Chat, str]:
        """Read the run's private direct chat, and return it with its person.

        Raises:
            Forbidden: The run has none, or may not ask its person.
        """
        asked = person_to_ask(run)
        if asked is not None and run.chat_id is not None:
            chat = read_snapshot(self.table, run.tenant, run.chat_id).chat
            person_id = chat.formerly.get(asked, asked)
            if chat.kind == "direct" and chat.readers == Audience(open=False, people=(person_id,)):
                return chat, person_id
        raise Forbidden(NOT_HERE, reason=Reason.DISCLOSURE_REFUSED)

    def _covering(self, tenant: str, person_id: str) -> Sequence[SharingRule]:
        """Return the rules that cover what a person says now."""
        item, now = self.table.get(User.key_of(tenant, person_id)), self.clock.now()
        if item is None:
            return ()
        standing = PersonRoles.of(User.from_item(item), now)
        return covering(read_rules(self.table, tenant).in_force(now), standing)

    def _ask(
        self,
        claim: Claim,
        chat: Chat,
        person_id: str,
        question: str,
        client_id: str,
        *,
        expires_at: datetime | None = None,
        data: SharingData,
    ) -> Message:
        run = claim.run

        def extra_writes(current: ChatSnapshot) -> Sequence[Write]:
            check_post(run, current)
            return (claim.guard,)

        new = NewChoice(
            tenant=run.tenant,
            chat_id=chat.id,
            agent=claim.agent,
            client_id=client_id,
            addressee=person_id,
            question=question,
            options=YES_NO,
            purpose="sharing",
            **run.posting,
            expires_at=expires_at,
            data=data.attributes(),
        )
        return self.asking.ask(new, extra_writes=extra_writes).message
