"""Explain why a reader may or may not see an item now.

The explanation uses the same decisions as prompts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from skein.errors import NotFound, Unprocessable
from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef
from skein.models.directory.agent import Agent
from skein.models.directory.user import User
from skein.models.visibility.audience import Audience, may_show
from skein.models.visibility.ownership import DerivedItem
from skein.models.visibility.provenance import NO_INSIDERS, Authors, Insiders
from skein.models.visibility.refusal import SharingRefusal
from skein.own_tools.items import insiders_for
from skein.ports import Clock, Table
from skein.recall.own_words import own_words_memories
from skein.services.chat_state.snapshot import read_agent, read_chat
from skein.services.common.pagination import read_items
from skein.services.directory.users import Users
from skein.services.visibility.audience import audience_of
from skein.services.visibility.sharing_rules import Decision, ReaderRules, SaidMessage
from skein.settings import Settings
from skein.sharing.access_reasons import AccessGrant, AccessRefusal
from skein.sharing.rules import read_rules

MAX_EXPLAINED = 50  # messages in an answer
NO_DECISION = Decision()  # by sharing rules


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why readers may or may not see an item.

    Attributes:
        decided_by: The reason, or the first condition of sharing rules that fails.
        decision: The decision of the sharing rules; empty if the rules did not decide.
    """

    decided_by: AccessGrant | AccessRefusal | SharingRefusal
    decision: Decision = NO_DECISION

    @property
    def may_see(self) -> bool:
        return isinstance(self.decided_by, AccessGrant)

    @property
    def sentence(self) -> str:
        """The explanation in plain words, with the rules that it refers to."""
        by = [f"{rule.name}: {rule.reason}" for rule in self.decision.rules]
        no = [f"{one.rule.name}: {one.reason.meaning}" for one in self.decision.refused]
        return " ".join([self.decided_by.meaning, *by, *no])


class ExplainedMessage(NamedTuple):
    """A message with the explanation for its readers."""

    message: Message
    explanation: Explanation


@dataclass(frozen=True, slots=True)
class AskedReaders:
    """The readers for whom an item is explained.

    Attributes:
        users: The readers with their records; the requested reader is the first.
        chat: The chat in which they would read the item; None for any chat that the reader can
            read.
        known: Whether all people of that chat have a record; otherwise rules do not apply.
    """

    users: tuple[User, ...]
    chat: Chat | None = None
    known: bool = True

    @property
    def audience(self) -> Audience:
        if self.chat is not None:
            return self.chat.readers
        return Audience(open=False, people=tuple(person.id for person in self.users))

    def elsewhere(self, home: str | None) -> bool:
        """Return whether the readers would read the item in another chat than its own."""
        return self.chat is not None and self.chat.id != home


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanations:
    """The service that explains which items a reader may see; it writes nothing."""

    table: Table
    clock: Clock
    settings: Settings
    users: Users

    def readers(self, tenant: str, user_id: str, chat_id: str | None = None) -> AskedReaders:
        """Return a reader, and all other readers of a chat.

        Raises:
            NotFound: The person or the chat does not exist.
            Unprocessable: The person is not in the chat.
        """
        reader = self.users.get(tenant, user_id)
        if chat_id is None:
            return AskedReaders((reader,))
        chat = read_chat(self.table, tenant, chat_id)
        if user_id not in chat.person_ids:
            raise Unprocessable("the reader is not in the chat")
        others = [User.key_of(tenant, each) for each in chat.person_ids if each != user_id]
        people = User.read_each(read_items(self.table, others), others)
        known = tuple(person for person in people if person.erasure_id is None)
        return AskedReaders((reader, *known), chat, known=len(known) == len(others))

    def of_messages(
        self, tenant: str, chat_id: str, seqs: Sequence[int], readers: AskedReaders
    ) -> tuple[ExplainedMessage, ...]:
        """Explain the messages with these numbers, in order; missing messages are omitted.

        Raises:
            NotFound: The chat does not exist.
        """
        chat, now = read_chat(self.table, tenant, chat_id), self.clock.now()
        keys = [Message.key_of(tenant, chat_id, seq) for seq in seqs]
        messages = Message.read_each(read_items(self.table, keys), keys)
        living = [each for each in messages if not _expired(each, now.timestamp())]
        authors = {User.key_of(tenant, each.sender.id) for each in living}
        records = read_items(self.table, sorted(authors))
        rules = ReaderRules.of(read_rules(self.table, tenant), readers.users, now, self.settings)
        hindrance = self._hindrance(chat, readers) if living else None
        shown: list[ExplainedMessage] = []
        for message in living:
            explanation = _by_presence(chat, message, readers)
            if explanation is None:
                author = User.read(records, User.key_of(tenant, message.sender.id))
                decision = rules.decided(chat, SaidMessage.of(message), author)
                explanation = _by_rule(decision, hindrance)
            shown.append(ExplainedMessage(message, explanation))
        return tuple(shown)

    def of_item(self, agent: Agent, thing: DerivedItem, readers: AskedReaders) -> Explanation:
        """Explain an item that an agent created, or that an operator created for the agent."""
        admitted = thing.trusted or self._insiders(agent, readers).admit(thing.authors)
        return _of_made(thing.audience, thing.authors, thing.home, readers, admitted=admitted)

    def of_own_words(
        self, agent: Agent, chat_id: str, memory_id: str, readers: AskedReaders
    ) -> Explanation:
        """Explain a memory made from one person's own words, based on its messages.

        A sharing rule must allow each of these messages. Only a rule shows the memory, so a reader
        who may see the messages without a rule is not shown it.

        Raises:
            NotFound: The chat has no such memory.
        """
        chat = read_chat(self.table, agent.tenant, chat_id)
        whole = range(1, chat.last_seq + 1)
        memories = own_words_memories(self.table, chat, agent.id, whole)
        memory = next((each for each in memories if each.id == memory_id), None)
        if memory is None:
            raise NotFound("the chat has no such memory")
        sources = self.of_messages(agent.tenant, chat_id, memory.seqs, readers)
        if len(sources) < len(memory.seqs):
            return Explanation(AccessRefusal.GONE)
        reasons = [each.explanation for each in sources]
        refused = next((each for each in reasons if not each.may_see), None)
        if refused is not None:
            return refused
        if any(each.decided_by is not AccessGrant.RULE for each in reasons):
            return Explanation(SharingRefusal.OWN_WORDS)
        rules = dict.fromkeys(rule for each in reasons for rule in each.decision.rules)
        return Explanation(AccessGrant.RULE, Decision(rules=tuple(rules)))

    def of_summary(
        self, agent: Agent, chat_id: str, readers: AskedReaders, *, by_agent: bool
    ) -> Explanation:
        """Explain the summary of a chat or, with `by_agent`, the agent's own summary of the chat.

        Raises:
            NotFound: There is no such chat or summary.
        """
        chat = read_chat(self.table, agent.tenant, chat_id)
        summary = chat.summary
        if by_agent:
            ref = MemberRef(kind="agent", id=agent.id)
            membership = Membership.read(self.table, Membership.key_of(agent.tenant, chat_id, ref))
            summary = membership.summary if membership is not None else None
        if summary is None:
            raise NotFound("the chat has no such summary")
        admitted = self._insiders(agent, readers).admit(summary.authors)
        return _of_made(summary.audience, summary.authors, chat.id, readers, admitted=admitted)

    def _insiders(self, agent: Agent, readers: AskedReaders) -> Insiders:
        """Return the insiders of the agent's prompt in the readers' chat; empty without a chat."""
        return insiders_for(self.table, agent, readers.chat) if readers.chat else NO_INSIDERS

    def _hindrance(self, chat: Chat, readers: AskedReaders) -> AccessRefusal | None:
        """Return why no sharing rule could apply for these readers; None if one could."""
        if readers.audience.open:
            return AccessRefusal.READERS_OPEN
        if not readers.known:
            return AccessRefusal.READER_GONE
        found = [
            read_agent(self.table, chat.tenant, member.id)
            for member in chat.roster
            if member.kind == "agent" and (readers.chat is None or readers.chat.has(member.ref))
        ]
        agents = [agent for agent in found if agent is not None]
        if not agents:
            return AccessRefusal.OTHER_AGENT
        where = readers.chat or chat
        alone = all(insiders_for(self.table, agent, where).alone for agent in agents)
        return AccessRefusal.OUTSIDERS if alone else None


