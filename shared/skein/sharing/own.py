"""A person's view of the sharing rules that affect them, and their own choices about sharing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from skein.errors import Conflict, NotFound, Unprocessable
from skein.models.chats.chat import Chat
from skein.models.common.base import NamedMember
from skein.models.common.storage import Is, Query, Update
from skein.models.directory.role import Role
from skein.models.directory.user import User
from skein.models.visibility.disclosure import DisclosureRecord
from skein.models.visibility.sharing_rules import SharingRule, sharing_changed
from skein.models.visibility.talk import SharingState
from skein.ports import Clock, Table
from skein.services.chat_state.snapshot import read_chat
from skein.services.chats.views import ChatViews
from skein.services.common.optimistic import optimistic, revise
from skein.services.common.pagination import read_items
from skein.services.directory.users import Users
from skein.services.visibility.sharing_rules import PersonRoles, Rules, covering, telling
from skein.sharing.rules import read_rules

MAX_DISCLOSURES = 100  # records in an answer


@dataclass(frozen=True, slots=True)
class OwnView:
    """The sharing data that a person may see.

    Attributes:
        rules: The rules that apply to the person's words.
        told_by: The rules that let agents tell the person what others say.
        talks: The person's direct chats to which a rule applies.
        disclosures: The newest records of the person's words that agents disclosed, each with the
            names of the people in the chat of the disclosure.
    """

    user: User
    roles: tuple[Role, ...]
    rules: Rules
    told_by: Rules
    talks: tuple[Chat, ...]
    disclosures: tuple[tuple[DisclosureRecord, tuple[str, ...]], ...]

    def sentence(self, rule: SharingRule) -> str:
        same = ", if their role is about the same person as yours" if rule.same_subject else ""
        whom = f"everybody with the role {rule.to.role}"
        return f"What you tell agents alone may be told to {whom}{same}: {rule.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSharing:
    """The service that shows people the sharing rules about them, and stores their choices."""

    table: Table
    clock: Clock
    users: Users
    views: ChatViews

    def view(self, tenant: str, person: NamedMember) -> OwnView:
        now, user = self.clock.now(), self.users.me(tenant, person)
        standing = PersonRoles.of(user, now)
        rules = read_rules(self.table, tenant).in_force(now)
        direct = self.views.direct_chats(tenant, user.id).items
        return OwnView(
            user=user,
            roles=standing.roles,
            rules=covering(rules, standing),
            told_by=telling(rules, standing),
            talks=tuple(own.chat for own in direct if _covers(own.chat, user.id)),
            disclosures=self.disclosures(tenant, user.id),
        )

    def disclosures(
        self, tenant: str, user_id: str
    ) -> tuple[tuple[DisclosureRecord, tuple[str, ...]], ...]:
        """Return the newest disclosures of a person's words to others; see `named`."""
        partition, prefix = DisclosureRecord.partition_of(tenant, user_id), DisclosureRecord.PREFIX
        query = Query.under(partition, prefix, limit=MAX_DISCLOSURES, newest_first=True)
        records = list(DisclosureRecord.each_of(self.table.query(query).items))
        return self.named(tenant, records)

    def named(
        self, tenant: str, records: Sequence[DisclosureRecord]
    ) -> tuple[tuple[DisclosureRecord, tuple[str, ...]], ...]:
        """Return each record with the names of the people now in the chat of the disclosure."""
        keys = {Chat.key_of(tenant, record.shown_in) for record in records}
        names = {chat.id: _names(chat) for chat in Chat.read_each(read_items(self.table, [*keys]))}
        return tuple((record, names.get(record.shown_in, ())) for record in records)

    def receive(self, tenant: str, person: NamedMember, *, receives: bool) -> None:
        """Allow or forbid agents to tell a person, by sharing rules, what others said.

        A run in progress that was shown such words builds its prompt again before it posts.
        """
        self.users.recorded(tenant, person)

        def attempt() -> None:
            user = self.users.get(tenant, person.id)
            if user.refuses_shared is receives:
                change = {"refuses_shared": not receives, **user.next_sharing}
                self.table.write(revise(user, change)[1])

        optimistic(self.clock, attempt)

    def keep_talk(self, tenant: str, user_id: str, chat_id: str) -> Chat:
        """Stop sharing a person's newest conversation in a chat (idempotent).

        Raises:
            NotFound: The chat is not a direct chat of the person, or no rule applies to it.
        """
        return self._changed(tenant, user_id, chat_id, lambda talk: talk.kept_private(0))

    def withdraw(
        self, tenant: str, user_id: str, chat_id: str, *, from_seq: int, to_seq: int
    ) -> Chat:
        """Stop sharing some of a person's messages in a chat (idempotent).

        Raises:
            NotFound: The chat is not a direct chat of the person, or no rule applies to it.
            Unprocessable: The chat has no such messages.
        """
        withdrawn = partial(SharingState.withdrawn, first_seq=from_seq, last_seq=to_seq)
        return self._changed(tenant, user_id, chat_id, withdrawn, last_seq=to_seq)

    def _changed(
        self,
        tenant: str,
        user_id: str,
        chat_id: str,
        change: Callable[[SharingState], SharingState],
        *,
        last_seq: int = 0,
    ) -> Chat:
        """Change a chat's sharing state, and make runs in progress check the state again.

        The change feed then sends jobs that index the chat's messages again.
        """

        def attempt() -> Chat:
            chat = read_chat(self.table, tenant, chat_id)
            if chat.sharing is None or not _covers(chat, user_id):
                raise NotFound("no sharing rule applies to this chat")
            if chat.discarded_at is not None:
                raise Conflict("the chat is discarded")
            if last_seq > chat.last_seq:
                raise Unprocessable("the chat has no such messages")
            sharing = change(chat.sharing)
            if sharing == chat.sharing:
                return chat
            revised = chat.model_copy(update={"sharing": sharing, "version": chat.version + 1})
            changed = {name: revised.attributes()[name] for name in ("sharing", "version")}
            stored = Update(chat.key, set=changed, condition=Is("version", chat.version))
            self.table.transact([stored, sharing_changed(tenant, user_id)])
            return revised

        return optimistic(self.clock, attempt)


def _names(chat: Chat) -> tuple[str, ...]:
    return tuple(member.name for member in chat.roster if member.kind == "user")


def _covers(chat: Chat, user_id: str) -> bool:
    """Return whether a chat is a direct chat whose person was informed of a sharing rule."""
    sharing, direct = chat.sharing, chat.kind == "direct" and chat.person_ids == (user_id,)
    return direct and sharing is not None and sharing.person_id == user_id
