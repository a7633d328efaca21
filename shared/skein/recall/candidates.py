"""Candidates of a recall: the passages that may be used, and the messages to read.

Passages that the readers may not see are dropped before anything is computed from them.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import mean
from typing import NamedTuple
from zoneinfo import ZoneInfo

from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef
from skein.models.common.person_names import untagged
from skein.models.common.storage import MAX_BATCH_GET_KEYS, Item, Key
from skein.models.common.vector_search import DISTANCE
from skein.models.directory.user import User
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import is_shared_partition
from skein.models.visibility.provenance import NO_INSIDERS, Authors, Insiders
from skein.recall.models.own_words import OwnWordsMemory
from skein.recall.models.stored import (
    AGENT,
    MAX_REFS,
    Posting,
    PostingRef,
    RecallPassage,
    person_of_author,
    recall_partition,
)
from skein.recall.query import people_named
from skein.recall.ranking import Hit, Line, MemoryRef, MessageRef
from skein.services.chat_state.closed_memberships import membership_keys
from skein.services.chat_state.sessions import reset_in
from skein.services.visibility.audience import audience_of, everybody_since, scope_of
from skein.services.visibility.insiders import members_of
from skein.services.visibility.sharing_rules import ReaderRules, Rules, SaidMessage

MAX_POSTED = 30  # messages that are read because of a rare word
NEIGHBOURS = 2  # messages before and after each found message that are read with it
ELSEWHERE = 6  # best hits whose neighbours are read even if they are in another chat
ONE_BATCH_TOKENS = 2_500  # a larger budget takes more batches of messages
LARGE_BATCHES = 3
# For a prompt, recall reads messages until their estimated tokens are this multiple of the budget,
# because not all of them are shown. The value comes from the five conversations of docs/recall.md:
# reading 100 messages found nothing more, and without the neighbours of the best hits, less was
# found.
PROMPT_FILLED, PROMPT_POSTED = 3.0, 10
CHARACTERS_A_TOKEN, TOKENS_A_LINE = 4, 12  # estimates for a line, with its share of headings
SHOWN_CHARACTERS = 700  # only a part of a longer message is shown


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """A request to find old messages for some readers.

    Attributes:
        agent_id: The agent. It recalls only messages for which it was present.
        chat: The active chat, or None.
        member: The agent's membership of the active chat, if it was read.
        scopes: The scopes to search; see `scopes_at`.
        readers: The readers to whom messages are shown.
        query: The text to search for.
        tokens: The token budget, including headings.
        first_at: If set, only messages from this time on are found; in seconds since 1970.
        last_at: If set, only messages until this time are found; in seconds since 1970.
        person: The id or name of a person or an agent. If set, only messages of this person or
            agent are found.
        only_chat_id: If set, only messages of this chat are found.
        shown: The messages that the prompt already shows. They are not recalled.
        thorough: Whether to make additional searches by meaning: for long messages of agents, and
            for messages of a person whom the query names. False for a prompt, which makes only one
            search for each scope.
        insiders: The people that the run works for. They determine whose words the run may be
            shown.
        reader_rules: The sharing rules that apply to the readers; None if no rule can apply.
        told: The ids of the people whose words sharing rules have already shown to the run.
    """

    tenant: str
    agent_id: str
    chat: Chat | None
    member: Membership | None = None
    scopes: tuple[str | None, ...]
    readers: Audience
    query: str
    tokens: int
    now: datetime
    zone: ZoneInfo
    first_at: int | None = None
    last_at: int | None = None
    person: str | None = None
    only_chat_id: str | None = None
    shown: frozenset[MessageRef] = frozenset()
    thorough: bool = False
    insiders: Insiders = NO_INSIDERS
    reader_rules: ReaderRules | None = None
    told: frozenset[str] = frozenset()

    @property
    def shared_partitions(self) -> tuple[str, ...]:
        """The partitions of content that sharing rules may show to the readers."""
        if self.reader_rules is None or self.insiders.alone:
            return ()
        return self.reader_rules.partitions(self.tenant, self.agent_id)

    def knows(self, passage: RecallPassage, rule_items: Mapping[Key, Item]) -> bool:
        """Return whether sharing rules allow a passage to be shown to the readers."""
        said = [
            SaidMessage(seq, passage.recall_author, datetime.fromtimestamp(at, UTC))
            for seq, at in passage.sources or [(passage.seq, passage.created_at)]
        ]
        return bool(self.rules_for(passage.chat_id, said, rule_items))

    def rules_for(
        self, chat_id: str, said: Sequence[SaidMessage | None], items: Mapping[Key, Item]
    ) -> Rules:
        """Return the sharing rules that allow some words to be shown to the readers.

        Args:
            chat_id: The chat in which the words were said.
            said: The message, or all messages that a memory was made from.
            items: The items that were read, including the chat and the sender.
        """
        chat, first = Chat.read(items, Chat.key_of(self.tenant, chat_id)), next(iter(said), None)
        if self.reader_rules is None or self.insiders.alone or first is None or chat is None:
            return ()
        known = User.read(items, User.key_of(self.tenant, first.author))
        return self.reader_rules.rules_for_all(chat, said, known)

    @property
    def owners(self) -> tuple[tuple[str, str | None], ...]:
        """The indexes to search, as pairs of agent ID and scope; not the open one for visitors."""
        scopes = (scope for scope in self.scopes if scope is not None or not self.readers.visitors)
        return tuple((self.agent_id, scope) for scope in scopes)

    @property
    def author(self) -> str | None:
        """The ID of the only author to search for, or None if the request names no known ID."""
        ids = {*self.names, self.agent_id}
        return self.person if self.person in ids else None

    @property
    def partitions(self) -> tuple[str, ...]:
        """The partitions of the vector index to search."""
        kinds = (False, True) if self.thorough else (False,)
        return tuple(
            recall_partition(self.tenant, agent_id, scope, since=self.since(scope), answers=answers)
            for agent_id, scope in self.owners
            for answers in kinds
        )

    def since(self, scope: str | None) -> int:
        """Return the `seq` of the first message that all of a scope's readers may see."""
        private = self.chat is not None and scope is not None and scope == scope_of(self.chat)
        return everybody_since(self.chat) if private and self.chat is not None else 1

    @property
    def names(self) -> dict[str, str]:
        """The names of the other members of the active chat, by id."""
        roster = self.chat.roster if self.chat is not None else ()
        return {member.id: member.name for member in roster if member.id != self.agent_id}

    @property
    def agent(self) -> MemberRef:
        return MemberRef(kind="agent", id=self.agent_id)

    @property
    def earliest(self) -> int:
        """The first message of the active chat that may be recalled in this chat."""
        if self.chat is None:
            return 1
        joined = self.member.joined_seq + 1 if self.member is not None else 1
        return max(everybody_since(self.chat), reset_in(self.chat), joined)

    def shows_rule_words(self, chat_id: str) -> bool:
        """Return whether to show a chat's messages even if they may repeat a sharing rule's words.

        Such messages may be shown only in their own chat, so the chat must be the active one.
        """
        return self.chat is not None and self.chat.id == chat_id

    def reaches(self, chat: Chat, seq: int, at: datetime) -> bool:
        """Return whether no reset hides a message.

        Args:
            chat: The chat of the message.
            at: The time of the message.
        """
        return not chat.hides(seq, at, here=self.chat)

    def counts(self, chat_id: str, seq: int, expires_at: int | None) -> bool:
        """Return whether a message may be recalled. The check runs before the message is read."""
        if expires_at is not None and expires_at <= self.now.timestamp():
            return False
        if self.only_chat_id not in {None, chat_id} or (chat_id, seq) in self.shown:
            return False
        if self.chat is None or chat_id != self.chat.id:
            return True
        return seq >= self.earliest

    @property
    def members(self) -> frozenset[str] | None:
        """The people of the active chat if it's private, else None; see `few_of_strangers`."""
        return members_of(self.chat)

    def may_hold(self, author: str) -> bool:
        """Return whether the prompt or the tool result may contain words of this author."""
        if not self.insiders.alone:
            return True
        person_id = person_of_author(author)
        return person_id is None or self.insiders.admit(Authors.in_digests([person_id]))

    def in_time(self, at: float) -> bool:
        """Return whether a time lies in the requested range."""
        return (self.first_at is None or at >= self.first_at) and (
            self.last_at is None or at <= self.last_at
        )

    def memberships_in(self, chat: Chat, items: Mapping[Key, Item]) -> Sequence[Membership]:
        """Return the agent's memberships of a chat, current and ended, from the items read."""
        if self.chat is not None and self.chat.id == chat.id and self.member is not None:
            return [self.member]
        keys = membership_keys(chat.tenant, chat.id, self.agent)
        return Membership.read_each(items, keys)

    def present_for(self, chat: Chat, seq: int, memberships: Sequence[Membership]) -> bool:
        """Return whether the agent was a member when a message was posted."""
        del chat
        return any(
            member.joined_seq < seq and (member.left_seq is None or seq <= member.left_seq)
            for member in memberships
        )

    def audience_of(self, chat: Chat, seq: int) -> Audience:
        """Return the people who may know a message."""
        return audience_of(chat, since_seq=seq)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRequest(RecallRequest):
    """A person's search in all messages of their own chats, as the API lists them.

    It includes messages from before the person joined, and messages that a reset hides from agents.

    Attributes:
        own: The chats of the person by id, as they were just read.
        searched: The indexes to search, as pairs of agent ID and scope.
    """

    own: Mapping[str, Chat]
    searched: tuple[tuple[str, str | None], ...]
    thorough: bool = True

    @property
    def partitions(self) -> tuple[str, ...]:
        """The partitions to search; a private group has another one for the time since a join."""
        later = {scope_of(chat): everybody_since(chat) for chat in self.own.values()}
        return tuple(
            recall_partition(self.tenant, agent_id, scope, since=since, answers=answers)
            for agent_id, scope in self.owners
            for since in sorted({1, later.get(scope, 1)})
            for answers in (False, True)
        )

    @property
    def owners(self) -> tuple[tuple[str, str | None], ...]:
        return self.searched

    @property
    def names(self) -> dict[str, str]:
        """The names of all members of the person's chats, by id."""
        return {member.id: member.name for chat in self.own.values() for member in chat.roster}

    def counts(self, chat_id: str, seq: int, expires_at: int | None) -> bool:
        living = expires_at is None or expires_at > self.now.timestamp()
        return living and chat_id in self.own and 1 <= seq <= self.own[chat_id].last_seq

    def shows_rule_words(self, chat_id: str) -> bool:
        """Return whether the person can read a chat, with all of its messages."""
        return chat_id in self.own

    def reaches(self, chat: Chat, seq: int, at: datetime) -> bool:
        del seq, at
        return chat.id in self.own

    def memberships_in(self, chat: Chat, items: Mapping[Key, Item]) -> Sequence[Membership]:
        """Return nothing, because a person's search does not depend on agents' memberships."""
        del chat, items
        return ()

    def present_for(self, chat: Chat, seq: int, memberships: Sequence[Membership]) -> bool:
        del seq, memberships
        return chat.id in self.own

    def audience_of(self, chat: Chat, seq: int) -> Audience:
        """Return the members of the chat; they read all of its messages."""
        del seq
        return chat.readers


