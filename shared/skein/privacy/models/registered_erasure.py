"""Entries of the erasure register, which is applied to a restored table."""

from typing import Annotated

from pydantic import Field

from skein.models.common.base import Identifier, Instant, Stored, Tenant, key_part, stable_hash
from skein.models.common.storage import Item, Key
from skein.privacy.models.erasure import DeletedMessage, Erasure, NamedTexts, Subject

REGISTER_SHARDS = 4


class RegisteredErasure(Stored):
    """An erasure in the register, which is a table of its own.

    An entry has only ids and times. It does not expire, because a backup of any age may be
    restored.

    Attributes:
        user_ids: The ids of the person, and of users that were merged into the person.
        requested_at: When the erasure was requested. A user record that was created later belongs
            to another person, or to a person who has come back.
        message: The deleted message; None for the erasure of a person.
        named_texts: What the operator decided about other people's texts that contain the person's
            full name. The erasure is repeated with the same decision after a restore.
    """

    tenant: Tenant
    erasure_id: Identifier
    user_id: Identifier
    user_ids: tuple[Identifier, ...]
    requested_by: Identifier
    requested_at: Instant
    message: Annotated[DeletedMessage | None, Field(exclude_if=lambda message: message is None)] = (
        None
    )
    named_texts: NamedTexts = "keep"

    @classmethod
    def of(cls, erasure: Erasure, subject: Subject) -> "RegisteredErasure":
        return cls(
            tenant=erasure.tenant,
            erasure_id=erasure.id,
            user_id=erasure.user_id,
            user_ids=subject.ids or (erasure.user_id,),
            requested_by=erasure.requested_by,
            requested_at=erasure.requested_at,
            message=erasure.message,
            named_texts=erasure.named_texts,
        )

    @staticmethod
    def partition(shard: int | str) -> str:
        """Return the partition key of a shard."""
        return f"REGISTER#{shard}"

    @classmethod
    def key_of(cls, shard: int | str, tenant: str, erasure_id: str) -> "Key[RegisteredErasure]":
        """Return the key of an entry; within a shard, entries sort by the time of the erasure."""
        return Key(cls.partition(shard), f"{key_part(erasure_id)}#{key_part(tenant)}")

    @property
    def key(self) -> "Key[RegisteredErasure]":
        shard = stable_hash(self.erasure_id) % REGISTER_SHARDS
        return self.key_of(shard, self.tenant, self.erasure_id)

    def to_item(self) -> Item:
        return self.attributes()
