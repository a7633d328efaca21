"""What members are called stands in their own records; rosters hold copies, which follow here."""

from collections.abc import Mapping
from dataclasses import dataclass

from skein.models.agent import Agent
from skein.models.base import MemberRef, NamedMember
from skein.models.chat import Chat, member_relation, related_chat
from skein.models.jobs import UpkeepJob
from skein.models.storage import Item, Key
from skein.models.user import User
from skein.ports import Table
from skein.services.common.pagination import rows_after
from skein.services.outbox.dispatch import Dispatch

MOST_CHATS = 100  # that hear of a new name at once
SEEN_AFTER_SECONDS = 30  # longer than a call of the API may take


@dataclass(frozen=True, slots=True, kw_only=True)
class Renaming:
    """Has new names of people and agents copied into the rosters of their chats."""

    table: Table
    dispatch: Dispatch

    def announce(self, tenant: str, member: MemberRef) -> None:
        """Have the newest chats of a member looked through, once the change is surely made.

        It is called before that: whoever dies in between leaves nothing undone, and where the
        change is not made after all, nothing is found to do. All other chats, an agent's private
        ones among them, follow when something is said there.
        """
        rows = rows_after(
            self.table,
            member_relation(tenant, member),
            None,
            limit=MOST_CHATS,
            newest_first=True,
        )
        jobs = [UpkeepJob(tenant=tenant, chat_id=related_chat(row)) for row in rows]
        self.dispatch.send(jobs, delay_seconds=SEEN_AFTER_SECONDS)


def record_keys(chat: Chat) -> list[Key]:
    """Where the records of those who are in a chat stand."""
    return [_record_key(chat.tenant, member) for member in chat.roster]


def as_called_now(chat: Chat, member: NamedMember, found: Mapping[Key, Item]) -> NamedMember:
    """A member under the name in their record; as before where there is none.

    Args:
        chat: Where they are.
        member: As they are called there.
        found: What was read of `record_keys`.
    """
    item = found.get(_record_key(chat.tenant, member))
    if item is None:
        return member
    if member.kind == "agent":
        return Agent.from_item(item).as_member
    user = User.from_item(item)
    return member if user.erasure_id is not None else user.as_member


def _record_key(tenant: str, member: MemberRef) -> Key:
    owner = Agent if member.kind == "agent" else User
    return owner.key_of(tenant, member.id)