def readable_lines(
    items: Iterable[Item], request: RecallRequest, rule_items: Mapping[Key, Item]
) -> tuple[list[Line], dict[str, str]]:
    """Return the found passages that may be read, and the names of their senders by id.

    A passage that is in the indexes of two agents is returned once.

    Args:
        items: The passages.
        rule_items: The stored chats and people that decide whether a sharing rule applies, by the
            keys of `keys_of_shared`.
    """
    agents = {agent_id for agent_id, _ in request.owners}
    lines: dict[tuple[str, int, int], Line] = {}
    names: dict[str, str] = {}
    for item in items:
        passage = RecallPassage.from_item(item)
        readable = (
            passage.agent_id in agents
            and passage.tenant == request.tenant
            and request.counts(passage.chat_id, passage.seq, passage.expires_at)
            and request.may_hold(passage.recall_author)
            and (not passage.by_rule or request.knows(passage, rule_items))
        )
        if readable:
            names[passage.recall_author] = passage.name
            ref = passage.memory_id or passage.chat_id, passage.seq
            lines[*ref, passage.part] = Line(
                *ref,
                passage.part,
                passage.recall_author,
                frozenset(passage.stems),
                passage.created_at,
                is_long_answer(passage.recall_author, passage.parts),
                cosine=1 - item[DISTANCE],
                weight=passage.weight,
                characters=passage.characters,
                by_rule=passage.by_rule,
                memory=_memory_of(passage),
            )
    return list(lines.values()), names


