"""Entries of the erasure register, with which a restored table is compared."""

from typing import Annotated

from pydantic import Field

from skein.models.common.base import Identifier, Instant, Stored, Tenant, key_part, stable_hash
from skein.models.common.storage import Item, Key
from skein.privacy.models.erasure import DeletedMessage, Erasure, NamedTexts, Subject

REGISTER_SHARDS = 4


class RegisteredErasure(Stored):
    """An erasure in the register, which is stored outside of the table.

    An entry holds ids and times only. It does not expire: a backup of any age may be restored.

    Attributes:
        user_ids: The ids of the person, and of callers that were merged into the person.
        requested_at: When the erasure began; a person with a newer record is another person.
        message: The deleted message; None for the erasure of a person.
        named_texts: The operator's decision, which a restore applies again.
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
        """Return the key of an entry; the entries of a shard sort by time."""
        return Key(cls.partition(shard), f"{key_part(erasure_id)}#{key_part(tenant)}")

    @property
    def key(self) -> "Key[RegisteredErasure]":
        shard = stable_hash(self.erasure_id) % REGISTER_SHARDS
        return self.key_of(shard, self.tenant, self.erasure_id)

    def to_item(self) -> Item:
        return self.attributes()
