"""Preview of an erasure: counts of what each rule would do, and the texts that name the person.

The preview applies the rules of the erasure (`erasure_rules.py`) and writes nothing.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from skein.errors import NotFound
from skein.models.chats.chat import Chat, Message, chat_partition
from skein.models.chats.media import MediaFile
from skein.models.common.base import NamedMember
from skein.models.common.storage import Item
from skein.models.delivery.delivery import Delivery
from skein.models.directory.user import User
from skein.models.visibility.ownership import owned_partition
from skein.ports import Clock, Table
from skein.privacy import erasure_rules as rules
from skein.privacy.erasure_agent_data import (
    BOOKKEEPING,
    NOT_KEPT,
    agents_of,
    folders_made_from,
    going_among,
    kind_of,
    scopes_of,
)
from skein.privacy.erasure_memberships import MembershipErasure, learnt_from
from skein.privacy.erasure_requests import subject_of
from skein.privacy.erasure_sweep import Sweep, SweepCounts
from skein.privacy.erasure_words import quotes_in
from skein.privacy.made_items import MadeItem, made_in
from skein.privacy.models.erasure import Erasure
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.common.pagination import items_under
from skein.workspace.models.document import Document

PREVIEW = "era_preview"  # the id of an erasure that is never stored
MAX_READ = 5_000  # items read for one preview
MAX_LISTED = 50  # texts with the person's name that one preview lists
EXCERPT = 40  # characters on each side of the name


class NamedText(NamedTuple):
    """A text by someone else that contains the person's full name.

    Attributes:
        kind: The kind of item, as in the counts.
        chat_id: The chat of a message or a title. For an agent's item, the chat in which it was
            made.
        seq: The `seq` of a message.
        agent_id: The agent that keeps an item.
        id: The id of an item.
        excerpt: The words around the name. None for private content, which an operator may read
            only with a reason.
    """

    kind: str
    chat_id: str | None
    seq: int | None
    agent_id: str | None
    id: str | None
    excerpt: str | None


@dataclass(slots=True)
class ErasurePreview:
    """What an erasure would do, in counts by kind of item.

    Attributes:
        erased: Items to delete because they belong to the person, or were made only from the
            person's words.
        replaced: Items that stay, but lose the person's ids, phone numbers and quotes.
        made_again: Items that are deleted and then made again from the words of others.
        named: Texts by others that contain the person's full name.
        texts: The first 50 texts that `named` counts.
        left: How many more items may be read. At 0, the counts may be incomplete.
    """

    erased: Counter[str] = field(default_factory=Counter)
    replaced: Counter[str] = field(default_factory=Counter)
    made_again: Counter[str] = field(default_factory=Counter)
    named: Counter[str] = field(default_factory=Counter)
    texts: list[NamedText] = field(default_factory=list)
    left: int = 0

    @property
    def complete(self) -> bool:
        """Whether everything was counted; False if the limit on items was reached."""
        return self.left > 0

    def read(self, items: Iterable[Item]) -> list[Item]:
        """Return the items, but no more than the preview may still read."""
        found = list(islice(items, self.left))
        self.left -= len(found)
        return found

    def name(self, text: NamedText) -> None:
        """Count a text with the person's full name; the first 50 are also listed."""
        self.named[text.kind] += 1
        if len(self.texts) < MAX_LISTED:
            self.texts.append(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasurePreviews:
    """Service that previews erasures without storing anything."""

    table: Table
    clock: Clock
    memberships: MembershipErasure

    def of(self, tenant: str, user_id: str) -> ErasurePreview:
        """Preview the erasure of a person.

        At most 5,000 items are read. The counts do not include runs, limits and look-ups. They also
        leave out agents' messages and agents' items that are outside the person's chats.

        Raises:
            NotFound: The person does not exist or is being erased.
        """
        user = User.read(self.table, User.key_of(tenant, user_id))
        if user is None or user.erasure_id is not None:
            raise NotFound("user not found")
        sweep, preview = self._sweep(user), ErasurePreview(left=MAX_READ)
        chats = [snapshot.chat for snapshot in self._chats(sweep, preview)]
        messages = {chat.id: self._messages(sweep, preview, chat) for chat in chats}
        for chat in chats:
            for message in messages[chat.id]:
                _count_message(sweep, preview, chat, message)
            _count_title(sweep, preview, chat)
        self._count_items(sweep, preview)
        return preview

    def _sweep(self, user: User) -> Sweep:
        """Return a first sweep that erases the person; the sweep is never stored or carried out."""
        now = self.clock.now()
        erasure = Erasure(
            tenant=user.tenant,
            id=PREVIEW,
            user_id=user.id,
            requested_by=user.id,
            requested_at=now,
        )
        return Sweep(erasure, subject_of(user, PREVIEW), {}, SweepCounts(), now)

    def _chats(self, sweep: Sweep, preview: ErasurePreview) -> Iterator[ChatSnapshot]:
        """Yield the person's current and former chats; add the names found there to the sweep."""
        for chat_id in dict.fromkeys(self.memberships.chat_ids(sweep)):
            if not preview.complete:
                return
            try:
                snapshot = read_snapshot(self.table, sweep.tenant, chat_id, closed=True)
            except NotFound:
                continue
            known = self.memberships.note_on(sweep, snapshot, None)
            if known is not None:
                sweep.chats[chat_id] = known
                sweep.learn(learnt_from(sweep, snapshot))
                preview.left -= 1
                preview.erased["memberships"] += sum(map(sweep.is_theirs, _members(snapshot)))
                summaries = [snapshot.chat.summary, *(m.summary for m in snapshot.members)]
                preview.made_again["summaries"] += sum(each is not None for each in summaries)
                yield snapshot

    def _messages(self, sweep: Sweep, preview: ErasurePreview, chat: Chat) -> list[Message]:
        """Return a chat's messages; add the person's quotes to the sweep.

        The deliveries and files of the chat are counted, too.
        """
        found = preview.read(items_under(self.table, chat.key.pk, Message.PREFIX))
        messages = list(Message.each_of(found))
        own = [message for message in messages if sweep.is_theirs(message.sender)]
        for message in own:
            sweep.quotes.update(quotes_in(message.text))
        if own:
            erased = sweep.chats[chat.id]
            sweep.chats[chat.id] = erased.model_copy(update={"first_seq": own[0].seq})
        sent = preview.read(items_under(self.table, chat.key.pk, Delivery.PREFIX))
        preview.erased["deliveries"] += sum(
            delivery.user_id in sweep.subject.ids for delivery in Delivery.each_of(sent)
        )
        files = preview.read(items_under(self.table, chat.key.pk, MediaFile.PREFIX))
        preview.erased["files"] += sum(
            sweep.is_theirs(file.sender) or file.authors.may_include(sweep.digests)
            for file in MediaFile.each_of(files)
        )
        return messages

    def _count_items(self, sweep: Sweep, preview: ErasurePreview) -> None:
        """Count the items that belong to agents and to chats."""
        agents = agents_of(sweep)
        folders = folders_made_from(self.table, sweep, agents)
        for agent_id in agents:
            for user_id in sweep.subject.ids:
                pk = owned_partition(sweep.tenant, agent_id, f"user:{user_id}")
                own = preview.read(items_under(self.table, pk, ""))
                kinds = (kind_of(item) for item in own if item["sk"] not in BOOKKEEPING)
                preview.erased.update(kinds)
            indexed = {folder.scope for folder in folders if folder.agent_id == agent_id}
            for scope in scopes_of(sweep, agent_id, indexed):
                pk = owned_partition(sweep.tenant, agent_id, scope)
                items = preview.read(items_under(self.table, pk, ""))
                kept = [item for item in items if not item["sk"].startswith(NOT_KEPT)]
                _count_kept(sweep, preview, kept)
        for chat_id in sorted({*sweep.chats, *(each.chat_id for each in folders if each.chat_id)}):
            pk = chat_partition(sweep.tenant, chat_id)
            documents = preview.read(items_under(self.table, pk, Document.PREFIX))
            _count_kept(sweep, preview, documents)


def _members(snapshot: ChatSnapshot) -> list[NamedMember]:
    return [membership.member for membership in snapshot.members]


def _count_message(sweep: Sweep, preview: ErasurePreview, chat: Chat, message: Message) -> None:
    if rules.is_their_message(sweep, sweep.chats[chat.id], message):
        preview.erased["messages"] += 1
        return
    after = rules.held_words_replaced(sweep, message)
    preview.replaced["messages"] += after != message
    if rules.message_names_them(sweep, after):
        excerpt = _excerpt(sweep, after.text, shown=chat.visibility == "open")
        preview.name(NamedText("messages", chat.id, message.seq, None, message.id, excerpt))


def _count_title(sweep: Sweep, preview: ErasurePreview, chat: Chat) -> None:
    if chat.title is None:
        return
    if chat.made_title is not None:
        preview.made_again["titles"] += 1
    elif chat.title_authors.only(sweep.digests):
        preview.erased["titles"] += 1
    elif rules.names_them(sweep, chat.title):
        excerpt = _excerpt(sweep, chat.title, shown=chat.visibility == "open")
        preview.name(NamedText("titles", chat.id, None, None, None, excerpt))


def _count_kept(sweep: Sweep, preview: ErasurePreview, items: list[Item]) -> None:
    """Count the items of one partition, by what the erasure would do to each of them."""
    going = {item["sk"] for item in going_among(sweep, items)}
    for item in items:
        thing, kind = made_in(item), kind_of(item)
        if thing is None:
            continue
        if item["sk"] in going:
            alone = rules.is_from_them_alone(sweep, thing) or rules.is_for_them_alone(sweep, thing)
            again = rules.is_made_again(sweep, thing) and not alone
            (preview.made_again if again else preview.erased)[kind] += 1
            continue
        after = rules.held_words_of_item_replaced(sweep, thing)
        preview.replaced[kind] += after.texts != thing.texts
        if rules.item_names_them(sweep, after):
            preview.name(_named(sweep, kind, after))


def _named(sweep: Sweep, kind: str, thing: MadeItem) -> NamedText:
    excerpt = _excerpt(sweep, *thing.texts, shown=thing.audience.open)
    return NamedText(kind, thing.home, None, thing.agent_id, thing.id, excerpt)


def _excerpt(sweep: Sweep, *texts: str | None, shown: bool) -> str | None:
    """Return the words around the first full name in the texts; None if not `shown`."""
    for text in texts:
        found = sweep.names_pattern.search(text) if text and shown else None
        if text and found:
            start, end = max(found.start() - EXCERPT, 0), found.end() + EXCERPT
            before, after = "\u2026" if start else "", "\u2026" if end < len(text) else ""
            return f"{before}{text[start:end]}{after}"
    return None