def _by_rule(decision: Decision, hindrance: AccessRefusal | None) -> Explanation:
    """Explain an access by what the rules decided, or by the reason why no rule applies."""
    if decision.refusal is None and hindrance is not None:
        return Explanation(hindrance)
    return Explanation(decision.refusal or AccessGrant.RULE, decision)


def _of_made(
    audience: Audience, authors: Authors, home: str | None, readers: AskedReaders, *, admitted: bool
) -> Explanation:
    """Explain an item made by agents, to which sharing rules never apply.

    Args:
        home: The chat in which the item was made.
        admitted: Whether the agent's prompt for these readers may contain the item's words.
    """
    if authors.by_rule and readers.elsewhere(home):
        return Explanation(AccessRefusal.STAYS)
    if not may_show(audience, readers.audience):
        return Explanation(SharingRefusal.NOT_OWN_WORDS)
    if not admitted:
        return Explanation(AccessRefusal.OUTSIDERS)
    return Explanation(AccessGrant.OPEN if audience.open else AccessGrant.PRESENCE)


def _by_presence(chat: Chat, message: Message, readers: AskedReaders) -> Explanation | None:
    """Explain a message without sharing rules; None if only a rule could allow it."""
    hidden, audience = _hidden(chat, message, readers), audience_of(chat, since_seq=message.seq)
    if hidden is not None:
        return Explanation(hidden)
    if may_show(audience, readers.audience):
        agreed = message.via is not None or message.report_of is not None
        present = AccessGrant.CONSENT if agreed else AccessGrant.PRESENCE
        return Explanation(AccessGrant.OPEN if audience.open else present)
    if not readers.elsewhere(chat.id) and may_show(chat.readers, readers.audience):
        return Explanation(AccessGrant.MEMBERSHIP)
    reset = chat.hides(message.seq, message.created_at, here=readers.chat)
    return Explanation(AccessRefusal.RESET) if reset else None


def _hidden(
    chat: Chat, message: Message, readers: AskedReaders
) -> AccessRefusal | SharingRefusal | None:
    """Return why a message is shown nowhere, or only in its own chat; None without a reason."""
    if message.kind in {"deleted", "erased"}:
        return AccessRefusal.GONE
    if not readers.elsewhere(chat.id):
        return None
    if chat.discarded_at is not None:
        return SharingRefusal.DISCARDED
    if message.words.by_rule:
        return AccessRefusal.STAYS
    reset = chat.hides(message.seq, message.created_at, here=readers.chat)
    return AccessRefusal.RESET if reset else None


def _expired(message: Message, now: float) -> bool:
    return message.expires_at is not None and message.expires_at <= now
