"""Idempotency records of messages and chats, by sender and `client_id`."""

from typing import ClassVar, Self

from skein.models.chats.chat import Message, chat_partition
from skein.models.common.base import Identifier, MemberRef, Stored, Tenant, key_part
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.directory.user import User

OPENED = SortKeyPrefix("OPENED#")


class IdempotencyRecord(Stored):
    """The idempotency record of a message; expires with the message."""

    PREFIX: ClassVar = SortKeyPrefix("DEDUPE#")

    tenant: Tenant
    chat_id: Identifier
    sender: MemberRef
    client_id: str
    seq: int
    expires_at: int | None = None

    @staticmethod
    def key_of(
        tenant: str, chat_id: str, sender: MemberRef, client_id: str
    ) -> "Key[IdempotencyRecord]":
        return Key(
            chat_partition(tenant, chat_id),
            f"{IdempotencyRecord.PREFIX}{sender}#{key_part(client_id)}",
        )

    @classmethod
    def of(cls, message: Message) -> Self:
        return cls(
            tenant=message.tenant,
            chat_id=message.chat_id,
            sender=message.sender.ref,
            client_id=message.client_id,
            seq=message.seq,
            expires_at=message.expires_at,
        )

    @property
    def key(self) -> "Key[IdempotencyRecord]":
        return self.key_of(self.tenant, self.chat_id, self.sender, self.client_id)

    def to_item(self) -> Item:
        return self.attributes()


class OpeningRecord(Stored):
    """The idempotency record of a chat that a person opened.

    The chat's id is random, so that the id does not reveal who opened the chat. A repeated request
    finds the chat through this record.
    """

    tenant: Tenant
    user_id: Identifier
    client_id: str
    chat_id: Identifier

    @staticmethod
    def key_of(tenant: str, user_id: str, client_id: str) -> "Key[OpeningRecord]":
        return Key(User.key_of(tenant, user_id).pk, f"{OPENED}{key_part(client_id)}")

    @property
    def key(self) -> "Key[OpeningRecord]":
        return self.key_of(self.tenant, self.user_id, self.client_id)

    def to_item(self) -> Item:
        return self.attributes()