def _memory_of(passage: RecallPassage) -> MemoryRef | None:
    """Return the memory that a passage belongs to; None for a passage of a message."""
    if passage.memory_id is None:
        return None
    owned = (passage.tenant, passage.agent_id, passage.scope)
    key = OwnWordsMemory.own_key(*owned, passage.chat_id, passage.seq, passage.memory_id)
    return MemoryRef(key, passage.chat_id, tuple(seq for seq, _ in passage.sources))


def keys_of_shared(items: Iterable[Item], request: RecallRequest) -> list[Key]:
    """Return the keys of the chats and senders of found passages that rules may show."""
    shared = (item for item in items if is_shared_partition(item["recall_scope"]))
    passages = list(RecallPassage.each_of(shared))
    chats = [Chat.key_of(request.tenant, passage.chat_id) for passage in passages]
    people = [User.key_of(request.tenant, passage.recall_author) for passage in passages]
    return list(dict.fromkeys([*chats, *people]))[:MAX_BATCH_GET_KEYS]


def is_long_answer(sender_id: str, parts: int) -> bool:
    """Return whether a message is from an agent and has several passages."""
    return parts > 1 and sender_id.startswith(AGENT)


def found_refs(items: Iterable[Item], request: RecallRequest) -> list[MessageRef]:
    """Return the messages that postings refer to. Messages with the rarest words come first."""
    weights: dict[MessageRef, float] = {}
    refs: dict[MessageRef, PostingRef] = {}
    for posting in Posting.each_of(items):
        counted = [
            ref for ref in posting.refs if request.counts(ref.chat_id, ref.seq, ref.expires_at)
        ]
        rarity = math.log(1 + MAX_REFS / len(counted)) if counted else 0.0
        for ref in counted:
            if request.in_time(ref.created_at):
                message = ref.chat_id, ref.seq
                refs[message] = ref
                weights[message] = weights.get(message, 0.0) + rarity
    return sorted(refs, key=lambda message: (-weights[message], -refs[message].created_at, message))


@dataclass(slots=True)
class CandidateKeys:
    """The messages to read, and the keys of the items that decide whether to show them.

    Attributes:
        messages: The messages, in the order in which they were chosen.
        texts: The keys of the messages to read.
        deciding: The keys of the items that decide whether to show the messages: memories, chats
            and memberships.
        memories: The memories to show, by the message under which each was found.
    """

    messages: list[MessageRef] = field(default_factory=list)
    texts: list[Key] = field(default_factory=list)
    deciding: list[Key] = field(default_factory=list)
    memories: dict[MessageRef, MemoryRef] = field(default_factory=dict)


class _Reach(NamedTuple):
    """The limits on what a recall reads.

    Attributes:
        keys: The maximum number of messages, and of items that decide whether to show them.
        tokens: The maximum number of estimated tokens of all messages.
        posted: The maximum number of messages that are read because they contain a rare word.
    """

    keys: int
    tokens: float
    posted: int


def _reach_of(request: RecallRequest, hits: Sequence[Hit]) -> _Reach:
    """Return how much to read: less for a prompt than for a tool or a large budget."""
    large = request.tokens > ONE_BATCH_TOKENS
    keys = MAX_BATCH_GET_KEYS * (LARGE_BATCHES if large else 1)
    if large or request.thorough or not hits:
        return _Reach(keys, math.inf, MAX_POSTED)
    return _Reach(keys, PROMPT_FILLED * request.tokens, PROMPT_POSTED)


def _tokens_of(hits: Sequence[Hit]) -> defaultdict[MessageRef, float]:
    """Return the estimated tokens of each message as a line of a prompt.

    A message whose length is unknown gets the mean of the others.
    """
    lengths = {hit.line.message: min(hit.line.characters, SHOWN_CHARACTERS) for hit in hits}
    usual = mean(lengths.values()) if lengths else 0
    found = {ref: TOKENS_A_LINE + length / CHARACTERS_A_TOKEN for ref, length in lengths.items()}
    return defaultdict(lambda: TOKENS_A_LINE + usual / CHARACTERS_A_TOKEN, found)


def chosen(
    request: RecallRequest,
    hits: Sequence[Hit],
    refs: Sequence[MessageRef],
    known: Mapping[Key, Item],
) -> CandidateKeys:
    """Choose the messages to read: those with rare words, then the best with their neighbours.

    Args:
        hits: The found passages, best first.
        refs: Messages with rare words, best first.
        known: Items that were read already.
    """
    choice, chats, taken = CandidateKeys(), set[str](), set[Key]()
    reach, tokens, filled = _reach_of(request, hits), _tokens_of(hits), 0.0
    messages = dict.fromkeys(refs[: reach.posted if hits else None])
    by_rule = [hit.line for hit in hits if hit.line.by_rule]
    memories = {line.message: line.memory for line in by_rule if line.memory is not None}
    told = {line.memory.chat_id if line.memory else line.chat_id for line in by_rule}
    for position, hit in enumerate(hits):
        chat_id, seq = hit.line.message
        messages.setdefault((chat_id, seq))
        if hit.line.memory is not None:
            continue
        here = request.chat is not None and request.chat.id == chat_id
        if here or position < ELSEWHERE:
            for away in range(1, NEIGHBOURS + 1):
                messages.setdefault((chat_id, seq - away))
                messages.setdefault((chat_id, seq + away))
    for ref in messages:
        memory, seq = memories.get(ref), ref[1]
        chat_id = memory.chat_id if memory is not None else ref[0]
        if seq < 1 or not request.counts(chat_id, seq, None):
            continue
        seqs = memory.seqs if memory is not None else (seq,)
        texts = {Message.key_of(request.tenant, chat_id, each) for each in seqs} - taken
        deciding = [memory.key] if memory is not None else []
        if chat_id not in chats:
            again = chat_id in told  # read after the author, whose version then covers it
            keys = keys_of_chat(request, chat_id)
            deciding += [key for key in keys if again or key not in known]
        reads = len(choice.texts) + len(texts), len(choice.deciding) + len(deciding)
        if max(reads) > reach.keys or filled >= reach.tokens:
            break
        filled += tokens[ref]
        chats.add(chat_id)
        taken |= texts
        choice.texts += sorted(texts)
        choice.deciding += deciding
        choice.messages.append(ref)
        if memory is not None:
            choice.memories[ref] = memory
    return choice


def keys_of_chat(request: RecallRequest, chat_id: str) -> list[Key]:
    """Return the keys of a chat and of the agent's memberships in it, current and ended."""
    if isinstance(request, OwnRequest):
        return []
    here = request.chat is not None and request.chat.id == chat_id
    chat = [] if here else [Chat.key_of(request.tenant, chat_id)]
    if here and request.member is not None:
        return chat
    return [*chat, *membership_keys(request.tenant, chat_id, request.agent)]


def is_of(person: str, sender_id: str, name: str) -> bool:
    """Return whether a sender is the person that a request names by id or name."""
    if sender_id == person or name.casefold() == person.casefold():
        return True
    if untagged(person) != person:  # a tag refers to one person, not to everyone with that name
        return False
    return bool(people_named(person.casefold(), {sender_id: name}))
